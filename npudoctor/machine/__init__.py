"""What this computer is: raw observations, the probes that ask for them, the facts parsed from them."""
