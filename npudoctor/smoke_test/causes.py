"""Why a child did not deliver: from how it ended, from what it raised, and from its log."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text, verbatim
from npudoctor.smoke_test.child import ChildRun
from npudoctor.smoke_test.stage import Context, Outcome, failed

_NOT_STARTED = Text("the interpreter {python} cannot be started", "无法启动解释器 {python}")
_NOT_STARTED_CAUSE = Text("the operating system refused: {detail}", "操作系统拒绝：{detail}")
_NOT_STARTED_FIX = Text("name an interpreter that exists and may be executed", "请指定存在且可执行的解释器")
_HUNG = Text(
    "no answer within {seconds:.0f} s; the child was ended", "{seconds:.0f} 秒内没有响应，子进程已被终止"
)
_HUNG_CAUSE = Text(
    "the program was still running when its time was over. Last place seen: {detail}. A first start on an "
    "NPU "
    "compiles operators and can be slow; a device held by a dead process never answers",
    "时间用尽时程序仍在运行，最后位置：{detail}。NPU 首次启动需要编译算子，可能较慢；"
    "若设备被残留进程占用则永远不会响应",
)
_HUNG_FIX = Text(
    "look for processes that hold the device; if there are none, give the stages more time",
    "查看是否有进程占用设备；若没有，请放宽各阶段的时限",
)
_SIGNAL = Text("the child was ended by signal {signal}", "子进程被信号 {signal} 终止")
_SIGNAL_CAUSES = {
    "SIGKILL": Text(
        "something outside ended it; most often the kernel's out-of-memory killer or a container's memory "
        "limit",
        "被外部终止，最常见的是内核 OOM 或容器内存上限",
    ),
    "SIGSEGV": Text(
        "native code crashed: a library that does not fit the others (torch, torch_npu, CANN, driver), or "
        "a fault in one",
        "本地代码崩溃：某个库与其余组件（torch、torch_npu、CANN、驱动）不匹配，或其自身有缺陷",
    ),
    "SIGILL": Text(
        "the processor does not know an instruction: the wheel or library was built for another processor",
        "处理器不支持某条指令：wheel 或库是为另一种处理器构建的",
    ),
    "SIGBUS": Text(
        "shared memory ran out, most often /dev/shm in a container", "共享内存耗尽，常见于容器的 /dev/shm"
    ),
    "SIGABRT": Text(
        "a library ended the process itself after an internal error; its last lines say why",
        "某个库在内部错误后主动终止了进程，原因见其最后几行输出",
    ),
}
_SIGNAL_OTHER = Text("something ended it from outside", "被外部终止")
_SIGNAL_FIX = Text("read the log; check the pairing of versions first", "查看日志；请先检查版本配套")
_NO_MODULE = Text("{python} has no package {module}", "{python} 中没有软件包 {module}")
_NO_MODULE_CAUSE = Text(
    "this interpreter's environment lacks {module}, which this stage needs",
    "该解释器的环境缺少此阶段所需的 {module}",
)
_NO_MODULE_FIX = Text(
    "install it into that interpreter, or name another one with --python",
    "将其安装到该解释器，或用 --python 指定其他解释器",
)
_NO_LIBRARY = Text("{library} does not load", "{library} 无法加载")
_NO_LIBRARY_CAUSE = Text(
    "a shared library that this interpreter's packages need is not on the loader's path",
    "该解释器的软件包所需的共享库不在加载路径上",
)
_NO_LIBRARY_FIX = Text("install or source what provides {library}", "安装或 source 提供 {library} 的组件")
_NO_CANN_CAUSE = Text(
    "importing torch loads torch_npu, and that loads the CANN libraries. {library} is not on the loader's "
    "path: "
    "CANN is not installed, or its set_env.sh was not sourced in this shell. torch itself is not broken",
    "导入 torch 会自动加载 torch_npu，后者再加载 CANN 库。{library} 不在加载路径上：CANN 未安装，"
    "或当前 shell 没有 source 其 set_env.sh。torch 本身并没有损坏",
)
_NO_CANN_FIX = Text(
    "source CANN's environment, then try again; --device cpu leaves torch_npu out",
    "加载 CANN 环境变量后重试；--device cpu 可绕过 torch_npu",
)
_RAISED_TITLE = Text("the stage ended with an error: {error}", "阶段因错误终止：{error}")
_RAISED_CAUSE = Text("raised at {detail}", "抛出位置：{detail}")
_MUTE = Text(
    "the child ended with status {status} and reported no result", "子进程以状态 {status} 结束，未报告结果"
)
_MUTE_CAUSE = Text("its last line was: {detail}", "其最后一行输出：{detail}")

_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_SOURCE = "https://github.com/Ascend/pytorch"


@dataclass(frozen=True)
class _Kind:
    """One way for a child to fail, in words."""

    slug: str
    title: Text
    cause: Text
    fixes: tuple[Fix, ...] = ()


def no_result(code: str, run: ChildRun, context: Context) -> Outcome:
    """The FAIL of a stage whose child `run` did not report what it should have."""
    params: dict[str, object] = {
        "python": context.plan.python,
        "seconds": run.seconds,
        "detail": _detail(run),
        "status": run.code,
        "signal": _signal_name(run.code),
        "error": _error(run),
    }
    kind = _kind(run, params)
    finding = Finding(
        code=code,
        slug=kind.slug,
        severity=Severity.ERROR,
        title=kind.title,
        cause=kind.cause,
        params=params,
        evidence=_evidence(run),
        fixes=kind.fixes,
        sources=(_SOURCE,) if kind.slug == "library-missing" else (),
    )
    summary = Phrase(verbatim(_error(run))) if kind.slug == "raised" else Phrase(kind.title, params)
    event = run.first("failed")
    trace = tuple(str(event["trace"]).splitlines()) if event and event.get("trace") else ()
    outcome = failed(summary, finding, run)
    return Outcome(outcome.status, outcome.summary, findings=outcome.findings, log=(*run.log, *trace))


def from_log(log: Sequence[str], name: str) -> Finding | None:
    """The known symptom that best explains `log`, or None.

    Args:
        name: where the log is kept, for the places in the finding.
    """
    from npudoctor.symptoms import present
    from npudoctor.symptoms.match import scanned
    from npudoctor.symptoms.rank import causes

    scanner = scanned("\n".join(log) + "\n")
    found = present.report(name, scanner, causes(scanner)).findings
    return next((f for f in found if f.severity is Severity.ERROR), None)


def _kind(run: ChildRun, params: dict[str, object]) -> _Kind:
    event = run.first("failed") or {}
    text = " ".join([str(params["error"]), str(event.get("trace", "")), *run.log])
    if run.code is None:
        return _Kind("interpreter-not-started", _NOT_STARTED, _NOT_STARTED_CAUSE, (Fix(_NOT_STARTED_FIX),))
    if run.timed_out:
        fix = Fix(_HUNG_FIX, ("npu-smi info", "npudoctor smoke-test --slower 4"))
        return _Kind("timed-out", _HUNG, _HUNG_CAUSE, (fix,))
    if run.code < 0:
        cause = _SIGNAL_CAUSES.get(str(params["signal"]), _SIGNAL_OTHER)
        return _Kind("ended-by-signal", _SIGNAL, cause, (Fix(_SIGNAL_FIX, ("npudoctor check",)),))
    library = _LIBRARY.search(text)
    if library is not None:
        params["library"] = library.group(1)
        if "torch_npu" in text:
            fix = Fix(_NO_CANN_FIX, ("source /usr/local/Ascend/ascend-toolkit/set_env.sh", "npudoctor check"))
            return _Kind("library-missing", _NO_LIBRARY, _NO_CANN_CAUSE, (fix,))
        fix = Fix(_NO_LIBRARY_FIX, ("npudoctor check",))
        return _Kind("library-missing", _NO_LIBRARY, _NO_LIBRARY_CAUSE, (fix,))
    module = _MODULE.search(str(params["error"]))
    if module is not None:
        params["module"] = module.group(1).split(".")[0]
        fix = Fix(_NO_MODULE_FIX, (f"{params['python']} -m pip install {params['module']}",))
        return _Kind("module-missing", _NO_MODULE, _NO_MODULE_CAUSE, (fix,))
    if params["error"]:
        return _Kind("raised", _RAISED_TITLE, _RAISED_CAUSE)
    return _Kind("no-result", _MUTE, _MUTE_CAUSE)


def _error(run: ChildRun) -> str:
    """The exception a child reported, or the last line of a traceback in its log."""
    event = run.first("failed")
    if event is not None:
        return str(event["error"]).strip().splitlines()[0][:300]
    last = next((i for i in range(len(run.log) - 1, -1, -1) if run.log[i].startswith("Traceback")), None)
    if last is None:
        return ""
    lines = [line for line in run.log[last + 1 :] if line and not line.startswith((" ", "["))]
    return lines[0][:300] if lines else ""


def _detail(run: ChildRun) -> str:
    event = run.first("failed")
    lines = str(event["trace"]).splitlines() if event is not None and event.get("trace") else list(run.log)
    places = [line.strip() for line in lines if line.strip().startswith("File ")]
    if places:
        # faulthandler prints the innermost frame first, a traceback prints it last.
        return places[0] if run.timed_out or (run.code or 0) < 0 else places[-1]
    return lines[-1].strip()[:300] if lines else "-"


def _evidence(run: ChildRun) -> tuple[Evidence, ...]:
    command = " ".join(run.command[:1] + run.command[-3:])
    return tuple(Evidence(command, line.strip()[:300]) for line in run.log[-3:])


def _signal_name(code: int | None) -> str:
    if code is None or code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return str(-code)
