"""What a simulation or a verification has to say: one module per code, found by walking this package."""
