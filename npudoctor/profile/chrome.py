"""Chrome traces as a stream: of torch.profiler, of torch_npu's and CANN's profilers, of the simulated NPU."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import ijson

from npudoctor.profile import cells, classify
from npudoctor.profile.model import ON_DEVICE, Builder, Kind, Trace

SIMULATED_MARK = "simulated NPU"
_STACK_KEYS = ("Call stack", "call_stack", "stack", "source", "line")
_SIZE_KEYS = ("bytes", "size(B)", "Size(B)")
_CHUNK = 1 << 20
_HEAD = b'"process_name"'
_DEEP = 4000  # brackets left open in one chunk; an event of a trace has three
_EVENT_BYTES = 4096  # more than one metadata event takes
_CUT = re.compile(r"premature EOF|[Ii]ncomplete")

Advance = Callable[[int], None]


class NotATrace(Exception):
    """Why a file is not a Chrome trace, in the parser's words."""


def read(path: Path, advance: Advance, cores: Mapping[str, str]) -> Trace:
    """Read the intervals of a `.json` or `.json.gz`.

    A file that ends in the middle is read up to there: torch_npu writes the closing bracket only when
    the analysis is complete. `Trace.cut` then says so.

    Args:
        advance: called with the number of bytes read.
        cores: which core each kernel ran on, by name, where kernel_details.csv tells.

    Raises:
        NotATrace: it is something else.
    """
    builder, processes, cut = Builder(), Processes(path), False
    try:
        with _open(path, advance) as stream:
            for event in _events(stream):
                if not isinstance(event, dict):
                    builder.skipped += 1
                elif event.get("ph") == "M":
                    processes.learn(event)
                else:
                    _add(builder, event, processes, cores)
    except (OSError, EOFError, ValueError, zlib.error, ijson.JSONError) as error:
        cut = bool(len(builder)) and (isinstance(error, EOFError) or bool(_CUT.search(str(error))))
        if not cut:
            raise NotATrace(" ".join(str(error).split())[:120] or type(error).__name__) from None
    return builder.build(str(path), processes.form(), cut=cut)


class Processes:
    """Names of the layers by process id.

    torch_npu appends the layers of CANN to a file that it began itself, so a name can stand behind
    the events that need it. The first unknown id makes one quick pass over the file for all names.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._scanned = path, False
        self._names: dict[str, str] = {}
        # Lines of files below the working directory are shown as a person names them there.
        self.here = _working_directory()

    def learn(self, event: Mapping[str, Any]) -> None:
        """Take the name out of a metadata event."""
        args = event.get("args")
        if event.get("name") == "process_name" and isinstance(args, dict):
            self._names[str(event.get("pid"))] = str(args.get("name", ""))

    def name(self, pid: str) -> str:
        """The layer's name; empty when the file does not tell."""
        if pid not in self._names and not self._scanned:
            self._scanned = True
            for event in _metadata(self._path):
                self.learn(event)
        return self._names.setdefault(pid, "")

    def form(self) -> str:
        """`simulated`, `ascend` or `torch`."""
        if any(SIMULATED_MARK in name for name in self._names.values()):
            return "simulated"
        return "ascend" if {"Ascend Hardware", "CANN"} & set(self._names.values()) else "torch"


def _working_directory() -> str:
    try:
        return os.path.join(os.getcwd(), "")
    except OSError:  # it was deleted
        return os.sep * 2  # stands in no path


def _metadata(path: Path) -> Iterator[dict[str, Any]]:
    """Every `process_name` event of a file, found by its words; ends quietly where the file does."""
    kept = b""
    try:
        with _open(path, lambda _: None) as stream:
            while chunk := stream.read(_CHUNK):
                data = kept + chunk
                last = len(data) - _EVENT_BYTES  # what begins behind this may be half read
                yield from _named(data, max(last, 0))
                kept = data[max(last - _EVENT_BYTES, 0) :]
            yield from _named(kept, len(kept))
    except (OSError, EOFError, zlib.error):
        return


def _named(data: bytes, last: int) -> Iterator[dict[str, Any]]:
    """The events around `"process_name"` whose word begins before `last`."""
    decoder, at = json.JSONDecoder(), data.find(_HEAD)
    while 0 <= at < last:
        window = data[max(at - _EVENT_BYTES, 0) : at + _EVENT_BYTES].decode("utf-8", "replace")
        start = len(data[max(at - _EVENT_BYTES, 0) : at].decode("utf-8", "replace"))
        for _ in range(3):  # the event's own brace, or that of arguments before the name
            start = window.rfind("{", 0, start)
            if start < 0:
                break
            try:
                event, _ = decoder.raw_decode(window, start)
            except ValueError:
                continue
            if isinstance(event, dict) and event.get("name") == "process_name":
                yield event
                break
        at = data.find(_HEAD, at + 1)


def _add(builder: Builder, event: dict[str, Any], processes: Processes, cores: Mapping[str, str]) -> None:
    name, category = str(event.get("name", "")), str(event.get("cat", ""))
    kind = None
    if event.get("ph") == "X":
        known = classify.match("category", category) is not None
        process = "" if known else processes.name(str(event.get("pid")))
        kind = classify.kind_of(category, process, name)
    if kind is None:
        builder.skipped += 1
        return
    try:
        start, duration = builder.since_first(event["ts"]), float(event.get("dur", 0.0))
    except (KeyError, TypeError, ValueError, OverflowError):
        builder.skipped += 1
        return
    if not (abs(start) < 1e18 and 0.0 <= duration < 1e15):  # also refuses NaN
        builder.skipped += 1
        return
    args = event.get("args")
    stack = next((str(args[k]) for k in _STACK_KEYS if args.get(k)), None) if isinstance(args, dict) else None
    if stack:
        stack = stack.replace(processes.here, "")
    if kind is Kind.PYTHON:
        name = name.replace(processes.here, "")
    aicpu = kind is Kind.DEVICE and (cells.on_aicpu(cores.get(name, "")) or classify.on_aicpu(name))
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
    return iter(ijson.items(_Shallow(stream), prefix, use_float=True, buf_size=_CHUNK))


class _Shallow:
    """Refuses what is nested deeper than any trace.

    The parser keeps the whole path of every open level: memory grows with the square of the depth.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        opened = data.count(b"[") + data.count(b"{") - data.count(b"]") - data.count(b"}")
        if opened > _DEEP:
            raise ValueError("it is nested too deeply")
        return data


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
