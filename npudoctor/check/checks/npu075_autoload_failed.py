"""`import torch` itself fails because torch loads torch_npu by itself, and that fails."""

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
    value,
)

TITLE = Text(
    "import torch fails because it loads torch_npu by itself (backend autoload)",
    "import torch 失败：torch 会自动加载 torch_npu（backend autoload）",
)
CAUSE = Text(
    "torch itself is sound: with autoload off it imports. Since torch 2.5 it imports every backend, "
    "and the inner error is: {error}",
    "torch 本身没有问题：关闭自动加载后可以导入。"
    "自 torch 2.5 起它会导入所有已安装的后端，内层错误是：{error}",
)
FIX = Text(
    "repair torch_npu (see its own finding); for work without the NPU only, autoload can be switched off",
    "修复 torch_npu（见其自身的条目）；仅在不使用 NPU 时，可临时关闭自动加载",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """torch fails as the user calls it, and works with autoload off."""
    usual, plain = value(machine.probes.torch), value(machine.probes.torch_plain)
    if usual is None or plain is None or usual.ok or not plain.ok:
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"error": usual.error or usual.outer},
        fixes=(Fix(FIX, ("TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -c 'import torch'",)),),
        evidence=(evidence("import torch", usual.outer or usual.error),),
    )


CHECK = Check(
    "NPU075",
    "autoload-failed",
    Text("import torch survives backend autoload", "import torch 的后端自动加载正常"),
    needs=("probes.torch", "probes.torch_plain"),
    run=run,
    explained_by=("NPU074",),
    sources=("https://docs.pytorch.org/tutorials/unstable/python_extension_autoload.html",),
)
