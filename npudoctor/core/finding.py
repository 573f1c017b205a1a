"""A finding: what was seen and where, why it is so, the exact fix, and the source.

Findings are data. They hold texts in every language and the parameters to fill in;
renderers choose the language and the form, and decide nothing else.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from npudoctor.core.text import Text, verbatim

# How observations name what could not be had, in words.
_SYMBOLS = {
    "ENOENT": Text("not there", "不存在"),
    "EACCES": Text("access refused", "访问被拒绝"),
    "EPERM": Text("not permitted", "操作不被允许"),
    "EISDIR": Text("is a folder", "是一个目录"),
    "EBUSY": Text("busy", "被占用"),
    "EIO": Text("read error", "读取错误"),
    "timeout": Text("no answer in time", "未及时响应"),
    "not-recorded": Text("not recorded", "未录制"),
    "unset": Text("not set", "未设置"),
}


def in_words(symbol: str) -> Text:
    """What an observation's symbol (`EACCES`, `timeout`) means; any other text as it is."""
    return _SYMBOLS.get(symbol) or verbatim(symbol)


@enum.unique
class Severity(enum.Enum):
    """How much a finding matters. Only `ERROR` (and, with --strict, `WARNING`) sets exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@enum.unique
class Safety(enum.Enum):
    """What applying a fix may change.

    SAFE: same numbers to the last bit, comments kept; applied by default.
    UNSAFE: behaviour can change in a documented way; needs --unsafe-fixes.
    MANUAL: text only; a person has to do it.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


@dataclass(frozen=True)
class Place:
    """Where something was seen: a file position, or a named place of the machine.

    Lines and columns count from 1; columns are in characters. `line` is None for a
    whole file, a command, or an environment variable (`path` then names it).
    """

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        parts = [self.path] + [str(n) for n in (self.line, self.column) if n is not None]
        return ":".join(parts)


@dataclass(frozen=True)
class Evidence:
    """One observation that supports a finding: the place and the words found there."""

    place: str
    value: str

    def words(self, lang: str) -> str:
        """The value for people: an error's symbol at its end is said in words."""
        head, colon, symbol = self.value.rpartition(": ")
        return f"{head}{colon}{in_words(symbol).render(lang)}"


@dataclass(frozen=True)
class Fix:
    """How to mend a finding.

    Attributes:
        note: what to do, one or two sentences.
        commands: exact shell commands, in order; may be empty.
        safety: see `Safety`. Fixes of checks are never run by npudoctor.
        needs_root: the commands need root.
        host_only: the fix cannot be done from inside a container or by a renter.
    """

    note: Text
    commands: tuple[str, ...] = ()
    safety: Safety = Safety.MANUAL
    needs_root: bool = False
    host_only: bool = False


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or worth knowing.

    Attributes:
        code: stable code such as `NPU012`; never reused.
        slug: stable name of the fault, kebab-case.
        title: the fault in one line.
        cause: why it is so.
        params: values for `title`, `cause` and the notes of `fixes`.
        fixes: the ways out, the preferred one first.
        sources: addresses of the facts relied on.
        consequences: findings that exist only because of this one.
    """

    code: str
    slug: str
    severity: Severity
    title: Text
    cause: Text
    place: Place | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    sources: tuple[str, ...] = ()
    consequences: tuple[Finding, ...] = ()

    def walk(self) -> list[Finding]:
        """This finding and every consequence under it, depth first."""
        found = [self]
        for consequence in self.consequences:
            found.extend(consequence.walk())
        return found
