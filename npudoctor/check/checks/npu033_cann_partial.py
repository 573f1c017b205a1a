"""The CANN in use lacks a part that torch_npu demands."""

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
)

TITLE = Text("CANN at {home} is incomplete: {missing} is missing", "{home} 的 CANN 不完整：缺少 {missing}")
CAUSE = Text(
    "torch_npu looks for these folders under ASCEND_HOME_PATH and stops at import without them; a "
    "runtime-only package (nnrt) or an interrupted installation lacks them",
    "torch_npu 会在 ASCEND_HOME_PATH 下查找这些目录，缺少则导入失败；仅含运行时的包（nnrt）或中断的安"
    "装会缺少它们",
)
FIX = Text("install the whole toolkit package of CANN {cann} again", "重新安装完整的 CANN {cann} toolkit 包")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """`runtime` and `compiler` under the home of the install in use."""
    install = cann_in_use(machine)
    if install is None or not install.parts or device_works(machine):
        return
    missing = [part for part in ("runtime", "compiler") if part not in install.parts]
    if not missing:
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"home": install.home, "missing": ", ".join(missing), "cann": install.version},
        fixes=(
            Fix(
                FIX,
                (f"./Ascend-cann-toolkit_{install.version}_linux-{install.arch or '<arch>'}.run --install",),
                needs_root=True,
            ),
        ),
        evidence=(evidence(install.home, ", ".join(sorted(install.parts))),),
    )


CHECK = Check(
    "NPU033",
    "cann-partial",
    Text("CANN is complete", "CANN 完整"),
    needs=("cann.installs",),
    run=run,
    applies=lambda m: cann_in_use(m) is not None,
    sources=("https://github.com/Ascend/pytorch/blob/master/torch_npu/_init/registry/registry_manager.py",),
)
