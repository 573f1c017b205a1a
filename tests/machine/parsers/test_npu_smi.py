"""The npu-smi reader on every real output, and on damaged ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.machine.parsers.npu_smi import parse_failure, parse_info, parse_mapping, parse_pairs

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "npu_smi"
ENTRIES = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))["entries"]
TEXTS = {e["file"]: (FOLDER / e["file"]).read_text(encoding="utf-8") for e in ENTRIES}


def entries(prefix: str) -> list:
    return [pytest.param(e, id=e["file"]) for e in ENTRIES if e["file"].startswith(prefix)]


def test_every_file_is_listed_with_its_source() -> None:
    assert {p.name for p in FOLDER.glob("*.txt")} == {e["file"] for e in ENTRIES}
    assert len(ENTRIES) == 52
    assert all(e["source"] and e["kind"] for e in ENTRIES)


@pytest.mark.parametrize("entry", entries("info_"))
def test_info(entry: dict) -> None:
    info = parse_info(TEXTS[entry["file"]])
    assert info is not None
    assert (info.tool_version, info.driver_version) == (entry["tool_version"], entry["driver_version"])
    found = [dataclasses.asdict(chip) for chip in info.chips]
    assert len(found) == len(entry["chips"])
    for chip, wanted in zip(found, entry["chips"]):
        assert {k: chip[k] for k in wanted} == wanted
        # What the expectation leaves out was printed as NA, a dash or a mask.
        assert all(v is None for k, v in chip.items() if k not in wanted and k != "phy_id"), chip
    if "processes" in entry:
        assert [dataclasses.asdict(p) for p in info.processes] == entry["processes"]


@pytest.mark.parametrize("entry", entries("fail_"))
def test_failures(entry: dict) -> None:
    text = TEXTS[entry["file"]]
    info = parse_info(text)
    assert info is None or not info.chips
    failure = parse_failure(text, entry.get("exit_code"))
    wanted = -8005 if "8005" in entry["file"] else -8020 if "8020" in entry["file"] else None
    assert failure.code == wanted
    assert failure.text in text
    if wanted is not None:
        assert parse_failure("", wanted & 255).code == wanted, "the exit status alone tells the code too"


@pytest.mark.parametrize("entry", entries("mapping_"))
def test_mapping(entry: dict) -> None:
    wanted = {(row["npu"], row["chip"]): row.get("logic", row.get("phy")) for row in entry["expected"]}
    assert parse_mapping(TEXTS[entry["file"]]) == {k: v for k, v in wanted.items() if v is not None}


@pytest.mark.parametrize("entry", entries("health_") + entries("board_"))
def test_pairs(entry: dict) -> None:
    found = parse_pairs(TEXTS[entry["file"]])
    assert found is not None
    assert {k: found.get(k) for k in entry["expected"]} == entry["expected"]


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A real output with lines cut, dropped, doubled, and characters replaced."""
    lines = TEXTS[draw(st.sampled_from(sorted(TEXTS)))].splitlines()
    for _ in range(draw(st.integers(1, 6))):
        if not lines:
            break
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "double", "cut", "replace", "swap"]))
        if kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
        elif kind == "replace":
            lines[at] = lines[at].replace(draw(st.sampled_from("|0 /OK")), draw(st.text(max_size=3)))
        else:
            lines[at], lines[0] = lines[0], lines[at]
    return "\n".join(lines)


@settings(max_examples=300, deadline=None)
@given(mangled())
def test_damage_never_crashes_and_never_heals(text: str) -> None:
    info = parse_info(text)
    for chip in info.chips if info is not None else ():
        assert chip.npu >= 0
        # A chip is only healthy when its own cell says so.
        assert chip.health != "OK" or "OK" in text
        assert chip.memory_used_mb is None or chip.memory_used_mb >= 0
    parse_failure(text, 1)
    parse_mapping(text)
    parse_pairs(text)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    parse_info(text)
    parse_info("\n".join("|" + line for line in text.splitlines()))
    parse_mapping(text)
    parse_pairs(text)


def test_digits_that_are_no_number_and_numbers_without_end() -> None:
    """`isdigit` takes a superscript, `int` refuses it; and it refuses 5,000 digits."""
    table = (
        "| npu-smi 25.2.0  Version: 25.2.0 |\n"
        "| {n}  910B3 | OK | 90.1  45  0 / 0 |\n"
        "| {n}  | 0000:C1:00.0 | 0  0 / 0  3100 / 65536 |\n"
        "| NPU Chip | Process id | Process name | Process memory(MB) |\n"
        "| {n} 0 | {n} | python | {n} |\n"
    )
    for number in ("²", "9" * 5000):
        info = parse_info(table.replace("{n}", number))
        assert info is not None
        assert (info.chips, info.processes) == ((), ())
        mapping = f"NPU ID  Chip ID  Chip Logic ID  Chip Name\n{number}  {number}  {number}  Ascend\n"
        assert parse_mapping(mapping) == {}
