"""The toolkit is there, its operators are not: it imports well and fails at the first operator."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Skip,
    Tables,
    Text,
    cann_in_use,
    chips,
    device_works,
    evidence,
    families,
    ops_package,
    seen_hardware,
    value,
)

TITLE = Text("CANN {cann} has no operator package", "CANN {cann} 没有安装算子包")
CAUSE = Text(
    "neither a kernel folder nor a version file of the ops/kernels package is under {home}; imports "
    "work, and "
    "the first operator fails with 561103, EZ1001 or 'Cannot find bin of op'",
    "{home} 下既没有算子 kernel 目录，也没有 ops/kernels 包的版本文件；导入正常，但第一个算子会报 "
    "561103、EZ1001 "
    "或 “Cannot find bin of op”",
)
FIX = Text("install {package} of the same version {cann}", "安装同版本 {cann} 的 {package}")
UNREAD_REASON = Text("the operator folder could not be read", "无法读取算子目录")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Both signs absent in the install in use, and the sum was not right regardless."""
    install = cann_in_use(machine)
    if install is None or install.ops_version or install.chips or device_works(machine):
        return
    if not install.ops_known:
        raise Skip(UNREAD_REASON)
    row = next(iter(families(chips(machine)).values()), None)
    name = ops_package(row, install) if row else "Ascend-cann-kernels-<chip>"
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"cann": install.version, "home": install.home, "package": name},
        fixes=(
            Fix(
                FIX,
                (
                    f"./{name}_{install.version}_linux-"
                    f"{install.arch or value(machine.os.arch, '<arch>')}.run "
                    "--install",
                ),
                needs_root=True,
            ),
        ),
        evidence=(
            evidence(f"{install.home}/opp/built-in/op_impl/ai_core/tbe/kernel", "ENOENT"),
            evidence(f"{install.home}/opp_kernel/version.info", "ENOENT"),
        ),
    )


CHECK = Check(
    "NPU037",
    "ops-package-missing",
    Text("CANN has its operators", "CANN 算子包已安装"),
    needs=("cann.installs",),
    run=run,
    applies=lambda m: (
        cann_in_use(m) is not None and (seen_hardware(m) or m.python.first("torch-npu") is not None)
    ),
    sources=(
        "https://github.com/Ascend/pytorch/blob/master/docs/zh/user_guide/troubleshooting/"
        "troubleshooting_cases/operator_called_error.md",
    ),
)
