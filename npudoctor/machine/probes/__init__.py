"""One probe per place of a machine; each exposes `PROBE` and is found by walking this package."""
