"""Read traces that exist: Chrome JSON (plain or gzip), databases and folders of torch_npu and CANN."""

from __future__ import annotations

from pathlib import Path

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.profile import cells, chrome, classify, database
from npudoctor.profile.chrome import SIMULATED_MARK, Advance
from npudoctor.profile.model import Builder, Kind, Trace
from npudoctor.profile.places import find

__all__ = ["SIMULATED_MARK", "Advance", "read", "total_bytes"]

_NO_FILE = Text("{path} does not exist", "{path} 不存在")
_NOT_A_TRACE = Text("{path} is not a Chrome trace: {reason}", "{path} 不是 Chrome trace 文件：{reason}")
_NOT_A_DATABASE = Text("{path} is not a profiler database: {reason}", "{path} 不是 profiler 数据库：{reason}")
_EMPTY = Text("{path} holds no timed events", "{path} 中没有带时间的事件")
_NO_PROFILE = Text(
    "{path} holds neither trace_view.json, ascend_pytorch_profiler_*.db nor kernel_details.csv, nor CANN's "
    "msprof_*.json, msprof_*.db and op_summary_*.csv",
    "{path} 中既没有 trace_view.json、ascend_pytorch_profiler_*.db 与 kernel_details.csv，"
    "也没有 CANN 的 msprof_*.json、msprof_*.db 与 op_summary_*.csv",
)
_HINT = Text(
    "give a .json or .json.gz of torch.profiler, a .db or a *_ascend_pt folder of torch_npu, or a script "
    "to record",
    "请给出 torch.profiler 的 .json 或 .json.gz、torch_npu 的 .db 或 *_ascend_pt 目录，或要记录的脚本",
)
_NOTHING = "N/A"  # what the profiler writes where its level does not tell


def read(path: Path, advance: Advance = lambda _: None) -> Trace:
    """Read a trace file or a profiler folder.

    Args:
        path: Chrome trace `.json`/`.json.gz`, or a database or folder of torch_npu or CANN.
        advance: called with the number of bytes read, for a progress bar.

    Raises:
        UserError: nothing there, not a trace, or no timed event in it.
    """
    if path.is_dir():
        return _read_folder(path, advance)
    if not path.exists():
        raise UserError(_NO_FILE, _HINT, {"path": str(path)})
    return _read_file(path, advance, {})


def total_bytes(path: Path) -> int:
    """Size of what `read` will go through, for the progress bar."""
    if path.is_dir():
        file = _main_file(path)
        return file.stat().st_size if file is not None else 0
    return path.stat().st_size if path.exists() else 0


def _read_file(path: Path, advance: Advance, cores: dict[str, str]) -> Trace:
    stored = database.is_database(path)
    try:
        trace = database.read(path, advance) if stored else chrome.read(path, advance, cores)
    except chrome.NotATrace as error:
        sentence = _NOT_A_DATABASE if stored else _NOT_A_TRACE
        raise UserError(sentence, _HINT, {"path": str(path), "reason": str(error)}) from None
    if not len(trace.columns):
        raise UserError(_EMPTY, _HINT, {"path": str(path)})
    return trace


def _read_folder(path: Path, advance: Advance) -> Trace:
    """torch_npu's `*_ascend_pt` folder (or ASCEND_PROFILER_OUTPUT itself), or CANN's `PROF_*`."""
    file = _main_file(path)
    if file is None:
        raise UserError(_NO_PROFILE, _HINT, {"path": str(path)})
    if file.suffix == ".csv":
        return _read_kernels(file)
    kernels = find(path, "kernels") if file.suffix == ".json" else None  # a database holds the cores itself
    return _read_file(file, advance, _cores(kernels) if kernels else {})


def _main_file(folder: Path) -> Path | None:
    """The file of a profiler folder that tells most."""
    return find(folder, "timeline") or find(folder, "database") or find(folder, "kernels")


def _cores(path: Path) -> dict[str, str]:
    return {row.text(cells.NAME): row.text(cells.CORE) for row in cells.rows(path)}


def _read_kernels(path: Path) -> Trace:
    """kernel_details.csv or op_summary_*.csv alone: the device timeline without the host."""
    builder = Builder()
    for row in cells.rows(path):
        duration = row.number(*cells.DURATION)
        try:
            start = builder.since_first(row.time(cells.START))
        except (TypeError, ValueError, OverflowError):
            duration = None
        if duration is None or duration < 0.0:
            builder.skipped += 1
            continue
        name, core = row.text(cells.NAME, "?"), row.text(cells.CORE, _NOTHING)
        kind = classify.kind_of("", "Ascend Hardware", name) or Kind.DEVICE
        builder.add(
            kind,
            next((text for text in (row.text(cells.TYPE, _NOTHING), name) if text != _NOTHING), "?"),
            f"device {row.text(('deviceid',), '0')}",
            start,
            duration,
            # Below level 1 the profiler does not tell the core; the name may.
            aicpu=classify.on_aicpu(name) if core == _NOTHING else cells.on_aicpu(core),
        )
    if not len(builder):
        raise UserError(_EMPTY, _HINT, {"path": str(path)})
    return builder.build(str(path), "ascend")
