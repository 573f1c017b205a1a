"""One module per thing that breaks the conversion to OM; each exposes `RULE`."""
