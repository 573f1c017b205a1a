"""Stage 1: does the interpreter under test import torch, and which device is there to use?"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

from npudoctor.core.blocks import Cell, Phrase
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.child import ChildRun
from npudoctor.smoke_test.environment import check_errors, under_cause
from npudoctor.smoke_test.stage import Context, Device, Outcome, Stage, Status, failed, passed

_CODE = "NPU301"
_TIMEOUT_S = 90.0

_PASSED = Text(
    "Python {python}, torch {torch}, torch_npu {torch_npu}",
    "解释器 Python {python}，torch {torch}，torch_npu {torch_npu}",
)
_NO_NPU_TITLE = Text("--device npu: torch sees no NPU", "--device npu：torch 看不到 NPU")
_NO_NPU_CAUSE = Text(
    "an NPU was asked for. torch_npu here: {torch_npu}; device files: {davinci}; torch.npu.is_available(): "
    "{available}",
    "要求使用 NPU。torch_npu：{torch_npu}；设备文件：{davinci}；torch.npu.is_available()：{available}",
)
_NO_NPU_FIX = Text(
    "find out why with check; to validate the code path without hardware use --device sim or --device cpu",
    "用 check 查明原因；若只想在没有硬件时验证代码路径，请用 --device sim 或 --device cpu",
)
_SIMULATED_TITLE = Text(
    "--device npu: the NPU of this interpreter is simulated", "--device npu：该解释器中的 NPU 是模拟的"
)
_SIMULATED_CAUSE = Text(
    "torch.npu.is_simulated is true; a run on it must not pass for one on hardware",
    "torch.npu.is_simulated 为真；在其上的运行不能当作在硬件上的运行",
)
_UNUSED_TITLE = Text(
    "an Ascend device is here ({davinci}) and torch cannot use it",
    "此处有昇腾设备（{davinci}），但 torch 无法使用",
)
_DOUBTS_TITLE = Text("check reports {count} faults here: {codes}", "check 在此发现 {count} 个问题：{codes}")
_DOUBTS_CAUSE = Text(
    "torch opens the NPU all the same; a fault that check sees may still show in a later stage or under load",
    "torch 仍能打开 NPU；但 check 发现的问题可能在后续阶段或高负载时显现",
)
_DOUBTS_FIX = Text("read them", "查看详情")
_NO_SIM_TITLE = Text(
    "--device sim: this installation has no simulated NPU", "--device sim：当前安装不含模拟 NPU"
)
_NO_SIM_CAUSE = Text("the package npudoctor.simulate is not there", "缺少软件包 npudoctor.simulate")
_SIM_WORDS = Text("simulated NPU", "模拟 NPU")


def run(context: Context) -> Outcome:
    """Probe the interpreter and settle `context.device`; where an NPU is wanted, `check` names the cause."""
    outcome = _probe(context)
    wanted = context.plan.device == "npu" or outcome.facts.get("davinci", "-") != "-"
    if not wanted:
        return outcome
    roots = check_errors(context.plan.python)
    if outcome.status is Status.FAIL:
        return replace(outcome, findings=under_cause(outcome.findings, roots))
    if roots and context.device is not None and context.device.kind == "npu":
        # It works all the same: the stages will tell. But the reader should know.
        params = {"count": len(roots), "codes": ", ".join(f.code for f in roots)}
        fix = Fix(_DOUBTS_FIX, ("npudoctor check",))
        note = Finding(
            _CODE, "check-doubts", Severity.WARNING, _DOUBTS_TITLE, _DOUBTS_CAUSE, params=params, fixes=(fix,)
        )
        return replace(outcome, findings=(*outcome.findings, note))
    return outcome


def _probe(context: Context) -> Outcome:
    child = context.run("probe", context.plan.device, timeout_s=_TIMEOUT_S)
    python = child.first("python")
    if python is None or child.first("torch") is None or child.first("npu") is None:
        outcome = causes.no_result(_CODE, child, context)
        seen = {"davinci": ", ".join(python["davinci"]) or "-"} if python is not None else {}
        return replace(outcome, facts=seen)
    facts = _facts(child)
    kind = context.plan.device
    if kind == "auto":
        real = facts["available"] and not facts["simulated"]
        kind = "npu" if real else ("sim" if has_simulator() else "cpu")
    problem = _problem(kind, context.plan.device, facts)
    if problem is not None:
        return failed(Phrase(problem.title, problem.params), problem, child, facts=facts)
    context.device = Device(kind, _label(kind, facts), "auto" if context.plan.device == "auto" else "user")
    context.notes["has_torch_npu"] = facts["torch_npu"] != "-"
    context.notes["strict_fallback"] = facts["strict_fallback"]
    evidence = (
        Evidence("sys.executable", str(python["executable"])),
        Evidence("torch.__file__", str(facts["torch_file"])),
    )
    return passed(_PASSED, facts, evidence=evidence, facts=facts)


def has_simulator() -> bool:
    """Whether the simulated NPU is part of this installation."""
    return importlib.util.find_spec("npudoctor.simulate") is not None


def _facts(child: ChildRun) -> dict[str, Any]:
    python, torch, npu = (child.first(name) or {} for name in ("python", "torch", "npu"))
    return {
        "python": python["version"],
        "torch": torch["version"],
        "torch_file": torch["file"],
        "torch_npu": python["packages"].get("torch_npu") or "-",
        "packages": python["packages"],
        "davinci": ", ".join(python["davinci"]) or "-",
        "available": npu["available"],
        "count": npu["count"],
        "name": npu["name"],
        "strict_fallback": npu["strict_fallback"],
        "simulated": npu["simulated"],
    }


def _problem(kind: str, asked: str, facts: dict[str, Any]) -> Finding | None:
    """Why the device that was asked for cannot be used, or None."""
    params = {**facts}
    if kind == "npu" and not facts["available"]:
        return Finding(
            _CODE,
            "no-npu",
            Severity.ERROR,
            _NO_NPU_TITLE,
            _NO_NPU_CAUSE,
            params=params,
            fixes=(Fix(_NO_NPU_FIX, ("npudoctor check",)),),
        )
    if kind == "npu" and facts["simulated"]:
        return Finding(
            _CODE,
            "npu-simulated",
            Severity.ERROR,
            _SIMULATED_TITLE,
            _SIMULATED_CAUSE,
            params=params,
            fixes=(Fix(_NO_NPU_FIX, ("npudoctor check",)),),
        )
    if asked == "auto" and kind != "npu" and facts["davinci"] != "-":
        # A green run on the CPU of a machine with an NPU would be taken for proof of the NPU.
        return Finding(
            _CODE,
            "npu-unused",
            Severity.ERROR,
            _UNUSED_TITLE,
            _NO_NPU_CAUSE,
            params=params,
            fixes=(Fix(_NO_NPU_FIX, ("npudoctor check",)),),
        )
    if kind == "sim" and not has_simulator():
        return Finding(_CODE, "no-simulator", Severity.ERROR, _NO_SIM_TITLE, _NO_SIM_CAUSE, params=params)
    return None


def _label(kind: str, facts: dict[str, Any]) -> Cell:
    if kind == "sim":
        return _SIM_WORDS
    return f"NPU ({facts['name'] or 'npu:0'})" if kind == "npu" else "CPU"


STAGE = Stage(
    code=_CODE, slug="environment", title=Text("environment", "环境"), run=run, next_command="npudoctor check"
)
