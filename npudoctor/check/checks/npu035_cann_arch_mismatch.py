"""CANN was built for another processor than this one."""

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
    evidence,
    value,
)

TITLE = Text(
    "CANN {cann} is built for {theirs}, this machine is {ours}", "CANN {cann} 面向 {theirs}，而本机为 {ours}"
)
CAUSE = Text(
    "its install file says arch={theirs}; none of its libraries can be loaded here",
    "其安装文件中 arch={theirs}；它的库在本机都无法加载",
)
FIX = Text("install the package for {ours}", "安装面向 {ours} 的包")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the install file of the CANN in use."""
    install, ours = cann_in_use(machine), value(machine.os.arch)
    if install is None or not install.arch or not ours or install.arch == ours:
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"cann": install.version, "theirs": install.arch, "ours": ours},
        fixes=(
            Fix(
                FIX, (f"./Ascend-cann-toolkit_{install.version}_linux-{ours}.run --install",), needs_root=True
            ),
        ),
        evidence=(evidence(install.place, f"arch={install.arch}"), evidence("uname -m", ours)),
    )


CHECK = Check(
    "NPU035",
    "cann-arch-mismatch",
    Text("CANN fits the processor", "CANN 与处理器架构一致"),
    needs=("cann.installs", "os.arch"),
    run=run,
    applies=lambda m: cann_in_use(m) is not None,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/632",),
)
