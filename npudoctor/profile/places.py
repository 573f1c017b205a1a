"""Which file of a profiler folder holds what: torch_npu's folders, and the ones that CANN's msprof writes.

torch_npu writes `*_ascend_pt/ASCEND_PROFILER_OUTPUT/`, and beside it `PROF_*/mindstudio_profiler_output/` of
CANN, whose names end in a time. Where both hold a table, torch_npu's own is read: it knows the framework.
Source: https://www.hiascend.com/document/detail/zh/canncommercial/latest/devaids/Profiling/atlasprofiling_16_1149.html
"""

from __future__ import annotations

from pathlib import Path

_NAMES = {
    "timeline": ("trace_view.json", "msprof_[0-9]*.json", "msprof_slice_*.json"),
    "database": ("ascend_pytorch_profiler*.db", "msprof_[0-9]*.db"),
    "kernels": ("kernel_details.csv", "op_summary_*.csv"),
    "steps": ("step_trace_time.csv",),
    "operators": ("op_statistic.csv", "op_statistic_*.csv"),
    "apis": ("api_statistic.csv", "api_statistic_*.csv"),
    "communication": ("communication.json",),
}


def find(folder: Path, what: str) -> Path | None:
    """The first file of this kind below `folder`; better names are tried first."""
    for name in _NAMES[what]:
        found = sorted(path for path in folder.rglob(name) if path.is_file())
        if found:
            return found[0]
    return None
