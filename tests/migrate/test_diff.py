"""Unified diffs over bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.migrate.diff import unified

LINES = st.lists(st.sampled_from([b"a", b"b", b"\xff", b"c\r", b"", b"\x0c", b"\xe4\xb8\xad"]), max_size=25)


def test_equal_files_have_no_diff() -> None:
    assert unified("a.py", b"x\n", b"x\n") == b""


def test_no_newline_at_the_end_is_said() -> None:
    assert unified("a.py", b"x", b"y\n").endswith(b"-x\n\\ No newline at end of file\n+y\n")


def test_line_numbers_count_from_the_start_of_the_file() -> None:
    old = b"".join(b"%d\n" % i for i in range(1000))
    assert b"@@ -698,7 +698,7 @@\n" in unified("a.py", old, old.replace(b"\n700\n", b"\nx\n"))


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch command")
@settings(max_examples=80, deadline=None)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_patch_agrees(old: list, new: list, old_end: bool, new_end: bool) -> None:
    before = b"\n".join(old) + b"\n" * old_end
    after = b"\n".join([*old[:3], *new, *old[3:]]) + b"\n" * new_end
    if not before or before == after:
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a b.py").write_bytes(before)
        diff = unified("a b.py", before, after)
        command = ["patch", "-p1", "--binary"]
        done = subprocess.run(command, input=diff, cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout, diff)
        path = Path(folder) / "a b.py"
        assert (path.read_bytes() if path.exists() else b"") == after


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
@pytest.mark.parametrize(
    "name",
    [
        "plain.py",
        "a b.py",
        "中 文.py",
        "new\nline.py",
        'q"uote\\.py',
        "tab\there.py",
        "raw\udcff.py",
        "e\x1b[1m.py",
    ],
)
def test_git_finds_the_file_by_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"x\ny\n")
    diff = unified(name, b"x\ny\n", b"x\nz\n")
    assert b"\x1b" not in diff
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "apply"], input=diff, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stderr, diff)
    assert path.read_bytes() == b"x\nz\n"
