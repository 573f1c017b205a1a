"""The `docker run` line for this host, made of what is really on it."""
