"""Which files the migration looks at, by name, and how large each kind may be."""

from __future__ import annotations

import re
from collections.abc import Callable

PYTHON = "python"
NOTEBOOK = "notebook"
SHELL = "shell"
DOCKERFILE = "dockerfile"
YAML = "yaml"
TOML = "toml"
JSON = "json"
INI = "ini"
REQUIREMENTS = "requirements"
CUDA_SOURCE = "cuda-source"

MEGABYTE = 1 << 20
# A source file of 50,000 lines has about 2 MB; beyond these sizes a file holds data.
MAX_BYTES = {PYTHON: 4 * MEGABYTE, NOTEBOOK: 64 * MEGABYTE, CUDA_SOURCE: 64 * MEGABYTE}
MAX_BYTES_OTHER = 2 * MEGABYTE

_BY_SUFFIX = {
    ".py": PYTHON, ".pyi": PYTHON, ".pyw": PYTHON,
    ".ipynb": NOTEBOOK,
    ".sh": SHELL, ".bash": SHELL, ".zsh": SHELL, ".ksh": SHELL, ".slurm": SHELL, ".sbatch": SHELL,
    ".env": SHELL, ".mk": SHELL,
    ".yaml": YAML, ".yml": YAML,
    ".toml": TOML,
    ".json": JSON, ".jsonc": JSON,
    ".ini": INI, ".cfg": INI, ".conf": INI, ".properties": INI,
    ".cu": CUDA_SOURCE, ".cuh": CUDA_SOURCE,
    ".dockerfile": DOCKERFILE,
}
_REQUIREMENTS = re.compile(r"(^|[-_.])(requirements?|constraints?)([-_.].*)?\.(txt|in)$", re.IGNORECASE)
_DOCKERFILE = re.compile(r"^(dockerfile|containerfile)([-_.].*)?$", re.IGNORECASE)
_MAKEFILE = re.compile(r"^(gnu)?makefile([-_.].*)?$", re.IGNORECASE)
_LOCK_FILES = frozenset({"package-lock.json", "composer.lock", "poetry.lock", "uv.lock", "pdm.lock"})
_SHEBANG_PYTHON = re.compile(rb"^#!.*\bpython")
_SHEBANG_SHELL = re.compile(rb"^#!.*\b(ba|z|k|da)?sh\b")


def classify(path: str, head: Callable[[], bytes]) -> str | None:
    """The kind of the file at `path` (relative, `/` between parts), or None for none of ours.

    Args:
        path: only its last two parts are looked at.
        head: gives the first bytes; called only for a name without suffix.
    """
    folder, _, name = path.rpartition("/")
    lower = name.lower()
    if lower in _LOCK_FILES:
        return None
    if _DOCKERFILE.match(name):
        return DOCKERFILE
    if _MAKEFILE.match(name):
        return SHELL
    if _REQUIREMENTS.search(name) or (folder.endswith("requirements") and lower.endswith((".txt", ".in"))):
        return REQUIREMENTS
    if lower == ".env" or lower.startswith(".env."):
        return SHELL
    dot = lower.rfind(".")
    if dot > 0:
        return _BY_SUFFIX.get(lower[dot:])
    if dot == 0:
        return None
    first = head()
    if _SHEBANG_PYTHON.match(first):
        return PYTHON
    return SHELL if _SHEBANG_SHELL.match(first) else None


def limit(kind: str) -> int:
    """Largest size in bytes of a file of `kind` that is looked at."""
    return MAX_BYTES.get(kind, MAX_BYTES_OTHER)
