"""An operator or type that ran here and that the chip refuses, or runs on its CPU.

Rows of data/device_limits.tsv; bfloat16 on chips without it from data/chips.tsv.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor import tables
from npudoctor.simulate.api import Finding, Fix, Place, Rule, Severity, Text

_TITLES = {
    "refused": Text("the real device refuses {operator} with {dtype} ({times} times here)",
                    "真实设备不支持 {operator}（{dtype}）（此处 {times} 次）"),
    "fallback": Text("the real device runs {operator} with {dtype} on the CPU ({times} times here)",
                     "真实设备会在 CPU 上执行 {operator}（{dtype}）（此处 {times} 次）"),
    "unlisted": Text("the real device is not known to take {dtype} in {operator} ({times} times here)",
                     "没有资料表明真实设备的 {operator} 支持 {dtype}（此处 {times} 次）"),
    "unsupported": Text("{operator} is on the vendor's list of what the device lacks ({times} times here)",
                        "厂商清单将 {operator} 列为真实设备不支持（此处 {times} 次）"),
    "slow": Text("{operator} with {dtype} is a weak spot of the real device ({times} times here)",
                 "{operator}（{dtype}）是真实设备的薄弱点（此处 {times} 次）"),
}
_BFLOAT16_CAUSE = Text("the chip has no bfloat16", "该芯片不支持 bfloat16")
_FIX = Text(
    "use a type or operator that the chip has (usually float32); --strict stops at the first one",
    "改用芯片支持的类型或算子（通常为 float32）；--strict 会在第一处停止",
)


def run(summary: dict[str, Any], outcome: Any) -> Iterator[Finding]:
    """One finding per row of the table that was hit, at the line that hit it most."""
    rows = {row["key"]: row for row in tables.load("device_limits").rows}
    seen = set()
    for hit in summary["limits"]:
        if hit["key"] in seen:
            continue
        seen.add(hit["key"])
        row = rows.get(hit["key"])
        effect = row["effect"] if row else "refused"
        times = sum(other["times"] for other in summary["limits"] if other["key"] == hit["key"])
        yield Finding(
            "NPU406", "not-on-the-real-device",
            Severity.NOTE if effect == "slow" else Severity.WARNING, _TITLES[effect],
            Text(row["en"], row["zh"]) if row else _BFLOAT16_CAUSE,
            place=Place(hit["path"], hit["line"] or None),
            params={"operator": hit["operator"], "dtype": hit["dtype"], "times": times},
            fixes=(Fix(_FIX),), sources=(row["source_url"],) if row else (),
        )


RULE = Rule("NPU406", "not-on-the-real-device", "run", run)
