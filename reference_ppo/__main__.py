"""`python -m reference_ppo`: train, and report one JSON object per update."""

from __future__ import annotations

import sys

from reference_ppo.cli import main

if __name__ == "__main__":
    sys.exit(main())
