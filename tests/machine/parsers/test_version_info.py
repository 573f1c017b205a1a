"""Vendor version files and the ranges they declare."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npudoctor.machine.parsers import version_info as parse

DRIVER = """Version=25.0.rc1.1
ascendhal_version=7.35.23
Innerversion=V100R001C21SPC001B231
compatible_version=[V100R001C17],[V100R001C21]
compatible_version_fw=[6.4.0,6.4.99],[7.0.0,7.7.99]
package_version=25.0.rc1.1
"""


def test_driver() -> None:
    info = parse.driver_info(DRIVER)
    assert info is not None
    assert info.version == "25.0.rc1.1"
    assert info.ranges("compatible_version_fw") == (("6.4.0", "6.4.99"), ("7.0.0", "7.7.99"))
    assert info.ranges("compatible_version") == (
        ("V100R001C17", "V100R001C17"),
        ("V100R001C21", "V100R001C21"),
    )
    old = parse.driver_info("Version=23.0.3\n")
    assert old is not None
    assert old.version == "23.0.3", "drivers before 24.1 have no package_version"


@pytest.mark.parametrize("text", ["", "ascendhal_version=7\n", "Version=\npackage_version=\n", "Version"])
def test_a_file_without_a_version_names_none(text: str) -> None:
    for read in (parse.driver_info, parse.firmware_info, parse.cann_install_info, parse.version_cfg):
        assert read(text) is None


@pytest.mark.parametrize(
    ("version", "inside"),
    [
        ("7.7.0.1.231", True),
        ("7.7.99", True),
        ("7.8.0", False),
        ("6.4.5.1", True),
        ("6.5.0", False),
        ("7.0.0", True),
    ],
)
def test_firmware_ranges(version: str, inside: bool) -> None:
    info = parse.driver_info(DRIVER)
    assert info is not None
    assert parse.in_ranges(version, info.ranges("compatible_version_fw")) is inside


@pytest.mark.parametrize(
    ("version", "lo", "hi", "inside"),
    [
        ("23.0.0.1", "23.0.0", "23.0.0.", True),
        ("23.0.1", "23.0.0", "23.0.0.", False),
        ("24.1.rc2", "24.1", "24.1.", True),
        ("23.0.rc3", "23.0.rc3", "23.0.rc3.", True),
        ("23.0.rc2", "23.0.rc3", "23.0.rc3.", False),
        ("8.9.0.1", "7.0.0", "8.9.9", True),
    ],
)
def test_bounds_that_are_prefixes(version: str, lo: str, hi: str, inside: bool) -> None:
    assert parse.within(version, lo, hi) is inside


def test_cann_files_of_both_generations() -> None:
    info = parse.cann_install_info(
        "package_name=Ascend-cann-toolkit\nversion=8.5.0\ninnerversion=V100R001C25SPC001B212\n"
    )
    assert info is not None
    assert (info.version, parse.c_level(info.fields["innerversion"])) == ("8.5.0", "V100R001C25")
    cfg = parse.version_cfg(
        "runtime_running_version=[7.6.0.1.220:8.0.0]\ntoolkit_running_version=[7.6.0.1.220:8.0.0]\n"
    )
    assert cfg is not None
    assert cfg.version == "8.0.0"
    part = parse.component_info("Version=8.2.0.0.201\nversion_dir=8.2.RC1\n")
    assert part is not None
    assert part.version == "8.2.RC1"
    assert (
        parse.atb_version("Ascend-cann-atb : 8.2.RC1\nAscend-cann-atb Version : 8.2.RC1.B150\n") == "8.2.RC1"
    )


@given(st.text())
def test_any_text(text: str) -> None:
    for read in (
        parse.driver_info,
        parse.firmware_info,
        parse.cann_install_info,
        parse.component_info,
        parse.version_cfg,
        parse.atb_version,
        parse.ranges,
        parse.c_level,
        parse.fields,
    ):
        read(text)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_bounds(version: str, lo: str, hi: str) -> None:
    assert parse.within(version, lo, hi) in (True, False)
