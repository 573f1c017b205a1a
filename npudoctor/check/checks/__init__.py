"""One check per module, `npu0xx_<slug>.py`, each exposing `CHECK`; found by walking this package."""
