"""Where things lie on a disk, from `disk_layout.tsv`: each place with its source."""

from __future__ import annotations

import functools

from npudoctor import tables


@functools.cache
def places(key: str) -> tuple[str, ...]:
    """The values of a key, in the order of the table.

    Raises:
        KeyError: the table has no such key.
    """
    found = tuple(row["value"] for row in tables.load("disk_layout").rows if row["key"] == key)
    if not found:
        raise KeyError(key)
    return found


def place(key: str) -> str:
    """The one value of a key."""
    (only,) = places(key)
    return only
