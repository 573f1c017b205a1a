"""A machine as one file: raw observations as versioned JSON, redacted before anything is written.

Facts are not stored: they are parsed again on replay, so that old bundles gain from
better parsers. Text of several lines is kept as a list of lines, for readable diffs.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npudoctor.core.errors import UserError, first_line, reason
from npudoctor.core.streams import standard_input
from npudoctor.core.text import Text, filled
from npudoctor.machine.host import KINDS, Observation
from npudoctor.machine.redact import Redactor
from npudoctor.machine.replay import ReplayHost
from npudoctor.version import __version__

SCHEMA = "npudoctor.bundle/1"
SIZE_CAP = 64 << 20
STANDARD = "-"  # standard input or output
_FOLDED = ("data", "stdout", "stderr")

_UNREADABLE = Text("cannot read the bundle {path}: {reason}", "无法读取录制文件 {path}：{reason}")
_NOT_ONE = Text("{path} is not a machine bundle: {reason}", "{path} 不是机器录制文件：{reason}")
_NEWER = Text(
    "{path} was written as {schema}; this npudoctor reads {known}",
    "{path} 的格式为 {schema}；此 npudoctor 只能读取 {known}",
)
_NO_SCHEMA = Text("it names no schema npudoctor.bundle", "没有 npudoctor.bundle 的 schema 标记")
_DAMAGED = Text("damaged ({error})", "已损坏（{error}）")
_TOO_LARGE = Text("larger than 64 MiB", "大于 64 MiB")
_HINT = Text("make one with: npudoctor check --record FILE", "用 npudoctor check --record FILE 生成")
_UPDATE = Text("update npudoctor", "请升级 npudoctor")


@dataclass(frozen=True)
class Bundle:
    """Observations of one machine, and where they come from.

    Attributes:
        observations: by (kind, target).
        python: the interpreter that was under diagnosis.
        closed: see `ReplayHost`; True for bundles put together from public facts.
        origin: `recorded`, or `reconstructed` from the sources named.
        about: what this machine is, in words.
        sources: addresses of the facts of a reconstructed bundle.
        host: a label for fleets (a hash of the host name; never the name).
    """

    observations: Mapping[tuple[str, str], Observation]
    python: str = "python3"
    closed: bool = False
    origin: str = "recorded"
    about: str = ""
    sources: tuple[str, ...] = ()
    host: str = ""
    recorded_on: str = field(default_factory=lambda: datetime.date.today().isoformat())

    def replay(self) -> ReplayHost:
        """A host that answers from this bundle."""
        return ReplayHost(self.observations, closed=self.closed)


def to_json(bundle: Bundle) -> dict[str, Any]:
    """The bundle as plain data."""
    kinds: dict[str, dict[str, Any]] = {}
    for (kind, target), seen in sorted(bundle.observations.items()):
        kinds.setdefault(kind, {})[target] = _pack(seen)
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "npudoctor": __version__,
        "recorded_on": bundle.recorded_on,
        "origin": bundle.origin,
        "python": bundle.python,
        "closed": bundle.closed,
        "observations": kinds,
    }
    for name in ("about", "sources", "host"):
        content = getattr(bundle, name)
        if content:
            data[name] = list(content) if isinstance(content, tuple) else content
    return data


def from_json(data: Any, path: str = "-") -> Bundle:
    """A bundle from plain data.

    Raises:
        UserError: the data is not a bundle this version understands.
    """
    if not isinstance(data, dict) or not str(data.get("schema", "")).startswith("npudoctor.bundle/"):
        raise UserError(_NOT_ONE, _HINT, {"path": path, "reason": _NO_SCHEMA})
    if data["schema"] != SCHEMA:
        raise UserError(_NEWER, _UPDATE, {"path": path, "schema": data["schema"], "known": SCHEMA})
    try:
        observations = {
            (kind, target): _unpack(kind, target, packed)
            for kind, targets in data["observations"].items()
            if kind in KINDS
            for target, packed in targets.items()
        }
    except (KeyError, AttributeError, TypeError) as error:
        damaged = filled(_DAMAGED, {"error": error})
        raise UserError(_NOT_ONE, _HINT, {"path": path, "reason": damaged}) from None
    return Bundle(
        observations,
        str(data.get("python", "python3")),
        bool(data.get("closed")),
        str(data.get("origin", "recorded")),
        str(data.get("about", "")),
        tuple(map(str, _items(data.get("sources", ())))),
        str(data.get("host", "")),
        str(data.get("recorded_on", "")),
    )


def load(path: Path) -> Bundle:
    """Read a bundle file, or `-` for standard input.

    Raises:
        UserError: not readable, too large, not JSON, or not a bundle.
    """
    try:
        if str(path) == STANDARD:
            text = standard_input().read(SIZE_CAP)
        elif path.stat().st_size > SIZE_CAP:
            raise UserError(_NOT_ONE, _HINT, {"path": str(path), "reason": _TOO_LARGE})
        else:
            text = path.read_text(encoding="utf-8")
        return from_json(json.loads(text), str(path))
    except OSError as error:
        raise UserError(_UNREADABLE, None, {"path": str(path), "reason": reason(error)}) from None
    except (ValueError, RecursionError) as error:
        raise UserError(_NOT_ONE, _HINT, {"path": str(path), "reason": first_line(error)}) from None


def save(path: Path, bundle: Bundle, redactor: Redactor) -> None:
    """Redact and write a bundle (`-`: to standard output); the file appears whole or not at all.

    Raises:
        UserError: the file cannot be written.
    """
    from npudoctor.atomic import write_output

    data = redactor.data(to_json(bundle))
    if str(path) == STANDARD:
        json.dump(data, sys.stdout, indent=1, sort_keys=True)
        sys.stdout.write("\n")
        return
    write_output(path, json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def _pack(seen: Observation) -> dict[str, Any]:
    packed: dict[str, Any] = {"error": seen.error} if seen.error else {}
    if isinstance(seen.data, dict) and seen.kind == "run":
        packed.update({k: _fold(v) if k in _FOLDED else v for k, v in seen.data.items()})
    elif seen.data is not None:
        packed["data"] = _fold(seen.data) if seen.kind == "read" else seen.data
    return packed


def _unpack(kind: str, target: str, packed: Mapping[str, Any]) -> Observation:
    error = str(packed.get("error", ""))
    if kind == "run":
        if error and "stdout" not in packed:
            return Observation(kind, target, None, error)
        data: Any = {
            "exit": packed.get("exit", 0),
            "seconds": packed.get("seconds", 0.0),
            "stdout": _unfold(packed.get("stdout", "")),
            "stderr": _unfold(packed.get("stderr", "")),
        }
        return Observation(kind, target, _shaped(kind, target, data), error)
    if error:
        return Observation(kind, target, None, error)
    data = _unfold(packed["data"]) if kind == "read" else packed["data"]
    return Observation(kind, target, _shaped(kind, target, data))


def _shaped(kind: str, target: str, data: Any) -> Any:
    """`data`, known to be what a host answers to this kind of question; probes rely on it.

    Raises:
        TypeError: it is something else.
    """
    fields = data if isinstance(data, dict) else {}
    numbers = [fields.get(name) for name in ("uid", "gid")] + list(_items(fields.get("groups")))
    right = {
        "read": isinstance(data, str),
        "open": isinstance(data, str),
        "list": isinstance(data, list) and all(isinstance(name, str) for name in data),
        "env": isinstance(data, dict) and all(isinstance(content, str) for content in data.values()),
        "run": isinstance(fields.get("exit"), (int, type(None))),
    }.get(kind, isinstance(data, dict) and all(isinstance(n, (int, type(None))) for n in numbers))
    if not right:
        raise TypeError(f"{kind} {target}")
    return data


def _items(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def _fold(text: Any) -> Any:
    return text.split("\n") if isinstance(text, str) and "\n" in text else text


def _unfold(text: Any) -> str:
    return "\n".join(text) if isinstance(text, list) else str(text)
