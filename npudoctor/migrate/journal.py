"""The backup of a migration: `.npudoctor/` in the root of the tree.

    .npudoctor/.gitignore                   "*": the folder never shows in the repository's status
    .npudoctor/lock                         held while a migration or an undo works
    .npudoctor/runs/<id>/manifest.json      which files, with the SHA-256 before and after
    .npudoctor/runs/<id>/before/<sha256>    their original bytes
    .npudoctor/runs/<id>/new/               files being written; moved over the originals

A run is put together under `<id>.partial` and renamed when it is complete and on disk, and
only then the first source file is touched: whenever the process dies, each file has its old
or its new bytes and every old byte is in a manifest.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from npudoctor import atomic
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.migrate.walk import NEVER, STATE_FOLDER, shown

SCHEMA = "npudoctor.migration/1"
PARTIAL = ".partial"
_SHA = re.compile(r"[0-9a-f]{64}")

_FOREIGN = Text(
    "{path} is not a folder that npudoctor made; nothing was changed",
    "{path} 不是 npudoctor 创建的文件夹；未做任何更改",
)
_FOREIGN_HINT = Text("move it away and run again", "请将其移走后重新运行")
_BUSY = Text(
    "another npudoctor migration is working on {path}", "另一个 npudoctor 迁移正在处理 {path}"
)
_NO_WRITE = Text(
    "cannot write the backup in {path}: {reason}; nothing was changed",
    "无法在 {path} 中写入备份：{reason}；未做任何更改",
)
_NO_WRITE_HINT = Text(
    "make the folder writable, or write a migrated copy with --output DIR",
    "请使该文件夹可写，或使用 --output DIR 写出迁移后的副本",
)
_DAMAGED = Text("the manifest {path} is damaged: {reason}", "清单 {path} 已损坏：{reason}")


@dataclass(frozen=True)
class Record:
    """One file of a run: path relative to the tree, SHA-256 of its bytes before and after."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class Run:
    """One finished backup: its folder and its records."""

    folder: Path
    records: tuple[Record, ...]

    def original(self, record: Record) -> bytes:
        """The bytes of `record` before the run.

        Raises:
            UserError: the backup is missing or does not have the recorded hash.
        """
        path = self.folder / "before" / record.before
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _damaged(path, error.strerror or str(error)) from None
        if sha256(data) != record.before:
            raise _damaged(path, "sha256")
        return data

    def forget(self, done: set[str]) -> None:
        """Drop the records of the paths in `done`; a run without records is removed."""
        rest = tuple(record for record in self.records if record.path not in done)
        if rest:
            _write_manifest(self.folder, rest)
        else:
            # Renamed first: a run that is half deleted must not look like a damaged one.
            going = self.folder.with_name(self.folder.name + PARTIAL)
            os.rename(self.folder, going)
            shutil.rmtree(going, ignore_errors=True)


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def locked(root: Path, create: bool) -> Iterator[Path]:
    """Hold the state folder of `root`; on leaving, an empty one is removed.

    Raises:
        UserError: held by another process, not ours, or not writable.
    """
    state = root / STATE_FOLDER
    _check_ours(state)
    try:
        if create:
            (state / "runs").mkdir(parents=True, exist_ok=True)
            if not (state / ".gitignore").exists():
                atomic.write_text(state / ".gitignore", "*\n")
        descriptor = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise no_write(state, error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(_BUSY, params={"path": shown(str(root))}) from None
        _sweep(state)
        try:
            yield state
        finally:
            _sweep(state)
            if not any((state / "runs").iterdir()):
                shutil.rmtree(state, ignore_errors=True)
    finally:
        os.close(descriptor)


def clear_remains(root: Path) -> None:
    """Remove a state folder that a killed process left before its first or after its last run.

    Only what `locked` makes is removed, and only while nobody holds it.
    """
    state = root / STATE_FOLDER
    if state.is_symlink() or not state.is_dir():
        return
    made = {".gitignore", "lock"}
    with contextlib.suppress(OSError):
        if not {entry.name for entry in state.iterdir()} <= made:
            return
        with contextlib.ExitStack() as stack:
            if (state / "lock").is_file():
                descriptor = os.open(state / "lock", os.O_RDWR | os.O_NOFOLLOW)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in made:
                (state / name).unlink(missing_ok=True)
            state.rmdir()


def begin(state: Path) -> Path:
    """A new, empty run that does not count until `commit`."""
    number = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + f"-{time.time_ns() % 10**9:09d}"
    folder = state / "runs" / (number + PARTIAL)
    (folder / "before").mkdir(parents=True)
    (folder / "new").mkdir()
    return folder


def keep(folder: Path, data: bytes) -> str:
    """Store original bytes in a run under their hash, on disk, and return the hash."""
    digest = sha256(data)
    with open(folder / "before" / digest, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    return digest


def commit(folder: Path, records: tuple[Record, ...]) -> Run:
    """Make a run count: from here on `runs` finds it."""
    _write_manifest(folder, records)
    final = folder.with_name(folder.name[: -len(PARTIAL)])
    sync_folder(folder / "before")
    os.rename(folder, final)
    sync_folder(final.parent)
    return Run(final, records)


def runs(root: Path) -> list[Run]:
    """The finished runs of the tree at `root`, newest first.

    Raises:
        UserError: a manifest is damaged or names a path outside the tree.
    """
    state = root / STATE_FOLDER
    _check_ours(state)
    try:
        folders = sorted((state / "runs").iterdir(), reverse=True)
    except OSError:
        return []
    return [_read(folder) for folder in folders if not folder.name.endswith(PARTIAL)]


def sync_folder(folder: Path) -> None:
    """Put the names in `folder` on disk (a rename is durable only then)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_manifest(folder: Path, records: tuple[Record, ...]) -> None:
    document = {"schema": SCHEMA, "files": [asdict(record) for record in records]}
    # Pure ASCII: an undecodable byte of a file name is an escaped lone surrogate.
    atomic.write_bytes(folder / "manifest.json", json.dumps(document, indent=1).encode("ascii"), 0o600)


def _read(folder: Path) -> Run:
    """Read a manifest without trusting it: a repository may bring its own `.npudoctor`."""
    path = folder / "manifest.json"
    try:
        document = json.loads(path.read_bytes())
        records = tuple(Record(r["path"], r["before"], r["after"]) for r in document["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, type(error).__name__) from None
    for record in records:
        if not all(isinstance(word, str) for word in (record.path, record.before, record.after)):
            raise _damaged(path, "types")
        parts = record.path.split("/")
        unsafe = {"", ".", ".."} | NEVER
        if any(part in unsafe for part in parts) or "\0" in record.path:
            raise _damaged(path, f"path {shown(record.path)}")
        if not (_SHA.fullmatch(record.before) and _SHA.fullmatch(record.after)):
            raise _damaged(path, "sha256")
    return Run(folder, records)


def _check_ours(state: Path) -> None:
    for part in (state, state / "runs", state / "lock"):
        wrong_kind = part.exists() and part.is_dir() == (part.name == "lock")
        if part.is_symlink() or wrong_kind:
            raise UserError(_FOREIGN, _FOREIGN_HINT, {"path": shown(str(part))})


def _sweep(state: Path) -> None:
    """Remove what a killed process left: runs that never began, and files on the way."""
    (state / "runs").mkdir(exist_ok=True)
    for folder in (state / "runs").iterdir():
        if folder.name.endswith(PARTIAL):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            shutil.rmtree(folder / "new", ignore_errors=True)


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(_DAMAGED, params={"path": shown(str(path)), "reason": reason})


def no_write(state: Path, error: OSError) -> UserError:
    """The error for a state folder that cannot be written."""
    params = {"path": shown(str(state.parent)), "reason": error.strerror or str(error)}
    return UserError(_NO_WRITE, _NO_WRITE_HINT, params)
