"""Put new bytes into files so that they can be taken back, whenever the process dies.

Order: originals into `.npudoctor/` (see `journal`), then each file is replaced by a rename.
Mode bits, owner and extended attributes are those of the file that is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from npudoctor.migrate import journal
from npudoctor.migrate.walk import NEVER, STATE_FOLDER

Advance = Callable[[int], None]
READ_LIMIT = 256 << 20


@dataclass(frozen=True)
class Replacement:
    """New bytes for the file at `path` (relative to the tree) whose SHA-256 was `before`."""

    path: str
    before: str
    after: bytes


@dataclass(frozen=True)
class Refusal:
    """A file that was left as it is, and the word for why: `changed`, `read-only`, `owner`,
    `denied`, `link`, `gone`, or the system's message."""

    path: str
    reason: str


@dataclass(frozen=True)
class Written:
    """What `apply` or `undo` did, as paths relative to the tree."""

    done: tuple[str, ...]
    refused: tuple[Refusal, ...]


class _Refused(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read(root: Path, path: str) -> bytes:
    """Bytes of a regular file of the tree; never through a link, never blocking on a pipe.

    Raises:
        OSError: unreadable, a link, or not a regular file.
    """
    descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return stream.read(READ_LIMIT)


def apply(root: Path, replacements: Iterable[Replacement], advance: Advance = lambda n: None) -> Written:
    """Back up, then replace. Files that must not be written are refused, the others go on.

    Raises:
        UserError: the backup cannot be written (nothing was changed then), or another
            migration holds the tree.
    """
    wanted = list(replacements)
    if not wanted:
        return Written((), ())
    refused: list[Refusal] = []
    done: list[str] = []
    with journal.locked(root, create=True) as state:
        run = _back_up(root, state, wanted, refused)
        left_out = {refusal.path for refusal in refused}
        for item in wanted:
            if item.path in left_out:
                continue
            reason = _attempt(root, run.folder, item)
            if reason:
                refused.append(Refusal(item.path, reason))
            else:
                done.append(item.path)
            advance(1)
        run.forget({refusal.path for refusal in refused})
        shutil.rmtree(run.folder / "new", ignore_errors=True)
    return Written(tuple(done), tuple(refused))


def undo(root: Path, below: str = "") -> Written:
    """Give every file of the tree its bytes from before the first migration.

    A file that was changed since is refused (`changed`); its original stays in the backup.

    Args:
        root: folder that holds `.npudoctor`.
        below: only this file, or the files in this folder (relative to `root`).

    Raises:
        UserError: the backup is damaged, or another migration holds the tree.
    """
    refused: list[Refusal] = []
    done: list[str] = []
    with journal.locked(root, create=False):
        for run in journal.runs(root):
            settled = set()
            for record in run.records:
                if below and record.path != below and not record.path.startswith(below + "/"):
                    continue
                item = Replacement(record.path, record.after, run.original(record))
                reason = _restore(root, run.folder, item, record.before)
                if reason is None:
                    done.append(record.path)
                if reason in (None, "same"):
                    settled.add(record.path)
                else:
                    refused.append(Refusal(record.path, str(reason)))
            shutil.rmtree(run.folder / "new", ignore_errors=True)
            run.forget(settled)
    return Written(tuple(sorted(set(done))), tuple(refused))


def find_root(path: Path) -> Path | None:
    """The nearest folder at or above `path` that holds a backup, or None."""
    start = path.resolve()
    for folder in (start, *start.parents):
        if (folder / STATE_FOLDER / "runs").is_dir():
            return folder
    return None


def roots_below(path: Path) -> list[Path]:
    """Folders below `path` that hold a backup, for trees that were migrated part by part."""
    found = []
    for folder, names, _ in os.walk(path, followlinks=False):
        if STATE_FOLDER in names and (Path(folder) / STATE_FOLDER / "runs").is_dir():
            found.append(Path(folder))
        names[:] = [name for name in names if name not in NEVER]
    return sorted(found)


def _back_up(root: Path, state: Path, wanted: list[Replacement], refused: list[Refusal]) -> journal.Run:
    """Store the originals of all that may be written; on disk when this returns."""
    records = []
    try:
        folder = journal.begin(state)
        for item in wanted:
            try:
                data = _original(root, item)
            except _Refused as error:
                refused.append(Refusal(item.path, error.reason))
                continue
            journal.keep(folder, data)
            records.append(journal.Record(item.path, item.before, journal.sha256(item.after)))
        return journal.commit(folder, tuple(records))
    except OSError as error:
        raise journal.no_write(state, error) from None


def _original(root: Path, item: Replacement) -> bytes:
    """Bytes to back up, once all that could forbid the replacement has been asked.

    Raises:
        _Refused: with the word for why.
    """
    try:
        data = read(root, item.path)
        status = os.lstat(root / item.path)
    except FileNotFoundError:
        raise _Refused("gone") from None
    except OSError as error:
        raise _Refused(_word(error)) from None
    if journal.sha256(data) != item.before:
        raise _Refused("changed")
    if os.path.realpath((root / item.path).parent) != str((root / item.path).parent):
        raise _Refused("link")
    if not status.st_mode & 0o222:
        raise _Refused("read-only")
    if not os.access((root / item.path).parent, os.W_OK):
        raise _Refused("denied")
    return data


def _attempt(root: Path, run: Path, item: Replacement) -> str | None:
    """Replace one file; the word for why not, or None when done."""
    try:
        _original(root, item)  # again: it may have changed while others were written
        _replace(root / item.path, run / "new", item.after)
    except _Refused as error:
        return error.reason
    except OSError as error:
        return _word(error)
    return None


def _restore(root: Path, run: Path, item: Replacement, original: str) -> str | None:
    """As `_attempt`; `same` when the file already has its original bytes."""
    reason = _attempt(root, run, item)
    if reason == "changed" and journal.sha256(read(root, item.path)) == original:
        return "same"
    return reason


def _replace(path: Path, staging: Path, data: bytes) -> None:
    """Rename a complete file over `path`; on another file system the staging is beside it."""
    status = os.lstat(path)
    staging.mkdir(exist_ok=True)
    if os.stat(staging).st_dev != status.st_dev:
        staging = path.parent
    handle, name = tempfile.mkstemp(prefix=".npudoctor-", dir=staging)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            _copy_metadata(path, status, handle)
            os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _copy_metadata(path: Path, status: os.stat_result, handle: int) -> None:
    """Owner, extended attributes (access lists are among them) and mode bits, in this order:
    a change of owner clears set-id bits."""
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(handle, status.st_uid, status.st_gid)
        except PermissionError:
            raise _Refused("owner") from None
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(path, follow_symlinks=False):
                with contextlib.suppress(OSError):
                    os.setxattr(handle, name, os.getxattr(path, name, follow_symlinks=False))
    os.fchmod(handle, stat.S_IMODE(status.st_mode))


def _word(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "denied"
    if error.errno == errno.ELOOP:
        return "link"
    return error.strerror or str(error)
