"""Many machines at once: a folder of bundles, one line per host, equal version sets grouped."""
