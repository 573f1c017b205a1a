"""The fleet as lines: plain text grouped by version set, or one JSON object per host as it is judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from npudoctor.core.text import Text, escaped, verbatim
from npudoctor.fleet.groups import Group, Spool
from npudoctor.fleet.survey import PARTS, HostLine

SCHEMA = "npudoctor.fleet/1"
Say = Callable[..., str]

_GROUP = Text("{hosts} hosts: {versions}", "{hosts} 台主机：{versions}")
_ODD = Text("differs from most: {differs}", "与多数主机不同：{differs}")
_BAD_FILES = Text("{hosts} files could not be read", "{hosts} 个文件无法读取")
_OK = Text("ok", "正常")
_TOTAL = Text(
    "{hosts} hosts in {groups} version sets: {bad} not ready, {warned} with warnings, {unreadable} "
    "unreadable",
    "{hosts} 台主机，{groups} 种版本组合：{bad} 台不可用，{warned} 台有警告，{unreadable} 个文件无法读取",
)
# What the parts of a version set are called, where that is not the same in Chinese.
_NAMES = {
    "chips": Text("chips", "芯片"), "driver": Text("driver", "驱动"), "firmware": Text("firmware", "固件"),
    "cann": verbatim("CANN"), "python": verbatim("Python"),
}


class Counts:
    """Running totals of a survey."""

    def __init__(self) -> None:
        self.hosts = self.bad = self.warned = self.unreadable = 0

    def add(self, line: HostLine) -> None:
        """Count one host."""
        self.hosts += 1
        self.unreadable += bool(line.problem[0])
        self.bad += bool(line.errors)
        self.warned += bool(line.warnings and not line.errors)

    def as_dict(self) -> dict[str, int]:
        """The totals as plain data."""
        return {
            "hosts": self.hosts,
            "not_ready": self.bad,
            "with_warnings": self.warned,
            "unreadable": self.unreadable,
        }


def json_lines(lines: Iterable[HostLine], counts: Counts, lang: str) -> Iterator[str]:
    """One JSON object per host, at once; the summary with its groups last."""
    with Spool() as spool:
        for line in lines:
            counts.add(line)
            spool.add(line)
            yield _dump(
                {
                    "schema": SCHEMA,
                    "kind": "host",
                    "host": line.host,
                    "first": line.first or None,
                    "title": line.title[lang == "zh"] or None,
                    "codes": list(line.codes),
                    "errors": line.errors,
                    "warnings": line.warnings,
                    "versions": dict(zip(PARTS, line.versions)),
                    "problem": line.problem[lang == "zh"] or None,
                }
            )
        for group in spool.groups():
            yield _dump(
                {
                    "schema": SCHEMA,
                    "kind": "group",
                    "hosts": group.hosts,
                    "versions": dict(zip(PARTS, group.versions)),
                    "differs": {part: {"here": here, "most": most} for part, here, most in group.differs},
                }
            )
    yield _dump({"schema": SCHEMA, "kind": "summary", **counts.as_dict()})


def text_lines(lines: Iterable[HostLine], counts: Counts, say: Say, lang: str) -> Iterator[str]:
    """Groups from the rarest to the most common, one line per host in each."""
    with Spool() as spool:
        for line in lines:
            counts.add(line)
            spool.add(line)
        groups = 0
        for group in spool.groups():
            groups += bool(group.versions)
            yield from map(escaped, _head(group, say))
            for line in spool.lines(group):
                yield "  " + escaped(_host(line, say, lang))
            yield ""
        yield say(
            _TOTAL,
            {
                "hosts": counts.hosts,
                "groups": groups,
                "bad": counts.bad,
                "warned": counts.warned,
                "unreadable": counts.unreadable,
            },
        )


def _head(group: Group, say: Say) -> Iterator[str]:
    if not group.versions:
        yield say(_BAD_FILES, {"hosts": group.hosts})
        return
    pairs = zip(PARTS, group.versions)
    named = ", ".join(f"{_name(part, say)} {version}" for part, version in pairs if version != "-")
    yield say(_GROUP, {"hosts": group.hosts, "versions": named or "-"})
    if group.differs:
        words = "; ".join(f"{_name(part, say)} {here} ({most})" for part, here, most in group.differs)
        yield say(_ODD, {"differs": words})


def _name(part: str, say: Say) -> str:
    return say(_NAMES[part]) if part in _NAMES else part


def _host(line: HostLine, say: Say, lang: str) -> str:
    if line.problem[0]:
        return f"? {line.host}: {line.problem[lang == 'zh']}"
    mark = "x" if line.errors else "!" if line.warnings else "+"
    words = f"{line.first} {line.title[lang == 'zh']}" if line.first else say(_OK)
    return f"{mark} {line.host}: {words}"


def _dump(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True)
