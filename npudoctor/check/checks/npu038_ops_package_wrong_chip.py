"""Operators are installed, for another chip than the one in this machine."""

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
    chips,
    device_works,
    evidence,
    families,
    ops_package,
    value,
)

TITLE = Text(
    "the operators of CANN {cann} are for {have}, the chip is {chip}",
    "CANN {cann} 的算子包面向 {have}，而芯片是 {chip}",
)
CAUSE = Text(
    "each chip family has its own operator package; {home} holds kernels for {have} only",
    "每个芯片系列都有各自的算子包；{home} 中只有 {have} 的 kernel",
)
FIX = Text("install {package} {cann} for {chip}", "为 {chip} 安装 {package} {cann}")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """For the chips that the table knows; the kernel folders name the families that are there."""
    install = cann_in_use(machine)
    if install is None or not install.chips or device_works(machine):
        return
    for name, row in families(chips(machine)).items():
        if row.kernel_dir in install.chips:
            continue
        package_name = ops_package(row, install)
        yield CHECK.found(
            Severity.ERROR,
            TITLE,
            CAUSE,
            {
                "cann": install.version,
                "have": ", ".join(install.chips),
                "chip": name,
                "home": install.home,
                "package": package_name,
            },
            fixes=(
                Fix(
                    FIX,
                    (
                        f"./{package_name}_{install.version}_linux-"
                        f"{install.arch or value(machine.os.arch, '<arch>')}.run --install",
                    ),
                    needs_root=True,
                ),
            ),
            evidence=(
                evidence("npu-smi info", name),
                evidence(f"{install.home}/opp/built-in/op_impl/ai_core/tbe/kernel", ", ".join(install.chips)),
            ),
        )


CHECK = Check(
    "NPU038",
    "ops-package-wrong-chip",
    Text("the operators are for this chip", "算子包与芯片一致"),
    needs=("cann.installs", "npu_smi.info"),
    run=run,
    applies=lambda m: bool(chips(m)) and cann_in_use(m) is not None,
    sources=(
        "https://github.com/vllm-project/vllm-ascend/issues/5599",
        "https://github.com/vllm-project/vllm-ascend/issues/237",
    ),
)
