"""What a launch, a sync and a copy cost: public figures by default, a measured file when there is one.

`data/device_costs.tsv` gives the round numbers with their sources; `--latency FILE` replaces them by
what `npudoctor smoke-test` measured on a real NPU (JSON with the same names, microseconds).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from npudoctor import tables
from npudoctor.core.errors import UserError, cannot_read, first_line
from npudoctor.core.text import Text, filled, verbatim

_BAD = Text("cannot read latencies from {path}: {problem}", "无法从 {path} 读取时延：{problem}")
_NO_OBJECT = Text("it holds no object of latencies", "其中没有时延对象")
_NOT_TIME = Text("{name} is {value}, not a positive number", "{name} 为 {value}，不是正数")
_NONE_OF = Text("it holds none of {names}", "其中没有 {names} 中的任何一项")
_LARGEST = 1e12
_HINT = Text(
    'the file is JSON such as {{"launch": 11, "sync": 23, "copy": 23}}, in microseconds',
    '文件应为 JSON，例如 {{"launch": 11, "sync": 23, "copy": 23}}，单位微秒',
)


@dataclass(frozen=True)
class Costs:
    """Microseconds, and gigabytes or teraflops per second.

    Attributes:
        launch: host time to enqueue one kernel.
        sync: launch of a small kernel, and waiting for its end.
        copy: one small blocking copy between host and device.
        kernel: device time of a small kernel: the smallest observed round trip less the launch.
        memory_gb_s: device memory bandwidth; link_gb_s: host-device link; tflops: float32 arithmetic.
        measured: whether the first three come from a real device.
        origin: the file that they come from; empty for the public figures.
    """

    launch: float
    sync: float
    copy: float
    kernel: float = 8.0
    memory_gb_s: float = 768.0
    link_gb_s: float = 31.5
    tflops: float = 128.0
    measured: bool = False
    origin: str = ""

    @property
    def wait(self) -> float:
        """What a sync costs beyond the end of the work it waits for."""
        return max(0.0, self.sync - self.launch - self.kernel)

    def as_dict(self) -> dict[str, object]:
        """Plain data for reports."""
        return asdict(self)


def default() -> Costs:
    """The shipped public figures; device_costs.tsv and simulate_costs.tsv name their sources."""
    rows = {row["cost"]: float(row["microseconds"]) for row in tables.load("device_costs").rows}
    more = {row["cost"]: float(row["value"]) for row in tables.load("simulate_costs").rows}
    return Costs(
        rows["launch"], rows["sync"], rows["copy"], kernel=more["kernel"], memory_gb_s=more["memory_gb_s"],
        link_gb_s=more["link_gb_s"], tflops=more["tflops"],
    )


def load(path: Path) -> Costs:
    """Costs from a file; names that it lacks keep the public figures.

    Raises:
        UserError: not readable, not JSON, or a value that is no positive number.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError) as error:
        raise _bad(path, verbatim(first_line(error))) from None
    latencies = data.get("latencies", data) if isinstance(data, dict) else None
    if not isinstance(latencies, dict):
        raise _bad(path, _NO_OBJECT)
    known = {field.name for field in fields(Costs)} - {"measured", "origin"}
    given = {name: value for name, value in latencies.items() if name in known}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _LARGEST:
            raise _bad(path, filled(_NOT_TIME, {"name": name, "value": repr(value)}))
    if not given:
        raise _bad(path, filled(_NONE_OF, {"names": ", ".join(sorted(known))}))
    changed: dict[str, Any] = {name: float(value) for name, value in given.items()}
    return replace(default(), **changed, measured=True, origin=str(path))


def _bad(path: Path, problem: Text) -> UserError:
    return UserError(_BAD, _HINT, {"path": path, "problem": problem})
