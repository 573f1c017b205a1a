"""`npu-smi`: where it is and what it says. It can hang, so every call has a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from npudoctor.machine.facts import Absent, Known, Leaf, NpuSmi, SmiInfo, value
from npudoctor.machine.host import Command, Host, Observation
from npudoctor.machine.layout import places
from npudoctor.machine.leaves import failed, leaf_of
from npudoctor.machine.parsers.npu_smi import HEALTHY, parse_failure, parse_info, parse_mapping, parse_pairs
from npudoctor.machine.probe import Probe, Settings

_ILL_CAP = 4


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> NpuSmi:
    """Find it, run `info`, and only when that works ask for the mapping and the board."""
    path, folder = _find(host, value(known["env"], {}))
    # A wrong mount leaves a folder of the tool's name; there is nothing to run then.
    program = value(path)
    if program is None:
        same: Any = path
        return NpuSmi(path=path, not_a_file=folder, info=same, failure=same, logic_ids=same, board=same)
    seen = host.run(Command("npu-smi info", (program, "info"), settings.smi_timeout_s))
    info = parse_info(_words(seen)) if seen.ok else None
    if not seen.ok:
        unknown = failed(seen)
        return NpuSmi(path=path, info=unknown, failure=unknown, logic_ids=unknown, board=unknown)
    if info is None or not info.chips or seen.data.get("exit"):
        failure = parse_failure(_words(seen), seen.data.get("exit"))
        nothing = Absent("npu-smi info")
        return NpuSmi(
            path=path, info=nothing, failure=Known(failure, "npu-smi info"), logic_ids=nothing, board=nothing
        )
    return _details(host, settings, program, path, info)


def _details(host: Host, settings: Settings, program: str, path: Leaf[str], info: SmiInfo) -> NpuSmi:
    mapping = host.run(Command("npu-smi info -m", (program, "info", "-m"), settings.smi_timeout_s))
    first = str(info.chips[0].npu)
    board = host.run(
        Command(
            "npu-smi info -t board", (program, "info", "-t", "board", "-i", first), settings.smi_timeout_s
        )
    )
    return NpuSmi(
        path=path,
        info=Known(info, "npu-smi info"),
        failure=Absent("npu-smi info"),
        logic_ids=leaf_of(mapping, lambda d: parse_mapping(d["stdout"])),
        board=leaf_of(board, lambda d: parse_pairs(d["stdout"])),
        errors=dict(_errors(host, settings, program, info)),
    )


def _errors(
    host: Host, settings: Settings, program: str, info: SmiInfo
) -> Iterator[tuple[tuple[int, int], str]]:
    """Error code and words of the first chips that are not healthy."""
    ill = [chip for chip in info.chips if chip.health != HEALTHY][:_ILL_CAP]
    for chip in ill:
        where = ("-i", str(chip.npu), "-c", str(chip.chip))
        label = " ".join(("npu-smi info -t health", *where))
        seen = host.run(Command(label, (program, "info", "-t", "health", *where), settings.smi_timeout_s))
        told = parse_pairs((seen.data or {}).get("stdout", "")) if seen.ok else None
        if told and told.get("Error Code", "NA") != "NA":
            words = told.get("Error Information", "NA")
            yield (chip.npu, chip.chip), told["Error Code"] + ("" if words == "NA" else f": {words}")


def _find(host: Host, environ: Mapping[str, str]) -> tuple[Leaf[str], str]:
    """(path of the tool, path of a folder that stands in its place or empty)."""
    folders = [p for p in environ.get("PATH", "").split(":") if p.startswith("/")]
    not_a_file, unclear = "", None
    for place in dict.fromkeys([*folders, *places("npu_smi.folder")]):
        seen = host.stat(f"{place}/npu-smi")
        if seen.ok and seen.data.get("kind") == "file":
            return Known(seen.target, seen.target), not_a_file
        if seen.ok:
            not_a_file = not_a_file or seen.target
        elif unclear is None and not isinstance(failed(seen), Absent):
            unclear = failed(seen)
    return (unclear or Absent("PATH, /usr/local/bin, /usr/local/sbin")), not_a_file


def _words(seen: Observation) -> str:
    data = seen.data or {}
    return f"{data.get('stdout', '')}\n{data.get('stderr', '')}"


PROBE = Probe("npu_smi", collect, after=("env",))
