"""The ATC command that turns the ONNX file into an OM, and its run where `atc` exists."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from npudoctor.core.children import output_of
from npudoctor.export.graph import Graph, Value
from npudoctor.machine.facts import Known, NpuSmi

ONNX = "5"
UNKNOWN = "<soc_version>"
TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Conversion:
    """What `atc` did: `om` is the file it made, or None; `log` its last lines."""

    code: int
    om: Path | None
    log: tuple[str, ...]


def command(path: Path, graph: Graph, soc: str | None) -> list[str]:
    """The exact command; `soc` None leaves a placeholder that has to be filled in."""
    words = [
        "atc",
        f"--model={path}",
        f"--framework={ONNX}",
        f"--output={path.with_suffix('')}",
        "--input_format=ND",
        f"--input_shape={';'.join(_shape(v, bool(graph.ranges)) for v in graph.inputs)}",
    ]
    if graph.ranges:
        words.append(f"--dynamic_batch_size={','.join(map(str, graph.ranges))}")
    return [*words, f"--soc_version={soc or UNKNOWN}"]


def line(words: list[str]) -> str:
    """The command as a person types it."""
    return " ".join(shlex.quote(word) for word in words)


def _shape(value: Value, dynamic: bool) -> str:
    dims = [
        "-1" if not isinstance(d, int) or (dynamic and i == 0) else str(d) for i, d in enumerate(value.dims)
    ]
    return f"{value.name}:{','.join(dims)}"


def soc_of(smi: NpuSmi) -> str | None:
    """The soc_version of the first chip, or None when npu-smi does not tell.

    `910B3` becomes `Ascend910B3`. A chip that has an NPU name on its board (Atlas A3) is
    called by both names, `Ascend910_9391`.
    Source: https://www.hiascend.com/document/detail/zh/canncommercial/900/programug/graphdevg/atlasag_25_0080.html
    """
    board = smi.board.value if isinstance(smi.board, Known) else {}
    pairs = {key.lower(): value for key, value in board.items()}
    chip, npu = pairs.get("chip name", ""), pairs.get("npu name", "")
    if chip and npu:
        return f"{chip}_{npu}" if chip.startswith("Ascend") else f"Ascend{chip}_{npu}"
    chips = smi.info.value.chips if isinstance(smi.info, Known) else ()
    return f"Ascend{chips[0].name.replace('Ascend', '')}" if chips and chips[0].name else None


def run(words: list[str], path: Path) -> Conversion | None:
    """Run the command; None where there is no `atc`.

    An OM of an earlier conversion is not taken for a new one.
    """
    if shutil.which(words[0]) is None:
        return None
    om = path.with_suffix(".om")
    before = _stamp(om)
    try:
        code, out, err = output_of(words, TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Conversion(-1, None, (f"no answer within {TIMEOUT_S:.0f} s",))
    except OSError as error:  # a file of another architecture, or one that is no program
        return Conversion(-1, None, (str(error),))
    log = [text for text in (out + "\n" + err).splitlines() if text.strip()]
    made = code == 0 and _stamp(om) not in (None, before)
    return Conversion(code, om if made else None, tuple(log[-40:]))


def _stamp(path: Path) -> tuple[int, int] | None:
    """What tells one writing of a file from another; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
