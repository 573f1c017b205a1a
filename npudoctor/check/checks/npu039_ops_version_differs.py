"""Toolkit and operator package are of different CANN releases."""

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
    cann_in_use,
    device_works,
    evidence,
    same_series,
)

TITLE = Text(
    "CANN toolkit is {cann}, its operator package is {ops}", "CANN toolkit 为 {cann}，算子包为 {ops}"
)
CAUSE = Text(
    "they are built and tested together; operators of another release can miss at run time",
    "二者一同构建和测试；版本不同时运行中可能找不到算子",
)
FIX = Text("install the operator package of {cann}", "安装 {cann} 的算子包")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Compared as releases: builds and betas of one release are the same."""
    install = cann_in_use(machine)
    if install is None or not install.ops_version:
        return
    try:
        same = same_series(install.version, install.ops_version)
    except ValueError:  # an inner number such as 8.2.0.0.201 without version_dir says nothing
        return
    if same or device_works(machine):
        return
    yield CHECK.found(
        Severity.WARNING,
        TITLE,
        CAUSE,
        {"cann": install.version, "ops": install.ops_version},
        fixes=(Fix(FIX, needs_root=True),),
        evidence=(evidence(install.place, install.version), evidence("opp_kernel", install.ops_version)),
    )


CHECK = Check(
    "NPU039",
    "ops-version-differs",
    Text("toolkit and operators are of one release", "toolkit 与算子包版本一致"),
    needs=("cann.installs",),
    run=run,
    applies=lambda m: cann_in_use(m) is not None,
    sources=("https://github.com/Ascend/msit",),
)
