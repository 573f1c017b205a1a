"""numpy 2 with a CANN whose operator compiler was written for numpy 1."""

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
    package,
    pip,
    python_limit,
    vendor,
)

TITLE = Text(
    "numpy {numpy} is too new for CANN {cann}: it needs numpy <2",
    "numpy {numpy} 对 CANN {cann} 过新：需要 numpy <2",
)
CAUSE = Text(
    "the operator compiler up to CANN {upto} was reported to fail with numpy 2 "
    "(AclSetCompileopt ... error code is 500001)",
    "有报告表明 CANN {upto} 及更早的算子编译器在 numpy 2 下失败（AclSetCompileopt ... error code is 500001）",
)
FIX = Text("install numpy below 2 in this interpreter", "在此解释器中安装低于 2 的 numpy")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the limit in python_needs.tsv."""
    install, found = cann_in_use(machine), machine.python.first("numpy")
    if install is None or found is None:
        return
    limit = python_limit("numpy")
    try:
        too_new = package(found.version) >= package(limit["below"])
        old_cann = vendor(install.version).line <= vendor(limit["up_to_cann"]).line
    except ValueError:
        return
    if not (too_new and old_cann):
        return
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        CAUSE,
        {"numpy": found.version, "cann": install.version, "upto": limit["up_to_cann"]},
        fixes=(Fix(FIX, (f"{pip(machine)} install 'numpy<{limit['below']}'",)),),
        evidence=(
            evidence(found.location, f"numpy {found.version}"),
            evidence(install.place, install.version),
        ),
    )


CHECK = Check(
    "NPU052",
    "numpy-major",
    Text("numpy fits CANN", "numpy 与 CANN 匹配"),
    needs=("python.packages", "cann.installs"),
    run=run,
    applies=lambda m: cann_in_use(m) is not None,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/2210",),
)
