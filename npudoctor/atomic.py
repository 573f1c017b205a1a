"""Write a file so that a reader, or a crash, sees the old bytes or the new bytes and nothing between."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def write_bytes(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace `path` with `data`: temporary file in the same folder, fsync, rename.

    Args:
        path: target; its permission bits are kept when it exists.
        data: the new content.
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
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text, newlines as given."""
    write_bytes(path, text.encode("utf-8"))


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
