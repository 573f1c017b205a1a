"""Mainline triton and triton-ascend share one folder; the one installed last wins."""

from __future__ import annotations

from npudoctor.check.api import Check, Finding, Fix, Iterable, Machine, Severity, Tables, Text, evidence, pip

TITLE = Text(
    "triton {triton} and triton-ascend {ascend} overwrite each other",
    "triton {triton} 与 triton-ascend {ascend} 互相覆盖",
)
CAUSE = Text(
    "both install the Python package `triton`; with the mainline files on top, NPU kernels are not compiled "
    "(No module named triton.language.extra.ascend)",
    "二者都安装名为 `triton` 的包；若主线 triton 覆盖在上，NPU 的 kernel 无法编译"
    "（No module named triton.language.extra.ascend）",
)
FIX = Text("remove both, then install triton-ascend alone", "先全部卸载，再只安装 triton-ascend")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Both in the metadata of one folder."""
    triton, ascend = machine.python.first("triton"), machine.python.first("triton-ascend")
    if triton is None or ascend is None or triton.location != ascend.location:
        return
    yield CHECK.found(
        Severity.WARNING,
        TITLE,
        CAUSE,
        {"triton": triton.version, "ascend": ascend.version},
        fixes=(
            Fix(
                FIX,
                (
                    f"{pip(machine)} uninstall -y triton triton-ascend",
                    f"{pip(machine)} install triton-ascend=={ascend.version}",
                ),
            ),
        ),
        evidence=(evidence(triton.location, f"triton {triton.version}, triton-ascend {ascend.version}"),),
    )


CHECK = Check(
    "NPU053",
    "triton-replaced",
    Text("triton-ascend is not overwritten", "triton-ascend 未被覆盖"),
    needs=("python.packages",),
    run=run,
    applies=lambda m: m.python.first("triton-ascend") is not None,
    sources=("https://github.com/flagos-ai/FlagGems/issues/5791",),
)
