"""A file is old or new, keeps its permission bits, and nothing is left beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from npudoctor import atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_the_bits_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic.write_text(tmp_path / "a", "中\r\n")
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == "中\r\n".encode()
    assert mode(tmp_path / "a") == 0o640


def test_the_bits_of_an_old_file_stay_unless_others_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o751)
    atomic.write_bytes(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", 0o751)
    atomic.write_bytes(path, b"newer", mode=0o600)
    assert mode(path) == 0o600


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_failure_leaves_the_old_bytes_and_no_other_file(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, fails, refuse)
    with pytest.raises(OSError, match="No space left"):
        atomic.write_bytes(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
