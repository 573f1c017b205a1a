"""Write a file so that a reader, or a crash, sees the old bytes or the new bytes and nothing between."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from npudoctor.core.errors import cannot_write


@contextlib.contextmanager
def writing(path: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """A stream whose bytes take the place of `path` when the block ends well: same folder, fsync, rename.

    A symbolic link at `path` is replaced, never followed.

    Args:
        path: target; its permission bits are kept when it exists.
        mode: permission bits to use instead.

    Raises:
        OSError: the folder cannot be written; `path` is then unchanged.
    """
    path = Path(path)
    if mode is None:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_bytes(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace `path` with `data`; see `writing`."""
    with writing(path, mode) as stream:
        stream.write(data)


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text, newlines as given."""
    write_bytes(path, text.encode("utf-8"))


@contextlib.contextmanager
def output(path: Path) -> Iterator[IO[bytes]]:
    """A stream into a file that the user named for a result.

    A link is followed, as with a shell's `>`. What is no regular file (a pipe, /dev/null) is written to and
    never replaced: root could otherwise turn /dev/null into a file.

    Raises:
        UserError: it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            with open(path, "wb") as stream:
                yield stream
        else:
            with writing(Path(os.path.realpath(path))) as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from None


def write_output(path: Path, text: str) -> None:
    """UTF-8 text into a file that the user named; what UTF-8 lacks is written as `?`.

    Raises:
        UserError: it cannot be written.
    """
    with output(path) as stream:
        stream.write(text.encode("utf-8", "replace"))


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
