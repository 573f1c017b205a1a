"""Lines that make tensors on the host and copy them to the device over and over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Evidence, Finding, Fix, Rule, Severity, Text

MANY = 32
_TITLE = Text(
    "{lines} lines copy a host tensor to the device again and again, {times} times in all",
    "有 {lines} 行反复将主机张量拷贝到设备，共 {times} 次",
)
_CAUSE = Text(
    "on an NPU each blocking copy to the device waits for everything queued before it",
    "在 NPU 上，每次阻塞式上行拷贝都会等待此前排队的全部任务",
)
_FIX = Text(
    "keep the rollout in host memory and move one packed batch; or pin the source and pass non_blocking=True",
    "将采样数据保存在主机内存，打包后一次性搬运；或对源张量锁页并传入 non_blocking=True",
)


def run(summary: dict[str, Any], outcome: Any) -> Iterator[Finding]:
    """One note with the five worst lines as evidence."""
    lines = sorted((e for e in summary["lines"] if e["h2d"] >= MANY), key=lambda e: -e["h2d"])
    if not lines:
        return
    evidence = tuple(
        Evidence(f"{e['path']}:{e['line']}", f"{e['h2d']} x {e['h2d_bytes'] // e['h2d']} bytes: {e['text']}")
        for e in lines[:5]
    )
    yield Finding(
        "NPU408", "repeated-small-uploads", Severity.NOTE, _TITLE, _CAUSE, evidence=evidence,
        params={"times": sum(e["h2d"] for e in lines), "lines": len(lines)}, fixes=(Fix(_FIX),),
        sources=("https://github.com/Ascend/pytorch",),
    )


RULE = Rule("NPU408", "repeated-small-uploads", "run", run)
