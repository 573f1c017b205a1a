"""`[tool.npudoctor]` of the nearest pyproject.toml -> `Config`.

Precedence: command-line flag over pyproject.toml over default. The file is looked for
upwards from the path that is worked on and never outside its repository, so that a
stranger's pyproject.toml higher up cannot change what happens.
"""

from __future__ import annotations

import difflib
import functools
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from npudoctor.core.errors import UserError, cannot_read, first_line
from npudoctor.core.text import LANGUAGES, Text, filled

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STYLES = ("npu", "portable")
_REPOSITORY_MARKS = (".git", ".hg", ".svn")
_MAX_BYTES = 1 << 20

_UNREADABLE = Text("cannot read {path}: {reason}", "无法读取 {path}：{reason}")
_UNKNOWN = Text(
    "{path}: unknown setting '{key}' in [tool.npudoctor]{near}",
    "{path}：[tool.npudoctor] 中有未知的设置项“{key}”{near}",
)
_WRONG = Text(
    "{path}: '{key}' in [tool.npudoctor] must be {wanted}",
    "{path}：[tool.npudoctor] 中的“{key}”应为 {wanted}",
)
_NEAR = Text(" (did you mean '{close}'?)", "（是否想写“{close}”？）")
_TABLE = Text("a table", "一个表")
_TOO_LARGE = Text("larger than 1 MiB", "大于 1 MiB")
_KNOWN = Text("known settings: {known}", "可用的设置项：{known}")


@dataclass(frozen=True)
class Config:
    """What the user chose, from pyproject.toml and the command line.

    Attributes:
        lang: language of messages, or None for the locale's.
        style: `npu` (device "npu") or `portable` (npu where there is one, else cuda, else cpu).
        torch_npu: release of torch_npu to write for, or None for the newest paired one.
        include: gitignore-style patterns of files to take although they would be skipped.
        exclude: gitignore-style patterns of files to leave out.
        select: codes or prefixes of codes to apply; empty means all.
        ignore: codes or prefixes of codes not to apply; over `select`.
        per_file_ignores: gitignore-style pattern -> codes not to apply there.
        unsafe_fixes: also apply fixes that may change behaviour as their page says.
        source: the pyproject.toml that was read, or None.
    """

    lang: str | None = None
    style: str = "npu"
    torch_npu: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsafe_fixes: bool = False
    source: Path | None = None

    def enabled(self, code: str, path: str) -> bool:
        """Whether `code` applies to the file at `path` (relative to the tree, `/` between parts)."""
        if self.select and not _covers(self.select, code):
            return False
        if _covers(self.ignore, code):
            return False
        return not any(
            _covers(codes, code) and matches((pattern,), path)
            for pattern, codes in self.per_file_ignores.items()
        )

    def override(self, **chosen: Any) -> Config:
        """These settings with every value of `chosen` that is neither None nor empty."""
        return replace(self, **{key: value for key, value in chosen.items() if value})


def load(start: Path) -> Config:
    """Settings of the nearest pyproject.toml at or above `start` within its repository.

    Raises:
        UserError: the file cannot be read or parsed, or holds an unknown or malformed setting.
    """
    path = find(start)
    if path is None:
        return Config()
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UserError(_UNREADABLE, params={"path": path, "reason": _TOO_LARGE})
        document = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError) as error:  # bad UTF-8, bad TOML
        raise UserError(_UNREADABLE, params={"path": path, "reason": first_line(error)}) from None
    tool = document.get("tool", {})
    section = tool.get("npudoctor", {}) if isinstance(tool, dict) else {}
    if not isinstance(section, dict):
        raise UserError(_WRONG, params={"path": path, "key": "npudoctor", "wanted": _TABLE})
    return from_table(section, path)


def find(start: Path) -> Path | None:
    """The nearest pyproject.toml at or above `start`, not above the repository's root.

    Without a repository only the folder of `start` itself is looked at.
    """
    folder = Path(os.path.realpath(start))  # unlike `resolve`, it takes links that lead in a circle
    if not folder.is_dir():
        folder = folder.parent
    climb = [folder, *folder.parents]
    root = next((p for p in climb if any((p / mark).exists() for mark in _REPOSITORY_MARKS)), folder)
    for place in climb[: climb.index(root) + 1]:
        if (place / "pyproject.toml").is_file():
            return place / "pyproject.toml"
    return None


def from_table(section: Mapping[str, Any], path: Path) -> Config:
    """The table `[tool.npudoctor]` as settings; `path` is named in errors."""
    values: dict[str, Any] = {}
    for key, value in section.items():
        parse = _PARSERS.get(key)
        if parse is None:
            close = difflib.get_close_matches(key, _PARSERS, n=1)
            near = filled(_NEAR, {"close": close[0]}) if close else ""
            raise UserError(
                _UNKNOWN, _KNOWN,
                {"path": path, "key": key, "near": near, "known": ", ".join(sorted(_PARSERS))},
            )
        parsed = parse(value)
        if parsed is None:
            raise UserError(_WRONG, params={"path": path, "key": key, "wanted": _WANTED[parse]})
        values[key.replace("-", "_")] = parsed
    return Config(source=path, **values)


def matches(patterns: tuple[str, ...], path: str) -> bool:
    """Whether one of the gitignore-style `patterns` takes `path` (relative, `/` between parts)."""
    return bool(patterns) and bool(_spec(patterns).match_file(path))


@functools.lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> Any:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def _covers(codes: tuple[str, ...], code: str) -> bool:
    return any(code.startswith(chosen.upper()) for chosen in codes)


def _language(value: Any) -> str | None:
    return value if value in LANGUAGES else None


def _style(value: Any) -> str | None:
    return value if value in STYLES else None


def _version(value: Any) -> str | None:
    from packaging.version import InvalidVersion, Version

    if not isinstance(value, str):
        return None
    try:
        Version(value)
    except InvalidVersion:
        return None
    return value


def _strings(value: Any) -> tuple[str, ...] | None:
    good = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    return tuple(value) if good else None


def _codes(value: Any) -> tuple[str, ...] | None:
    codes = _strings(value)
    return tuple(code.upper() for code in codes) if codes is not None else None


def _codes_by_pattern(value: Any) -> dict[str, tuple[str, ...]] | None:
    if not isinstance(value, dict):
        return None
    parsed = {pattern: _codes(codes) for pattern, codes in value.items()}
    return None if None in parsed.values() else parsed  # type: ignore[return-value]


_PARSERS: dict[str, Any] = {
    "lang": _language,
    "style": _style,
    "torch-npu": _version,
    "include": _strings,
    "exclude": _strings,
    "select": _codes,
    "ignore": _codes,
    "per-file-ignores": _codes_by_pattern,
}
_WANTED: dict[Any, str] = {
    _language: " | ".join(LANGUAGES),
    _style: " | ".join(STYLES),
    _version: '"2.7.1.post2"',
    _strings: '["...", ...]',
    _codes: '["NPU101", "NPU2", ...]',
    _codes_by_pattern: '{ "tests/*" = ["NPU101"] }',
}
