"""Autoload is switched off by a variable: scripts must import torch_npu themselves."""

from __future__ import annotations

from npudoctor.check.api import Check, Finding, Fix, Iterable, Machine, Severity, Tables, Text

TITLE = Text(
    "backend autoload is off (TORCH_DEVICE_BACKEND_AUTOLOAD=0)",
    "后端自动加载已关闭（TORCH_DEVICE_BACKEND_AUTOLOAD=0）",
)
CAUSE = Text(
    "import torch does not bring the NPU then; a script without `import torch_npu` finds no torch.npu",
    "此时 import torch 不会带来 NPU；没有 `import torch_npu` 的脚本找不到 torch.npu",
)
FIX = Text("unset it, or import torch_npu in each script", "取消该变量，或在每个脚本中 import torch_npu")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A note: it may be intended."""
    if machine.var("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
        return
    yield CHECK.found(
        Severity.NOTE,
        TITLE,
        CAUSE,
        fixes=(Fix(FIX, ("unset TORCH_DEVICE_BACKEND_AUTOLOAD",)),),
        place="TORCH_DEVICE_BACKEND_AUTOLOAD",
    )


CHECK = Check(
    "NPU076",
    "autoload-disabled",
    Text("backend autoload is on", "后端自动加载已开启"),
    needs=("env", "python.packages"),
    run=run,
    applies=lambda m: m.python.first("torch-npu") is not None,
    sources=("https://docs.pytorch.org/tutorials/unstable/python_extension_autoload.html",),
)
