"""The ATC command that turns the ONNX file into an OM, and its run where `atc` exists."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

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
    """Run the command; None where there is no `atc`."""
    if shutil.which(words[0]) is None:
        return None
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Conversion(-1, None, (f"no answer within {TIMEOUT_S:.0f} s",))
    log = [text for text in (done.stdout + "\n" + done.stderr).splitlines() if text.strip()]
    om = path.with_suffix(".om")
    return Conversion(
        done.returncode, om if done.returncode == 0 and om.is_file() else None, tuple(log[-40:])
    )
