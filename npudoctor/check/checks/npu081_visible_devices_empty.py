"""ASCEND_RT_VISIBLE_DEVICES is set and empty: every device is hidden, without a message."""

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
    has_npu_software,
    seen_hardware,
    value,
)

TITLE = Text(
    "ASCEND_RT_VISIBLE_DEVICES is set and empty: all NPUs are hidden",
    "ASCEND_RT_VISIBLE_DEVICES 已设置但为空（empty）：所有 NPU 都被隐藏",
)
CAUSE = Text(
    "an empty list is not the same as an unset variable; is_available() is False and nothing is printed",
    "空列表与未设置不同；is_available() 会静默返回 False",
)
RAY_CAUSE = Text(
    "Ray empties it for a process that did not ask for NPUs (the entry process of a job, an actor without "
    'resources={{"NPU": n}})',
    '对没有申请 NPU 的进程（作业的入口进程、没有 resources={{"NPU": n}} 的 actor），Ray 会将其置空',
)
UNSET_FIX = Text("unset it, or name devices", "取消设置，或写明设备号")
RAY_FIX = Text(
    "ask Ray for NPUs, or forbid it to set the variable (Ray)", "向 Ray 申请 NPU，或禁止 Ray 设置该变量"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Set, and nothing but blanks in it."""
    mask = machine.var("ASCEND_RT_VISIBLE_DEVICES")
    if mask is None or mask.strip():
        return
    in_ray = any(name.startswith("RAY_") for name in value(machine.env, {}))
    ray = Fix(
        RAY_FIX,
        ("export RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES=1", "@ray.remote(resources={'NPU': 1})"),
    )
    unset = Fix(UNSET_FIX, ("unset ASCEND_RT_VISIBLE_DEVICES",))
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        RAY_CAUSE if in_ray else CAUSE,
        place="ASCEND_RT_VISIBLE_DEVICES",
        fixes=(ray, unset) if in_ray else (unset, ray),
        evidence=(
            evidence("ASCEND_RT_VISIBLE_DEVICES", "''"),
            *(evidence(n, v) for n, v in value(machine.env, {}).items() if n.startswith("RAY_")),
        ),
    )


CHECK = Check(
    "NPU081",
    "visible-devices-empty",
    Text("the device list is not empty", "设备列表不为空"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or has_npu_software(m),
    sources=(
        "https://github.com/ray-project/ray/issues/59063",
        "https://github.com/ray-project/ray/pull/59163",
    ),
)
