"""The version, in one place (read by pyproject.toml without importing anything else)."""

__version__ = "0.1.0"
