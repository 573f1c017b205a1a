"""One module per kind of bound; each exposes `BOUND`. Found by walking this package."""
