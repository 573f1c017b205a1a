"""One line of what another library says."""

from __future__ import annotations

import pytest

from npudoctor.core.errors import first_line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (RuntimeError("one"), "one"),
        (RuntimeError("\n  [-1] one \ntwo"), "[-1] one"),
        (RuntimeError(" \n"), "RuntimeError"),
        (OSError(), "OSError"),
    ],
)
def test_first_line(error: Exception, line: str) -> None:
    assert first_line(error) == line
