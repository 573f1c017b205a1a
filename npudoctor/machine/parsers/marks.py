"""Pick the child programs' own lines out of whatever the libraries print beside them."""

from __future__ import annotations

import json
from typing import Any

from npudoctor.machine.children import MARK


def marks(stdout: str) -> list[dict[str, Any]]:
    """The JSON objects behind each `NPUDOCTOR ` mark, in order; damaged ones are left out."""
    found = []
    for line in stdout.splitlines():
        position = line.find(MARK)
        if position < 0:
            continue
        try:
            data = json.loads(line[position + len(MARK) :])
        except ValueError:
            continue
        if isinstance(data, dict):
            found.append(data)
    return found
