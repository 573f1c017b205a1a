"""What `npu-smi` prints, read by its `|` cells and never by column offsets.

Layouts: HBM table (910 family), Device/Memory table (310, 310P, 310B), A3 with Phy-ID,
the wide table of 26.x, and 950 with a cell of its own for the name. Sources of each are
listed in fixtures/npu_smi/index.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from npudoctor.machine.facts import Chip, Process, SmiFailure, SmiInfo

_HEADER = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)")
_PAIR = r"(\d+|NA|-)\s*/\s*(\d+|NA|-)"
_FIRST = re.compile(rf"(NA|-|[\d.]+)\s+(NA|-|\d+)(?:\s+{_PAIR})?$")
_SECOND = re.compile(rf"(NA|-|\d+)\s+{_PAIR}(?:\s+{_PAIR})?$")
_BUS = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d")
_DCMI = re.compile(r"ret is (-\d{4,5})")
# The process ends with the DCMI code, of which a shell sees the low eight bits.
_CODE_OF_EXIT = {code & 255: code for code in (-8005, -8020)}
HEALTHY = "OK"


def parse_info(text: str) -> SmiInfo | None:
    """`npu-smi info`; None when neither a header nor a chip row was recognised."""
    header = _HEADER.search(text)
    chips: list[Chip] = []
    processes: list[Process] = []
    first: dict[str, object] | None = None
    has_hbm, in_processes = False, False
    for line in text.splitlines():
        cells = _cells(line)
        if not cells:
            continue
        has_hbm = has_hbm or "HBM-Usage" in line
        in_processes = in_processes or "Process id" in line
        if in_processes:
            process = _process(cells)
            if process is not None:
                processes.append(process)
            continue
        opened = _first_row(cells)
        if opened is not None:
            first = opened
        elif first is not None:
            chip = _second_row(cells, first, has_hbm)
            if chip is not None:
                chips.append(chip)
                first = None
    if header is None and not chips:
        return None
    tool, driver = (_version(v) for v in header.groups()) if header else (None, None)
    return SmiInfo(tool, driver, tuple(chips), tuple(processes))


def _cells(line: str) -> list[str]:
    line = line.strip()
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def _first_row(cells: list[str]) -> dict[str, object] | None:
    """`NPU Name | Health | Power Temp Hugepages`."""
    match = _FIRST.search(cells[-1]) if len(cells) >= 3 else None
    words = " ".join(cells[:-2]).split()
    if match is None or len(words) < 2 or _int(words[0]) is None or _BUS.search(cells[-2]):
        return None
    return {
        "npu": _int(words[0]),
        "name": " ".join(words[1:]),
        "health": cells[-2],
        "power_w": _float(match.group(1)),
        "temp_c": _int(match.group(2)),
        "hugepages_used": _int(match.group(3)),
        "hugepages_total": _int(match.group(4)),
    }


def _second_row(cells: list[str], first: Mapping[str, object], has_hbm: bool) -> Chip | None:
    """`Chip [Phy-ID] | Bus-Id | AICore Memory [HBM]`."""
    match = _SECOND.search(cells[-1]) if len(cells) >= 3 else None
    if match is None:
        return None
    words = " ".join(cells[:-2]).split()
    aicore, used, total, hbm_used, hbm_total = (_int(g) for g in match.groups())
    ddr: tuple[int | None, int | None] = (None, None)
    if has_hbm:
        ddr = (used, total) if total else (None, None)
        used, total = hbm_used, hbm_total
    bus = _BUS.search(cells[-2])
    return Chip(
        **first,  # type: ignore[arg-type]
        chip=(_int(words[0]) if words else None) or 0,
        phy_id=_int(words[1]) if len(words) > 1 else None,
        bus_id=bus.group() if bus else None,
        aicore_pct=aicore,
        memory_kind="hbm" if has_hbm else "ddr",
        memory_used_mb=used,
        memory_total_mb=total,
        ddr_used_mb=ddr[0],
        ddr_total_mb=ddr[1],
    )


def _process(cells: list[str]) -> Process | None:
    pid = _int(cells[1]) if len(cells) > 3 else None
    ids = [number for number in map(_int, cells[0].split()) if number is not None]
    if pid is None or not ids:
        return None
    return Process(ids[0], ids[1] if len(ids) > 1 else None, pid, cells[2], _int(cells[3]))


def parse_failure(text: str, exit_code: int | None) -> SmiFailure:
    """What a failing npu-smi said; the DCMI code from its words, else from the exit status."""
    match = _DCMI.search(text)
    code = int(match.group(1)) if match else _CODE_OF_EXIT.get(exit_code or 0)
    return SmiFailure(code, exit_code, text.strip()[-2000:])


def parse_mapping(text: str) -> dict[tuple[int, int], int] | None:
    """`npu-smi info -m`: (NPU id, chip id) -> logic id; the MCU rows, which have none, are left out."""
    columns: list[str] = []
    found: dict[tuple[int, int], int] = {}
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if "NPU ID" in cells:
            columns = cells
        elif columns and len(cells) == len(columns):
            row = dict(zip(columns, cells))
            logic = row.get("Chip Logic ID", row.get("Chip Phy-ID", "-"))
            npu, chip, number = _int(row["NPU ID"]), _int(row.get("Chip ID")), _int(logic)
            if npu is not None and chip is not None and number is not None:
                found[npu, chip] = number
    return found if columns else None


def parse_pairs(text: str) -> dict[str, str] | None:
    """`Key : value` lines (`-t board`, `-t health`, `-t memory`, `-l`); the first of a key counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, rest = line.partition(":")
        if colon and key.strip():
            found.setdefault(key.strip(), rest.strip())
    return found or None


def _int(cell: str | None) -> int | None:
    # Not isdigit: it also takes a superscript, which int refuses.
    return int(cell) if cell is not None and cell.isdecimal() and len(cell) < 16 else None


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _version(text: str) -> str | None:
    return text if text[:1].isdecimal() else None
