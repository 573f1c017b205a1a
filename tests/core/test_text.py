"""Messages count in plain English, and errors are said in words."""

from __future__ import annotations

import pytest

from npudoctor.core.finding import Evidence
from npudoctor.core.text import Text, filled


@pytest.mark.parametrize(
    ("template", "one"),
    [
        ("{n} files would change; {n} items are left", "1 file would change; 1 item is left"),
        ("{n} host-device syncs in 21 kernels", "1 host-device sync in 21 kernels"),
        ("{n} version sets", "1 version set"),
        ("v={n} files, 0.{n} files, npu:{n} files", "v=1 files, 0.1 files, npu:1 files"),
        ("{n} status", "1 status"),
    ],
)
def test_one_of_many(template: str, one: str) -> None:
    text = Text(template, template)
    assert text.render("en", {"n": 1}) == one
    assert text.render("en", {"n": 21}) == template.replace("{n}", "21")
    assert text.render("zh", {"n": 1}) == template.replace("{n}", "1")
    assert filled(text, {"n": 1}).en == one


def test_errors_in_words() -> None:
    assert Evidence("/dev", "davinci*: ENOENT").words("en") == "davinci*: not there"
    assert Evidence("/etc/x", "EACCES").words("zh") == "访问被拒绝"
    assert Evidence("log", "open failed: no ENOENT here").words("en") == "open failed: no ENOENT here"
