"""CANN's operator compiler runs inside this interpreter and misses packages there."""

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
    needs,
    pip,
    value,
)

TITLE = Text(
    "Python packages that CANN needs are missing: {missing}", "缺少 CANN 需要的 Python 包：{missing}"
)
CAUSE = Text(
    "CANN compiles operators with Python code in the same interpreter and does not install its needs; "
    "without "
    "them the first operator ends in 500001 / EH9999 or E40020",
    "CANN 在同一解释器中用 Python 代码编译算子，但不会自动安装其依赖；缺少时第一个算子会报 500001 / "
    "EH9999 或 E40020",
)
FIX = Text("install them all with one command, into this interpreter", "用一条命令全部装入此解释器")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Those whose absence is known to break; the ones that documents merely list join the pip line."""
    missing = [name for name in needs("required") if machine.python.first(name) is None]
    if not missing:
        return
    listed = [name for name in needs("listed") if machine.python.first(name) is None]
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        CAUSE,
        {"missing": ", ".join(missing)},
        fixes=(Fix(FIX, (f"{pip(machine)} install {' '.join(missing + listed)}",)),),
        evidence=(evidence(machine.python.executable, ", ".join(f"{name}: -" for name in missing)),),
    )


CHECK = Check(
    "NPU051",
    "python-packages-missing",
    Text("CANN's Python packages are there", "CANN 需要的 Python 包齐全"),
    needs=("python.packages", "cann.installs"),
    run=run,
    applies=lambda m: bool(value(m.cann.installs)) and m.python.first("torch-npu") is not None,
    sources=("https://github.com/Ascend/pytorch/issues/7",),
)
