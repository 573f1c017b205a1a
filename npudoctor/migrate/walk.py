"""List the files of a tree that a migration looks at; reads names, never follows a link out.

`.gitignore` files are honoured (those between the repository's root and the tree too), the
usual folders of generated or installed code are left out, and what was left out is listed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor.config import Config, matches
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.migrate import filetypes

STATE_FOLDER = ".npudoctor"
NEVER = frozenset({".git", ".hg", ".svn", STATE_FOLDER})
INSTALLED_OR_BUILT = frozenset({
    "__pycache__", "__pypackages__", ".eggs", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache",
    ".ruff_cache", ".tox", ".venv", "_build", "build", "dist", "node_modules", "site-packages", "venv",
})
MAX_IGNORE_FILE = 1 << 20

_NO_PATH = Text("{path} does not exist", "{path} 不存在")
_NO_ACCESS = Text("cannot read {path}: {reason}", "无法读取 {path}：{reason}")
_NOT_A_FILE = Text(
    "{path} is neither a folder nor a regular file", "{path} 既不是文件夹，也不是普通文件"
)
_NO_KIND = Text(
    "{path} is not a file that npudoctor can migrate", "{path} 不是 npudoctor 能够迁移的文件"
)
_OURS = Text(
    "{path} is part of npudoctor's own backup", "{path} 属于 npudoctor 自己的备份"
)
_KINDS = Text(
    "it takes Python files, notebooks, shell scripts, Dockerfiles, requirements and "
    "YAML/TOML/JSON/INI files",
    "支持 Python 文件、Notebook、shell 脚本、Dockerfile、requirements 以及 YAML/TOML/JSON/INI 文件",
)


@dataclass(frozen=True)
class Entry:
    """One file to look at: path relative to the tree with `/` between parts, kind, size in bytes."""

    path: str
    kind: str
    size: int


@dataclass(frozen=True)
class Skip:
    """Something left out and the word for why: `ignored`, `excluded`, `built`, `link-out`, `link`,
    `special`, `unreadable`, `large`."""

    path: str
    reason: str


@dataclass(frozen=True)
class Tree:
    """What a walk found.

    Attributes:
        root: absolute path of the tree (of the folder of a single file).
        entries: files to look at, sorted by path.
        skipped: what was left out that one might have expected.
        others: further files that a copy of the tree holds: data, and links that stay inside.
        single: one file was named, not a folder.
    """

    root: Path
    entries: tuple[Entry, ...]
    skipped: tuple[Skip, ...]
    others: tuple[str, ...] = ()
    single: bool = False

    @property
    def all_files(self) -> list[str]:
        """Paths of a copy of the tree."""
        return sorted({entry.path for entry in self.entries} | set(self.others))


def walk(path: Path, config: Config, leave_out: Path | None = None) -> Tree:
    """Files under the folder `path`, or the single file `path`.

    Args:
        path: named by the user; may itself be a link.
        config: include and exclude patterns.
        leave_out: a folder that is about to be written and must not be read.

    Raises:
        UserError: `path` does not exist, cannot be read, or is of no kind we know.
    """
    try:
        root = path.resolve(strict=True)
        mode = root.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(_NO_PATH, params={"path": shown(str(path))}) from None
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
        raise _no_access(path, error) from None
    if STATE_FOLDER in root.parts:
        raise UserError(_OURS, params={"path": shown(str(path))})
    if stat.S_ISDIR(mode):
        return _Walker(root, config, leave_out).run()
    if not stat.S_ISREG(mode):
        raise UserError(_NOT_A_FILE, params={"path": shown(str(path))})
    kind = filetypes.classify(root.name, lambda: _head(root))
    if kind is None:
        raise UserError(_NO_KIND, _KINDS, {"path": shown(str(path))})
    size = root.stat().st_size
    large = size > filetypes.limit(kind)
    return Tree(
        root.parent,
        () if large else (Entry(root.name, kind, size),),
        (Skip(root.name, "large"),) if large else (),
        single=True,
    )


def shown(path: str) -> str:
    """`path` for messages: control characters and undecodable bytes as escapes, so that a
    file name can neither break a report nor steer a terminal."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class _Walker:
    """Depth-first, iterative (a tree may be deeper than the interpreter's stack)."""

    def __init__(self, root: Path, config: Config, leave_out: Path | None) -> None:
        self.root, self.config = str(root), config
        self.leave_out = str(leave_out.resolve()) if leave_out is not None else None
        self.entries: list[Entry] = []
        self.skipped: list[Skip] = []
        self.others: list[str] = []

    def run(self) -> Tree:
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise _no_access(Path(self.root), error) from None
        stack = [("", tuple(_outer_specs(Path(self.root))), False)]
        while stack:
            folder, specs, only_included = stack.pop()
            specs = specs + tuple(_specs_of(os.path.join(self.root, folder), self.root))
            for item in self._scan(folder):
                path = f"{folder}/{item.name}" if folder else item.name
                if item.is_dir(follow_symlinks=False):
                    deeper = self._enter(path, item, specs, only_included)
                    if deeper is not None:
                        stack.append((path, specs, deeper))
                else:
                    self._file(path, item, specs, only_included)
        entries = tuple(sorted(self.entries, key=lambda e: e.path))
        skipped = tuple(sorted(self.skipped, key=lambda s: s.path))
        return Tree(Path(self.root), entries, skipped, tuple(self.others))

    def _scan(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self.root, folder)) as items:
                return sorted(items, key=lambda item: item.name)
        except OSError:
            self.skipped.append(Skip(folder, "unreadable"))
            return []

    def _enter(
        self, path: str, item: os.DirEntry[str], specs: tuple[_Spec, ...], only_included: bool
    ) -> bool | None:
        """None to stay out of a folder, else whether only explicitly included files count in it."""
        if item.name in NEVER or os.path.join(self.root, path) == self.leave_out:
            return None
        reason = ""
        if matches(self.config.exclude, path + "/"):
            self.skipped.append(Skip(path, "excluded"))
            return None
        if not only_included and _is_built(item):
            reason = "built"
        elif not only_included and _ignored(specs, os.path.join(self.root, path), folder=True):
            reason = "ignored"
        if reason:
            self.skipped.append(Skip(path, reason))
        if (reason or only_included) and not self.config.include:
            return None
        return bool(reason) or only_included

    def _file(
        self, path: str, item: os.DirEntry[str], specs: tuple[_Spec, ...], only_included: bool
    ) -> None:
        full = os.path.join(self.root, path)
        regular = item.is_file(follow_symlinks=False)
        kind = filetypes.classify(path, lambda: _head(Path(full)) if regular else b"")
        if matches(self.config.exclude, path):
            self._skip(path, kind, "excluded")
        elif only_included and not matches(self.config.include, path):
            return
        elif not matches(self.config.include, path) and _ignored(specs, full, folder=False):
            self._skip(path, kind, "ignored")
        elif item.is_symlink():
            self._link(path, kind)
        elif not regular:
            self._skip(path, kind, "special")
        else:
            self._take(path, item, kind)

    def _take(self, path: str, item: os.DirEntry[str], kind: str | None) -> None:
        size = item.stat(follow_symlinks=False).st_size if kind is not None else 0
        if kind is not None and size <= filetypes.limit(kind):
            self.entries.append(Entry(path, kind, size))
            return
        self._skip(path, kind, "large")
        self.others.append(path)

    def _link(self, path: str, kind: str | None) -> None:
        """A link is never followed: inside the tree its target is met by itself."""
        full = os.path.join(self.root, path)
        inside = os.path.realpath(full).startswith(self.root + os.sep)
        self._skip(path, kind, "link" if inside else "link-out")
        if inside and not os.path.isabs(os.readlink(full)):
            self.others.append(path)

    def _skip(self, path: str, kind: str | None, reason: str) -> None:
        if kind is not None:
            self.skipped.append(Skip(path, reason))


@dataclass(frozen=True)
class _Spec:
    """Patterns of one .gitignore and the folder they are relative to."""

    folder: str
    patterns: Any


def _specs_of(folder: str, inside: str) -> Iterator[_Spec]:
    names = [os.path.join(folder, ".gitignore")]
    if os.path.isdir(os.path.join(folder, ".git")) and not os.path.islink(os.path.join(folder, ".git")):
        names.insert(0, os.path.join(folder, ".git", "info", "exclude"))
    for name in names:
        lines = _lines(name)
        if lines:
            from pathspec import GitIgnoreSpec

            yield _Spec(folder, GitIgnoreSpec.from_lines(lines))


def _outer_specs(root: Path) -> Iterator[_Spec]:
    """Ignore files above `root`, from the repository's root down; none without a repository."""
    climb = list(root.parents)
    depth = next((i for i, p in enumerate(climb) if (p / ".git").exists()), None)
    if depth is None or (root / ".git").exists():
        return
    specs = tuple(s for folder in reversed(climb[: depth + 1]) for s in _specs_of(str(folder), str(root)))
    # A tree that is itself ignored was named on purpose: the rules that hide it do not count.
    if not _ignored(specs, str(root), folder=True):
        yield from specs


def _lines(name: str) -> list[str]:
    try:
        if not stat.S_ISREG(os.lstat(name).st_mode) or os.path.getsize(name) > MAX_IGNORE_FILE:
            return []
        with open(name, encoding="utf-8", errors="surrogateescape") as stream:
            lines = stream.read().split("\n")
    except OSError:
        return []
    return [line for line in lines if line.strip() and not line.startswith("#") and _valid(line)]


def _valid(line: str) -> bool:
    """Whether pathspec takes the pattern; git ignores a malformed line, so do we."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _ignored(specs: tuple[_Spec, ...], full: str, folder: bool) -> bool:
    """The verdict of the deepest .gitignore that has one (as git decides)."""
    for spec in reversed(specs):
        relative = os.path.relpath(full, spec.folder).replace(os.sep, "/")
        include = spec.patterns.check_file(relative + "/" if folder else relative).include
        if include is not None:
            return bool(include)
    return False


def _is_built(item: os.DirEntry[str]) -> bool:
    if item.name in INSTALLED_OR_BUILT or item.name.endswith(".egg-info"):
        return True
    marks = ("pyvenv.cfg", "conda-meta")  # a virtual or conda environment of any name
    return any(os.path.lexists(os.path.join(item.path, mark)) for mark in marks)


def _head(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(80)


def _no_access(path: Path, error: Exception) -> UserError:
    reason = getattr(error, "strerror", None) or str(error)
    return UserError(_NO_ACCESS, params={"path": shown(str(path)), "reason": reason})
