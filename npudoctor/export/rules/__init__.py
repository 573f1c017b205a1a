"""One module per thing that breaks the conversion to OM, named after its code and slug; each exposes `RULE`."""
