"""What a simulation has to say beyond counts: codes NPU401 and up."""

from __future__ import annotations

from typing import Any

from npudoctor import tables
from npudoctor.core.finding import Evidence, Finding, Fix, Place, Severity
from npudoctor.core.text import Text

VALIDATION_FILES = ("torch/distributions/",)
_FAILED = Text("the program stopped with an error: {error}", "程序异常终止：{error}")
_FAILED_CAUSE = Text(
    "the counts below end where the program ended; the traceback is above",
    "下方统计截止到程序终止处；堆栈信息见上文",
)
_FAILED_FIX = Text("mend the error and run again", "修正该错误后重新运行")
_VALIDATION = Text(
    "{times} of {total} host-device syncs come from argument checks of torch.distributions",
    "{total} 次主机与设备同步中，有 {times} 次来自 torch.distributions 的参数校验",
)
_VALIDATION_CAUSE = Text(
    "a distribution tests its parameters with `if not ...all()`, which reads one number back from the "
    "device each time",
    "分布对象用 `if not ...all()` 校验参数，每次都要从设备读回一个数",
)
_VALIDATION_FIX = Text(
    "pass validate_args=False, or call torch.distributions.Distribution.set_default_validate_args(False) "
    "once; numbers stay the same, but invalid parameters then no longer raise ValueError",
    "传入 validate_args=False，或调用一次 torch.distributions.Distribution.set_default_validate_args(False)；"
    "数值不变，但参数非法时不再抛出 ValueError",
)
_LIMIT = {
    "refused": Text("the real device refuses {operator} with {dtype} ({times} times here)",
                    "真实设备不支持 {operator}（{dtype}）（此处 {times} 次）"),
    "fallback": Text("the real device runs {operator} with {dtype} on the CPU ({times} times here)",
                     "真实设备会在 CPU 上执行 {operator}（{dtype}）（此处 {times} 次）"),
    "slow": Text("{operator} with {dtype} is a weak spot of the real device ({times} times here)",
                 "{operator}（{dtype}）是真实设备的薄弱点（此处 {times} 次）"),
}
_BFLOAT16 = Text("the chip has no bfloat16", "该芯片不支持 bfloat16")
_LIMIT_FIX = Text(
    "use a type or operator that the chip has (usually float32); --strict stops at the first one",
    "改用芯片支持的类型或算子（通常为 float32）；--strict 会在第一处停止",
)
MANY = 32
_UPLOADS = Text(
    "{lines} lines copy a host tensor to the device again and again, {times} times in all",
    "有 {lines} 行反复将主机张量拷贝到设备，共 {times} 次",
)
_UPLOADS_CAUSE = Text(
    "on an NPU each blocking copy to the device waits for everything queued before it",
    "在 NPU 上，每次阻塞式上行拷贝都会等待此前排队的全部任务",
)
_UPLOADS_FIX = Text(
    "keep the rollout in host memory and move one packed batch; or pin the source and pass non_blocking=True",
    "将采样数据保存在主机内存，打包后一次性搬运；或对源张量锁页并传入 non_blocking=True",
)
_COMPILE = Text("torch.compile was asked for {times} times", "程序请求了 {times} 次 torch.compile")
_COMPILE_CAUSE = Text(
    "the simulated NPU has no code generator; the model ran as it is, so kernels are those of eager mode",
    "模拟 NPU 没有代码生成器；模型按原样运行，因此算子数为即时模式下的数值",
)
_COMPILE_FIX = Text("nothing to mend; compare counts in eager mode", "无需修复；请在即时模式下比较计数")
_VALIDATION_SOURCE = "https://docs.pytorch.org/docs/stable/distributions.html"


def findings(summary: dict[str, Any], outcome: Any) -> tuple[Finding, ...]:
    """Findings of one run, the program's own failure first."""
    found = []
    if outcome is not None and outcome.status:
        path, _, line = outcome.where.rpartition(":")
        found.append(Finding(
            "NPU401", "program-failed", Severity.ERROR, _FAILED, _FAILED_CAUSE,
            place=Place(path, int(line)) if line.isdigit() else None,
            params={"error": outcome.error or f"exit status {outcome.status}"},
            fixes=(Fix(_FAILED_FIX),),
        ))
    found.extend(_limits(summary))
    if summary["notes"].get("torch.compile"):
        found.append(_compiled(summary["notes"]["torch.compile"]))
    repeated = _uploads(summary)
    if repeated is not None:
        found.append(repeated)
    hidden = _validation(summary)
    if hidden is not None:
        found.append(hidden)
    return tuple(found)


def _limits(summary: dict[str, Any]) -> list[Finding]:
    """One finding per row of the table of limits that was hit, at the line that hit it most."""
    rows = {row["key"]: row for row in tables.load("device_limits").rows}
    found, seen = [], set()
    for hit in summary["limits"]:
        if hit["key"] in seen:
            continue
        seen.add(hit["key"])
        row = rows.get(hit["key"])
        effect = row["effect"] if row else "refused"
        found.append(Finding(
            "NPU406", "not-on-the-real-device",
            Severity.NOTE if effect == "slow" else Severity.WARNING, _LIMIT[effect],
            Text(row["en"], row["zh"]) if row else _BFLOAT16,
            place=Place(hit["path"], hit["line"] or None),
            params={"operator": hit["operator"], "dtype": hit["dtype"],
                    "times": sum(h["times"] for h in summary["limits"] if h["key"] == hit["key"])},
            fixes=(Fix(_LIMIT_FIX),), sources=(row["source_url"],) if row else (),
        ))
    return found


def _uploads(summary: dict[str, Any]) -> Finding | None:
    """Lines that make tensors on the host and copy them to the device over and over."""
    lines = sorted((e for e in summary["lines"] if e["h2d"] >= MANY), key=lambda e: -e["h2d"])
    if not lines:
        return None
    evidence = tuple(
        Evidence(f"{e['path']}:{e['line']}", f"{e['h2d']} x {e['h2d_bytes'] // e['h2d']} bytes: {e['text']}")
        for e in lines[:5]
    )
    return Finding(
        "NPU408", "repeated-small-uploads", Severity.NOTE, _UPLOADS, _UPLOADS_CAUSE, evidence=evidence,
        params={"times": sum(e["h2d"] for e in lines), "lines": len(lines)}, fixes=(Fix(_UPLOADS_FIX),),
        sources=("https://github.com/Ascend/pytorch",),
    )


def _compiled(times: int) -> Finding:
    return Finding("NPU407", "compile-not-simulated", Severity.NOTE, _COMPILE, _COMPILE_CAUSE,
                   params={"times": times}, fixes=(Fix(_COMPILE_FIX),))


def _validates(calls: list[str]) -> bool:
    return any(call.startswith(VALIDATION_FILES) for call in calls[1:])


def _validation(summary: dict[str, Any]) -> Finding | None:
    worst: tuple[int, dict[str, Any]] | None = None
    times = 0
    for line in summary["lines"]:
        here = sum(path["times"] for path in line["paths"] if _validates(path["calls"]))
        times += here
        if here and (worst is None or here > worst[0]):
            worst = (here, line)
    if worst is None:
        return None
    return Finding(
        "NPU402", "distribution-validation-syncs", Severity.NOTE, _VALIDATION, _VALIDATION_CAUSE,
        place=Place(worst[1]["path"], worst[1]["line"]),
        params={"times": times, "total": summary["totals"]["syncs"]},
        fixes=(Fix(_VALIDATION_FIX),), sources=(_VALIDATION_SOURCE,),
    )
