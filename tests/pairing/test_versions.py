"""Version names: parsing, total order, lines, and what counts as the same release."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npudoctor import tables
from npudoctor.pairing.versions import (
    base_release,
    fits,
    is_950_line,
    normal_python,
    package,
    public,
    same_release,
    same_series,
    vendor,
)

# Oldest first, as the vendor published them.
ORDERED = [
    "5.0.4", "6.0.RC1", "6.0.1", "6.3.RC1", "6.3.RC2", "6.3.RC3", "6.3.RC3.1", "7.0.RC1.alpha003", "7.0.RC1",
    "7.0.0", "8.0.RC1", "8.0.RC2.alpha002", "8.0.RC2", "8.0.RC3.alpha001", "8.0.RC3.beta1", "8.0.RC3",
    "8.0.0.alpha001", "8.0.0.beta1", "8.0.0", "8.1.RC1.alpha001", "8.1.RC1.alpha002", "8.1.RC1", "8.2.RC1",
    "8.2.RC2", "8.3.RC1.alpha003", "8.3.RC1", "8.3.RC2", "8.5.0.alpha001", "8.5.0", "8.5.1", "9.0.0-beta.1",
    "9.0.0-beta.2", "9.0.0", "9.0.1", "9.1.0-beta.1", "9.1.0",
]
DRIVERS = [
    "1.0.15", "21.0.4", "22.0.4", "23.0.RC3.B060", "23.0.0", "23.0.3", "24.1.rc1", "24.1.rc2", "24.1.rc2.2",
    "24.1.rc3", "24.1.0", "25.0.rc1", "25.0.rc1.1", "25.2.0", "25.2.3", "25.3.rc1", "25.5.0", "25.5.1",
    "26.0.rc1",
]


@pytest.mark.parametrize("names", [ORDERED, DRIVERS], ids=["cann", "driver"])
def test_vendor_order(names: list[str]) -> None:
    parsed = [vendor(name) for name in names]
    for earlier, later in itertools.combinations(parsed, 2):
        assert earlier < later, (earlier, later)


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("8.3.rc1", "8.3.RC1"), ("8.0.RC3.BETA1", "8.0.RC3.beta1"), ("9.1.0-beta.1", "9.1.0-beta.1"),
        ("8.0.0.alpha001", "8.0.0.alpha001"), ("24.1.rc2.2", "24.1.RC2.2"), (" v25.2.0 ", "25.2.0"),
        ("23.0.rc3.b060", "23.0.RC3.B060"), ("8.2.RC1.B150", "8.2.RC1.B150"), ("7.0.T10", "7.0.T10"),
    ],
)
def test_spelling(written: str, spelled: str) -> None:
    assert str(vendor(written)) == spelled


@pytest.mark.parametrize(
    "text", ["", "cann", "8", "8.", "rc1", "8.0.RC3.gamma1", "8.0.0 beta", "latest", "8..0"]
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        vendor(text)


def test_same_release_ignores_builds_patches_and_old_community_betas() -> None:
    assert same_release("8.1.RC1", "8.1.RC1.beta1")
    assert same_release("8.0.0", "8.0.0.beta1")
    assert same_release("24.1.rc2", "24.1.rc2.2")
    assert same_release("23.0.RC3", "23.0.RC3.B060")
    assert not same_release("9.1.0", "9.1.0-beta.1")
    assert not same_release("8.0.RC3", "8.0.RC3.alpha001")
    assert not same_release("8.0.RC2", "8.0.RC3")


def test_series_changed_its_meaning_with_8_1() -> None:
    assert not same_series("8.0.RC2", "8.0.0")
    assert same_series("8.3.RC1", "8.3.RC2")
    assert same_series("8.5.0", "8.5.1")


def test_cells_name_a_line_or_one_release() -> None:
    assert fits("25.2.X", "25.2.3")
    assert fits("25.2.X", "25.2.rc1")
    assert not fits("25.2.X", "25.3.rc1")
    assert fits("24.1.RC2", "24.1.rc2.2")
    assert not fits("24.1.RC2", "24.1.0")


def test_950_lines_are_numbered_on_their_own() -> None:
    assert is_950_line("25.7.RC1")
    assert is_950_line("25.1.rc2")
    assert not is_950_line("25.2.0")


def test_package_versions() -> None:
    assert str(public("2.7.1.post2+git4c901a4")) == "2.7.1.post2"
    assert str(base_release("2.10.0rc1")) == "2.10.0"
    assert package("2.7.1rc1") < package("2.7.1") < package("2.7.1.post2") < package("2.7.1.post10")
    with pytest.raises(ValueError, match="not a package version"):
        package("2.7.x")


@pytest.mark.parametrize("text", ["3.11", "3.11.9", "cp311", "py3.11", "311", "python3.11"])
def test_python_names(text: str) -> None:
    assert normal_python(text) == "3.11"


def test_python_nonsense() -> None:
    with pytest.raises(ValueError, match="not a Python version"):
        normal_python("pypy")


# --- properties ------------------------------------------------------------------------

_number = st.integers(0, 40)


@st.composite
def names(draw: st.DrawFn) -> str:
    text = ".".join(map(str, draw(st.lists(_number, min_size=2, max_size=3))))
    if draw(st.booleans()):
        text += f".{draw(st.sampled_from(['RC', 'rc']))}{draw(_number)}"
        text += "".join(f".{n}" for n in draw(st.lists(_number, max_size=2)))
    text += draw(st.sampled_from(["", "", ".alpha001", ".beta1", "-beta.2", ".T10"]))
    return text + draw(st.sampled_from(["", "", ".B060", ".B150"]))


@given(names())
def test_round_trip(text: str) -> None:
    once = vendor(text)
    assert vendor(str(once)) == once
    assert str(vendor(str(once))) == str(once)


@given(names(), names(), names())
def test_total_order(a: str, b: str, c: str) -> None:
    x, y, z = vendor(a), vendor(b), vendor(c)
    assert (x < y) + (x == y) + (x > y) == 1
    if x <= y <= z:
        assert x <= z
    if x == y:
        assert hash(x) == hash(y)


@given(names(), names())
def test_same_release_is_an_equivalence(a: str, b: str) -> None:
    assert same_release(a, a)
    assert same_release(a, b) == same_release(b, a)


def test_every_version_of_the_tables_parses() -> None:
    for row in tables.load("pairing").rows:
        package(row["torch_npu"])
        for cell in filter(None, f"{row['cann']},{row['cann_line']},{row['cann_tested']}".split(",")):
            vendor(cell.replace(".X", ".0"))
    for row in tables.load("cann_driver").rows:
        vendor(row["cann"])
        for cell in filter(None, f"{row['paired']},{row['compatible']},{row['incompatible']}".split(",")):
            vendor(cell.replace(".X", ".0"))
