"""Which environment variables are looked at (`env_vars.tsv`); everything else never leaves the process."""

from __future__ import annotations

import functools

from npudoctor import tables


def wanted(name: str) -> bool:
    """Whether a variable of this name tells something about the NPU environment."""
    names, prefixes = _chosen()
    return name in names or name.startswith(prefixes)


@functools.lru_cache(maxsize=1)
def _chosen() -> tuple[frozenset[str], tuple[str, ...]]:
    rows = [row["name"] for row in tables.load("env_vars").rows]
    return frozenset(n for n in rows if not n.endswith("*")), tuple(n[:-1] for n in rows if n.endswith("*"))
