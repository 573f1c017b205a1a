"""Stage 5: the same tiny run on the device; same seed, so its losses must be the CPU's."""

from __future__ import annotations

import math
from typing import Any

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Stage, failed, passed
from npudoctor.smoke_test.training import TINY, fail_on, finished, first_ratio, gate, train

_CODE = "NPU305"
_TIMEOUT_S = 300.0
# Porters of RL code accept a mean loss difference under 2% between two kinds of device.
RTOL, ATOL = 0.02, 1e-3
_SOURCE = "https://github.com/OpenRLHF/OpenRLHF/pull/605"

_PASSED = Text(
    "losses of {updates} updates equal the CPU's: largest difference {worst:.1e} of {limit:.0%} allowed",
    "{updates} 次更新的损失与 CPU 一致：最大相差 {worst:.1e}，允许 {limit:.0%}",
)
_DIFFERENT_TITLE = Text(
    "update {update}: {name} is {found:.4g} on the device and {expected:.4g} on the CPU",
    "第 {update} 次更新：{name} 在设备上为 {found:.4g}，在 CPU 上为 {expected:.4g}",
)
_DIFFERENT_CAUSE = Text(
    "weights, noise and the order of minibatches are drawn on the host from one seed, so both runs start "
    "from the same "
    "numbers and may differ by rounding only; more than {limit:.0%} is a wrong operator or a "
    "reduced-precision mode",
    "权重、噪声与小批量次序都在主机上由同一种子生成，两次运行起点相同，只应有舍入差异；超过 {limit:.0%} 说"
    "明某个算子有误或启用了低精度模式",
)
_DIFFERENT_FIX = Text(
    "run with reduced precision off (torch.npu.matmul.allow_hf32 = False), and compare again",
    "关闭低精度（torch.npu.matmul.allow_hf32 = False）后再比较",
)


def run(context: Context) -> Outcome:
    """Train on the device and compare every loss term of every update."""
    child = train(context, context.kind, TINY, timeout_s=_TIMEOUT_S)
    runs = finished(child)
    if not runs:
        return causes.no_result(_CODE, child, context)
    only = runs[0]
    worst = compare(context.notes["cpu_losses"], only.losses())
    facts = {
        "updates": len(only.updates),
        "worst": worst["excess"] * RTOL,
        "limit": RTOL,
        "ratio": first_ratio(only),
        "losses": only.losses(),
        "device": only.start["device"],
    }
    findings = tuple(gate(_CODE, only, context.kind))
    outcome = fail_on(findings, child, facts)
    if outcome is not None:
        return outcome
    if not worst["excess"] <= 1:
        params = {**worst, "limit": RTOL}
        evidence = tuple(
            Evidence(f"{n}, update {worst['update']}", f"{v:.6g}")
            for n, v in only.losses()[worst["update"] - 1].items()
        )
        finding = Finding(
            _CODE,
            "losses-differ",
            Severity.ERROR,
            _DIFFERENT_TITLE,
            _DIFFERENT_CAUSE,
            params=params,
            evidence=evidence,
            fixes=(Fix(_DIFFERENT_FIX),),
            sources=(_SOURCE,),
        )
        return failed(Phrase(_DIFFERENT_TITLE, params), finding, child, facts=facts)
    return passed(_PASSED, facts, findings=findings, facts=facts)


def compare(expected: list[dict[str, float]], found: list[dict[str, float]]) -> dict[str, Any]:
    """The loss term that is furthest outside `ATOL + RTOL * |expected|`; `excess` 1 is the limit."""
    worst: dict[str, Any] = {"update": 1, "name": "-", "expected": 0.0, "found": 0.0, "excess": 0.0}
    if len(expected) != len(found):
        return {
            **worst,
            "name": "updates",
            "expected": len(expected),
            "found": len(found),
            "excess": math.inf,
        }
    for update, (there, here) in enumerate(zip(expected, found), start=1):
        for name, value in there.items():
            excess = abs(here[name] - value) / (ATOL + RTOL * abs(value))
            excess = math.inf if math.isnan(excess) else excess
            if excess > worst["excess"]:
                worst = {
                    "update": update,
                    "name": name,
                    "expected": value,
                    "found": here[name],
                    "excess": excess,
                }
    return worst


STAGE = Stage(
    code=_CODE,
    slug="algorithm-device",
    title=Text("algorithm on the device", "设备上的算法"),
    run=run,
)
