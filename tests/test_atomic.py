"""A file is the old one or the new one, and what is no regular file is never replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from npudoctor import atomic
from npudoctor.core.errors import UserError
from tests.conftest import RunCli


def test_the_old_bytes_stay_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic.writing(path) as stream:
        stream.write(b"half" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(0o640)
    path.chmod(0o640)
    atomic.write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_output_may_be_a_pipe(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    atomic.write_output(pipe, "news")
    reader.join(10)
    assert found == [b"news"]
    assert stat.S_ISFIFO(pipe.stat().st_mode), "the pipe itself was replaced by a file"


def test_an_output_follows_a_link_and_others_replace_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.touch()
    link.symlink_to(real)
    atomic.write_output(link, "one")
    assert (link.is_symlink(), real.read_text()) == (True, "one")
    atomic.write_text(link, "two")  # inside a tree of strangers a link must not lead out of it
    assert (link.is_symlink(), real.read_text()) == (False, "one")


def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        atomic.write_output(tmp_path / "nowhere" / "x", "")
    assert "No such file or directory" in str(caught.value)
    assert "不存在" in caught.value.sentence.render("zh", caught.value.params)


def test_the_null_device_stays_a_device(run_cli: RunCli) -> None:
    """As root, a temporary file renamed over it would break the whole machine."""
    for args in (("pair", "--json"), ("pair",), ("explain", "507008")):
        assert run_cli(*args, "-o", "/dev/null").returncode == 0
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_standard_output_by_its_name(run_cli: RunCli) -> None:
    done = run_cli("pair", "--json", "-o", "/dev/stdout")
    assert done.returncode == 0
    assert done.stdout.startswith("{")


def test_a_new_file_has_the_bits_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic.write_text(tmp_path / "a", "中\r\n")
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == "中\r\n".encode()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_bytes_and_no_other_file(
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
