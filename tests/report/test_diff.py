"""A diff is printed as the bytes it is; in colour for a person, with control characters shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.report.diff import emit_diff
from npudoctor.session import Session

DIFF = b"--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n same\r\n-old \xff\x1b[2J\n+new\n"


def test_bytes_are_kept(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    emit_diff(Session(color="never"), DIFF)
    assert capfdbinary.readouterr().out == DIFF
    emit_diff(Session(quiet=True), DIFF)
    assert capfdbinary.readouterr().out == b""


def test_colour_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    emit_diff(Session(color="always"), DIFF)
    out = capsys.readouterr().out
    assert re.search("\x1b\\[[0-9;]*31m-old", out)
    assert re.search("\x1b\\[[0-9;]*32m\\+new", out)
    assert re.search("\x1b\\[[0-9;]*36m@@", out)
    assert "\\x1b[2J" in out
    assert "\x1b[2J" not in out


def test_to_a_file(tmp_path: Path) -> None:
    emit_diff(Session(output=tmp_path / "out.diff"), DIFF)
    assert (tmp_path / "out.diff").read_bytes() == DIFF
    with pytest.raises(UserError, match="cannot write"):
        emit_diff(Session(output=tmp_path / "none" / "out.diff"), DIFF)
