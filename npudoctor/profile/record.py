"""Start the recorder on a script in a child process and hand back the trace it wrote."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from npudoctor.core.children import output_of
from npudoctor.core.errors import UserError, reason
from npudoctor.core.text import Text, filled

IMPORT_S = 300.0  # torch_npu on a cold network disk takes minutes

_NO_TRACE = Text(
    "{script} ended (exit code {code}) before a trace could be recorded",
    "{script} 在记录到 trace 之前就结束了（退出码 {code}）",
)
_FAILED = Text(
    "{script} failed (exit code {code}) before a trace could be recorded; its own message is above",
    "{script} 在记录到 trace 之前就出错退出（退出码 {code}）；其自身的报错见上文",
)
_SIMULATE = Text(
    "mend it first. Where it only lacks an NPU or torch_npu, its simulated timeline can be judged: "
    "npudoctor simulate --trace trace.json {script}, then npudoctor profile trace.json",
    "请先修正。若只是缺少 NPU 或 torch_npu，可改为分析模拟的时间线："
    "npudoctor simulate --trace trace.json {script}，然后 npudoctor profile trace.json",
)
_NO_SCRIPT = Text("there is no script {script}", "没有脚本 {script}")
_SHORTER = Text(
    "run it for longer, or lower --warmup (now {warmup} s); 0 records from the start",
    "请延长其运行时间，或减小 --warmup（当前 {warmup} 秒）；0 表示从头记录",
)
_NO_TORCH = Text("{python} cannot import torch: {reason}", "{python} 无法导入 torch：{reason}")
_TOO_LONG = Text("no answer within {seconds} s", "{seconds} 秒内没有响应")
_CHECK = Text("run `npudoctor check` to find out why", "运行 `npudoctor check` 查明原因")


def record(
    target: str,
    args: Sequence[str],
    *,
    trace: Path,
    warmup_s: float,
    duration_s: float,
    module: bool = False,
    keep_running: bool = False,
    python: str = sys.executable,
) -> int:
    """Run a script (or module) under the recorder; its output passes through to standard error.

    Returns:
        The script's exit code.

    Raises:
        UserError: torch cannot be imported, or the script ended before the window.
    """
    if not module and not Path(target).is_file():
        raise UserError(_NO_SCRIPT, params={"script": target})
    _require_torch(python)
    # by its path: the interpreter of the script may have no npudoctor
    command = [python, str(Path(__file__).with_name("recorder.py")), "--trace", str(trace)]
    command += ["--warmup", str(warmup_s), "--duration", str(duration_s)]
    command += ["--module"] if module else []
    command += ["--keep-running"] if keep_running else []
    command += [target, *args]
    # The script's own output is not our result: it goes to standard error, in order.
    code = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    if not trace.exists() or not trace.stat().st_size:
        why, hint = (_FAILED, _SIMULATE) if code else (_NO_TRACE, _SHORTER)
        raise UserError(why, hint, {"script": target, "code": code, "warmup": warmup_s})
    return code


def _require_torch(python: str) -> None:
    why: object
    try:
        code, _, said = output_of([python, "-c", "import torch"], IMPORT_S)
        why = (said.strip().splitlines() or ["?"])[-1] if code else None
    except subprocess.TimeoutExpired:
        why = filled(_TOO_LONG, {"seconds": f"{IMPORT_S:.0f}"})
    except OSError as error:
        why = reason(error)
    if why is not None:
        raise UserError(_NO_TORCH, _CHECK, {"python": python, "reason": why})
