"""One module per stage, named after its code and slug; each exposes `STAGE`. Codes give the order."""
