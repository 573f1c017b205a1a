"""torch_npu beside a torch that was built for another accelerator."""

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
    device_works,
    evidence,
    import_error,
    pip,
)

TITLE = Text("torch {build} is a build for another accelerator", "torch {build} 是面向其他加速器的构建")
CAUSE = Text(
    "torch_npu is made for the CPU build; where the other accelerator is present it refuses to load, and "
    "elsewhere the CUDA libraries only take space",
    "torch_npu 面向 CPU 构建；若另一加速器存在则拒绝加载，否则 CUDA 库只是占用空间",
)
FIX = Text("install the CPU build of the same torch release", "安装同版本 torch 的 CPU 构建")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the local part of torch.__version__ (+cu..., +rocm..., +xpu)."""
    torch = machine.python.first("torch")
    if torch is None or "+" not in torch.build:
        return
    release, local = torch.build.split("+", 1)
    if not local.startswith(("cu", "rocm", "xpu")):
        return
    error = import_error(machine)
    severity = Severity.WARNING
    if error:  # an import that fails for another reason has another cause
        severity = Severity.ERROR if "Two accelerators" in error else Severity.NOTE
    yield CHECK.found(
        severity,
        TITLE,
        CAUSE,
        {"build": torch.build},
        fixes=(
            Fix(
                FIX,
                (
                    f"{pip(machine)} install torch=={release} --index-url https://download.pytorch.org/whl/cpu",
                ),
            ),
        ),
        evidence=(evidence(f"{torch.location}/torch/version.py", torch.build),),
    )


CHECK = Check(
    "NPU062",
    "torch-wrong-build",
    Text("torch is the CPU build", "torch 为 CPU 构建"),
    needs=("python.packages",),
    run=run,
    applies=lambda m: m.python.first("torch-npu") is not None and not device_works(m),
    sources=("https://github.com/Ascend/pytorch/blob/master/torch_npu/__init__.py",),
)
