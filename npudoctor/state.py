"""The last result of each command, kept so that `npudoctor` and `npudoctor report` can show the journey.

One JSON file per command under $XDG_STATE_HOME/npudoctor (default ~/.local/state/npudoctor).
Nothing depends on it: without a home folder, on a read-only disk, or with
NPUDOCTOR_NO_STATE set, nothing is kept and nobody is told off.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor import atomic

SCHEMA = "npudoctor.last/1"
MAX_BYTES = 4_000_000


@dataclass(frozen=True)
class Last:
    """One remembered result.

    Attributes:
        command: the command.
        when: local time, ISO 8601 to the second.
        folder: the working directory it ran in.
        report: its JSON form per language.
    """

    command: str
    when: str
    folder: str
    report: Mapping[str, Mapping[str, Any]]


def folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where results are kept, or None when there is no place for them."""
    env = os.environ if environ is None else environ
    if env.get("NPUDOCTOR_NO_STATE"):
        return None
    if env.get("XDG_STATE_HOME"):
        return Path(env["XDG_STATE_HOME"]) / "npudoctor"
    home = env.get("HOME")  # where it names no folder, none is made
    return Path(home) / ".local" / "state" / "npudoctor" if home and os.path.isdir(home) else None


def remember(command: str, report: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep `report` (JSON form per language) as the last result of `command`."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        here = os.getcwd()
        when = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        data = {"schema": SCHEMA, "command": command, "when": when, "folder": here, "report": report}
        text = json.dumps(data, ensure_ascii=False)
        if len(text) <= MAX_BYTES:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic.write_bytes(place / f"{command}.json", text.encode("utf-8", "replace"), mode=0o600)


def recall() -> dict[str, Last]:
    """Every remembered result by command; unreadable files are passed over."""
    place = folder()
    found: dict[str, Last] = {}
    if place is None:
        return found
    with contextlib.suppress(OSError):
        for path in sorted(place.glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                last = _read(json.loads(path.read_text(encoding="utf-8")))
                found[last.command] = last
    return found


def _read(data: Any) -> Last:
    """One file's content.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is not what `remember` writes.
    """
    command, when, where, report = data["command"], data["when"], data["folder"], data["report"]
    words = all(isinstance(text, str) for text in (command, when, where))
    if not (data["schema"] == SCHEMA and words and all(isinstance(form, dict) for form in report.values())):
        raise ValueError(SCHEMA)
    return Last(command, when, where, report)
