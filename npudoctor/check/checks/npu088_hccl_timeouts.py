"""HCCL's event time limit must be longer than its execution limit."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Tables,
    Text,
    evidence,
    seen_hardware,
)

TITLE = Text(
    "HCCL_EVENT_TIMEOUT={event} is not longer than HCCL_EXEC_TIMEOUT={exec_}",
    "HCCL_EVENT_TIMEOUT={event} 没有大于 HCCL_EXEC_TIMEOUT={exec_}",
)
CAUSE = Text(
    "torch_npu waits for events of a collective that may itself wait that long: the event limit would end it "
    "first and hide which rank was late",
    "torch_npu 会等待集合通信的事件，而通信本身可能等待同样久：事件超时会先触发，从而掩盖是哪个 rank 迟到",
)
FIX = Text("make the event limit longer", "增大事件超时")
_DEFAULT_EXEC_S = 1800


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A note, as torch_npu itself only warns; 0 means no limit."""
    event, limit = machine.var("HCCL_EVENT_TIMEOUT") or "", machine.var("HCCL_EXEC_TIMEOUT") or ""
    seconds = int(limit) if limit.isdecimal() else _DEFAULT_EXEC_S
    if not event.isdecimal() or int(event) == 0 or int(event) > seconds > 0:
        return
    yield CHECK.found(
        Severity.NOTE,
        TITLE,
        CAUSE,
        {"event": event, "exec_": seconds},
        place="HCCL_EVENT_TIMEOUT",
        fixes=(Fix(FIX, (f"export HCCL_EVENT_TIMEOUT={seconds + 200}",)),),
        evidence=(evidence("HCCL_EVENT_TIMEOUT", event), evidence("HCCL_EXEC_TIMEOUT", limit or "unset")),
    )


CHECK = Check(
    "NPU088",
    "hccl-timeouts",
    Text("HCCL's time limits fit each other", "HCCL 超时设置相互匹配"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or m.python.first("torch-npu") is not None,
    sources=(
        "https://github.com/Ascend/pytorch/blob/master/torch_npu/csrc/distributed/ProcessGroupHCCL.cpp",
    ),
)
