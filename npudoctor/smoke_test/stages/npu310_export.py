"""Stage 10, with --export: does the trained policy leave torch and still give the same answers?"""

from __future__ import annotations

import math

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes, child
from npudoctor.smoke_test.stage import Context, Outcome, Stage, failed, passed

_CODE = "NPU310"
_TIMEOUT_S = 180.0

_PASSED = Text(
    "ONNX (operator set {opset}, {bytes} bytes) equals torch within {worst:.0e}, closed loop included",
    "ONNX（算子集 {opset}，{bytes} 字节）与 torch 相差不超过 {worst:.0e}，含闭环",
)
_NOT_ASKED_REASON = Text("only with --export", "仅在指定 --export 时运行")
_DIFFERS_TITLE = Text(
    "the exported policy is {worst:.1e} off torch ({kind})", "导出的策略与 torch 相差 {worst:.1e}（{kind}）"
)
_DIFFERS_CAUSE = Text(
    "rounding explains 1e-6; {limit:.0e} is allowed. The exporter of this torch does not fit this "
    "onnxruntime, or one of "
    "them is faulty",
    "舍入误差约为 1e-6，允许 {limit:.0e}。该 torch 的导出器与 onnxruntime 不匹配，或其中之一有缺陷",
)
_DIFFERS_FIX = Text("export by hand to see more", "手动导出以查看详情")


def wanted(context: Context) -> Phrase | None:
    """Only when asked for."""
    return None if context.plan.export else Phrase(_NOT_ASKED_REASON)


def run(context: Context) -> Outcome:
    """Export the checkpoint of stage 8 in a fresh child, on the CPU.

    A process that simulates an NPU or has opened one is not asked to trace a graph.
    """
    checkpoint, out = context.folder / "checkpoint.pt", context.folder / "policy.onnx"
    exporter = "legacy" if context.plan.quick else "auto"
    words = context.command("export", str(checkpoint), str(out), exporter)
    env = context.environ({"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    made = child.run(words, _TIMEOUT_S * context.plan.slower, env, context.on_event)
    event = made.first("exported")
    if event is None or not made.ended_well:
        return causes.no_result(_CODE, made, context)
    errors = dict(event["errors"])
    if event["loop"] is not None:
        errors["closed loop"] = event["loop"]["difference"]
    # NaN compares as nothing: it has to count as the worst.
    kind = max(errors, key=lambda name: math.inf if math.isnan(errors[name]) else errors[name])
    params = {**event, "kind": kind, "worst": float(errors[kind])}
    if not params["worst"] <= params["limit"]:
        finding = Finding(
            _CODE,
            "onnx-differs",
            Severity.ERROR,
            _DIFFERS_TITLE,
            _DIFFERS_CAUSE,
            params=params,
            evidence=tuple(Evidence(name, f"{value:.2e}") for name, value in errors.items()),
            fixes=(Fix(_DIFFERS_FIX, (f"npudoctor export {checkpoint}",)),),
        )
        return failed(Phrase(_DIFFERS_TITLE, params), finding, made, facts=params)
    return passed(_PASSED, params, facts=params)


STAGE = Stage(code=_CODE, slug="export", title=Text("export", "导出"), run=run, wanted=wanted)
