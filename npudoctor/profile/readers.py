"""Read traces that exist: Chrome JSON (plain or gzip) and torch_npu's profiler folders, as streams."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import ijson

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.profile import classify
from npudoctor.profile.model import ON_DEVICE, Builder, Kind, Trace

SIMULATED_MARK = "simulated NPU"
_STACK_KEYS = ("Call stack", "call_stack", "stack", "source", "line")
_SIZE_KEYS = ("bytes", "size(B)", "Size(B)")
_CHUNK = 1 << 20

_NO_FILE = Text("{path} does not exist", "{path} 不存在")
_NOT_A_TRACE = Text("{path} is not a Chrome trace: {reason}", "{path} 不是 Chrome trace 文件：{reason}")
_EMPTY = Text("{path} holds no timed events", "{path} 中没有带时间的事件")
_NO_PROFILE = Text(
    "{path} holds neither trace_view.json nor kernel_details.csv",
    "{path} 中既没有 trace_view.json 也没有 kernel_details.csv",
)
_HINT = Text(
    "give a .json or .json.gz of torch.profiler, a *_ascend_pt folder, or a script to record",
    "请给出 torch.profiler 的 .json 或 .json.gz、*_ascend_pt 目录，或要记录的脚本",
)

Advance = Callable[[int], None]


def read(path: Path, advance: Advance = lambda _: None) -> Trace:
    """Read a trace file or a profiler folder.

    Args:
        path: Chrome trace `.json`/`.json.gz`, or a folder with torch_npu's output.
        advance: called with the number of bytes read, for a progress bar.

    Raises:
        UserError: nothing there, not a trace, or no timed event in it.
    """
    if path.is_dir():
        return _read_folder(path, advance)
    if not path.exists():
        raise UserError(_NO_FILE, _HINT, {"path": str(path)})
    return _read_chrome(path, advance, {})


def total_bytes(path: Path) -> int:
    """Size of what `read` will go through, for the progress bar."""
    if path.is_dir():
        files = [find(path, "trace_view.json") or find(path, "kernel_details.csv")]
        return sum(f.stat().st_size for f in files if f is not None)
    return path.stat().st_size if path.exists() else 0


def _read_chrome(path: Path, advance: Advance, cores: dict[str, str]) -> Trace:
    builder = Builder()
    processes: dict[str, str] = {}
    simulated = False
    try:
        with _open(path, advance) as stream:
            for event in _events(stream):
                if not isinstance(event, dict):
                    builder.skipped += 1
                elif event.get("ph") == "M":
                    args = event.get("args")
                    name = str(args.get("name", "")) if isinstance(args, dict) else ""
                    if event.get("name") == "process_name":
                        processes[str(event.get("pid"))] = name
                        simulated = simulated or SIMULATED_MARK in name
                else:
                    _add(builder, event, processes.get(str(event.get("pid")), ""), cores)
    except (OSError, EOFError, ValueError, zlib.error, ijson.JSONError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(_NOT_A_TRACE, _HINT, {"path": str(path), "reason": reason}) from None
    if not len(builder):
        raise UserError(_EMPTY, _HINT, {"path": str(path)})
    ascend = any(name in ("Ascend Hardware", "CANN") for name in processes.values())
    return builder.build(str(path), "simulated" if simulated else "ascend" if ascend else "torch")


def _add(builder: Builder, event: dict[str, Any], process: str, cores: dict[str, str]) -> None:
    name = str(event.get("name", ""))
    kind = classify.kind_of(str(event.get("cat", "")), process, name) if event.get("ph") == "X" else None
    if kind is None:
        builder.skipped += 1
        return
    try:
        # torch_npu writes "ts" as a string to keep nanoseconds; others write a number.
        start, duration = float(event["ts"]), float(event.get("dur", 0.0))
    except (KeyError, TypeError, ValueError):
        builder.skipped += 1
        return
    if not (abs(start) < 1e18 and 0.0 <= duration < 1e15):  # also refuses NaN
        builder.skipped += 1
        return
    args = event.get("args")
    stack = next((str(args[k]) for k in _STACK_KEYS if args.get(k)), None) if isinstance(args, dict) else None
    aicpu = kind is Kind.DEVICE and (
        cores.get(name, "").upper().replace("_", "") == "AICPU" or classify.on_aicpu(name)
    )
    if kind is Kind.COPY and isinstance(args, dict):
        builder.copied_bytes += next((_number(args[k]) for k in _SIZE_KEYS if k in args), 0.0)
    builder.add(kind, name, _track(kind, event), start, duration, stack, aicpu=aicpu)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if 0.0 <= number < 1e18 else 0.0


def _track(kind: Kind, event: dict[str, Any]) -> str:
    """A stream on the device, a thread on the host: layers file one thread under several processes."""
    if kind in ON_DEVICE:
        return f"{event.get('pid')}/{event.get('tid')}"
    return f"thread {event.get('tid')}"


def _events(stream: IO[bytes]) -> Iterator[Any]:
    """Events of a top-level array, or of `traceEvents` in a top-level object."""
    head = stream.peek(256).lstrip()[:1]  # type: ignore[attr-defined]
    if head not in (b"[", b"{"):
        raise ValueError("it starts neither with [ nor with {")
    prefix = "item" if head == b"[" else "traceEvents.item"
    return iter(ijson.items(stream, prefix, use_float=True, buf_size=_CHUNK))


@contextmanager
def _open(path: Path, advance: Advance) -> Iterator[IO[bytes]]:
    with open(path, "rb") as raw:
        counted = io.BufferedReader(_Counting(raw, advance), _CHUNK)
        packed = counted.peek(2)[:2] == b"\x1f\x8b"
        yield io.BufferedReader(gzip.GzipFile(fileobj=counted), _CHUNK) if packed else counted


class _Counting(io.RawIOBase):
    """A raw stream that reports how many bytes went through."""

    def __init__(self, raw: IO[bytes], advance: Advance) -> None:
        super().__init__()
        self._raw, self._advance = raw, advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._advance(len(data))
        return len(data)


def _read_folder(path: Path, advance: Advance) -> Trace:
    """torch_npu's `*_ascend_pt` folder (or ASCEND_PROFILER_OUTPUT itself)."""
    kernels = find(path, "kernel_details.csv")
    cores = _accelerator_cores(kernels) if kernels else {}
    view = find(path, "trace_view.json")
    if view is not None:
        return _read_chrome(view, advance, cores)
    if kernels is None:
        raise UserError(_NO_PROFILE, _HINT, {"path": str(path)})
    return _read_kernels(kernels)


def find(folder: Path, name: str) -> Path | None:
    """The first file of this name below a folder."""
    found = sorted(folder.rglob(name))
    return found[0] if found else None


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a CSV file, names and cells stripped."""
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
        for row in csv.DictReader(stream):
            yield {str(k).strip(): (v or "").strip() for k, v in row.items() if k and isinstance(v, str)}


def _accelerator_cores(path: Path) -> dict[str, str]:
    return {row.get("Name", ""): row.get("Accelerator Core", "") for row in csv_rows(path)}


def _read_kernels(path: Path) -> Trace:
    """kernel_details.csv alone: the device timeline without the host (columns as torch_npu writes them)."""
    builder = Builder()
    for row in csv_rows(path):
        try:
            start, duration = float(row["Start Time(us)"]), float(row["Duration(us)"])
        except (KeyError, ValueError):
            builder.skipped += 1
            continue
        name = row.get("Type") or row.get("Name", "?")
        kind = classify.kind_of("", "Ascend Hardware", row.get("Name", name)) or Kind.DEVICE
        aicpu = row.get("Accelerator Core", "").upper().replace("_", "") == "AICPU"
        builder.add(kind, name, f"device {row.get('Device_id', '0')}", start, duration, aicpu=aicpu)
    if not len(builder):
        raise UserError(_EMPTY, _HINT, {"path": str(path)})
    return builder.build(str(path), "ascend")
