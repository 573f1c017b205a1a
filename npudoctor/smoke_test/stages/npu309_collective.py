"""Stage 9, with --nproc: do several processes reduce to the right sum and the right gradients?"""

from __future__ import annotations

from typing import Any

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes, child
from npudoctor.smoke_test.stage import Context, Outcome, Stage, failed, passed

_CODE = "NPU309"
_TIMEOUT_S = 180.0
# Sums over ranks are ordered differently from one process's; float32 rounding only.
RTOL = 1e-5

_PASSED = Text(
    "{size} processes over {backend}: sum {sum:g}, gradients equal one process's within {difference:.0e}; "
    "one "
    "all-reduce {repeat_ms:.2f} ms",
    "{size} 个进程经 {backend}：求和为 {sum:g}，梯度与单进程相差不超过 {difference:.0e}；一次 all-reduce "
    "{repeat_ms:.2f} 毫秒",
)
_NOT_ASKED_REASON = Text("only with --nproc N", "仅在指定 --nproc N 时运行")
_NO_HCCL_REASON = Text(
    "hccl is gloo on the simulated NPU: run this stage with --device cpu or on an NPU",
    "模拟 NPU 上的 hccl 就是 gloo：请用 --device cpu 或在 NPU 上运行此阶段",
)
_WRONG_SUM_TITLE = Text(
    "rank {rank}: all_reduce gave {sum}, {expected:g} is right",
    "rank {rank}：all_reduce 得到 {sum}，应为 {expected:g}",
)
_WRONG_GRADIENT_TITLE = Text(
    "rank {rank}: averaged gradients are {difference:.1e} off one process's (spread between ranks "
    "{spread:.1e})",
    "rank {rank}：平均梯度与单进程相差 {difference:.1e}（各 rank 之间相差 {spread:.1e}）",
)
_WRONG_CAUSE = Text(
    "the processes exchange other numbers than they hold: wrong device per rank, a faulty link, or a "
    "collective "
    "library that does not fit the rest",
    "进程间交换的数值与其持有的不符：每个 rank 的设备设置有误、链路故障，或集合通信库与其余组件不匹配",
)
_MISSING_TITLE = Text(
    "{found} of {wanted} local ranks reported", "本机 {wanted} 个 rank 中只有 {found} 个返回结果"
)


def wanted(context: Context) -> Phrase | None:
    """Only when asked for; there is nothing to test in a simulation."""
    if context.plan.nproc < 1:
        return Phrase(_NOT_ASKED_REASON)
    return Phrase(_NO_HCCL_REASON) if context.kind == "sim" else None


def run(context: Context) -> Outcome:
    """Start torchrun and judge what each local rank says."""
    limit = _TIMEOUT_S * context.plan.slower
    run = child.run(command(context), limit, context.environ(), context.on_event)
    ranks = sorted(run.all("rank"), key=lambda e: e["rank"])
    if not run.ended_well or not ranks:
        return causes.no_result(_CODE, run, context)
    facts: dict[str, Any] = {**ranks[0], "sum": ranks[0]["sum"][0], "ranks": len(ranks)}
    if len(ranks) < context.plan.nproc:
        params: dict[str, Any] = {"found": len(ranks), "wanted": context.plan.nproc}
        finding = Finding(_CODE, "ranks-missing", Severity.ERROR, _MISSING_TITLE, _WRONG_CAUSE, params=params)
        return failed(Phrase(_MISSING_TITLE, params), finding, run, facts=facts)
    for event in ranks:
        title = _problem(event)
        if title is not None:
            evidence = (Evidence(f"rank {event['rank']} on {event['device']}", str(event["sum"])),)
            finding = Finding(
                _CODE,
                "collective-wrong",
                Severity.ERROR,
                title,
                _WRONG_CAUSE,
                params=event,
                evidence=evidence,
            )
            return failed(Phrase(title, event), finding, run, facts=facts)
    return passed(_PASSED, facts, facts=facts)


def command(context: Context) -> list[str]:
    """torchrun with the options of the command line, as they are."""
    plan = context.plan
    torchrun = [plan.python, "-m", "torch.distributed.run", "--nproc-per-node", str(plan.nproc)]
    if plan.nnodes == 1 and not plan.rdzv_endpoint:
        torchrun.append("--standalone")
    else:
        torchrun += ["--nnodes", str(plan.nnodes), "--node-rank", str(plan.node_rank)]
        torchrun += ["--rdzv-endpoint", plan.rdzv_endpoint] if plan.rdzv_endpoint else []
    args = (context.kind, str(_TIMEOUT_S * plan.slower / 3), str(plan.seed))
    return [*torchrun, *context.command("collective", *args)[1:]]


def _problem(event: Any) -> Text | None:
    if any(abs(value - event["expected"]) > 1e-6 for value in event["sum"]):
        return _WRONG_SUM_TITLE
    good = event["difference"] <= RTOL and event["spread"] == 0.0
    return None if good else _WRONG_GRADIENT_TITLE


STAGE = Stage(
    code=_CODE,
    slug="collective",
    title=Text("collectives", "集合通信"),
    run=run,
    wanted=wanted,
)
