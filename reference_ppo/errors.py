"""What a person can put right: wrong settings, a missing device, a file that is no checkpoint."""

from __future__ import annotations


class UsageError(ValueError):
    """One clear sentence; the command line shows it without a traceback and exits with 2."""
