"""torch is not installed in the interpreter under diagnosis."""

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
    python_minor,
    set_fixes,
    value,
)

TITLE = Text("torch is not installed in this Python", "当前 Python 中没有安装 torch")
CAUSE = Text(
    "{python} has no torch in any folder of its search path; a torch in another environment does not count",
    "{python} 的搜索路径中没有 torch；装在其他环境里的 torch 不算",
)
INSTALL_FIX = Text(
    "install the torch that fits your CANN (on x86_64 the +cpu build) into this interpreter",
    "在此解释器中安装与 CANN 配套的 torch（x86_64 上用 +cpu 版本）",
)
OTHER_FIX = Text(
    "if torch lives in another environment, name its interpreter", "如果 torch 装在其他环境，请指定那个解释器"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By package metadata; nothing is imported."""
    if machine.python.first("torch") is not None:
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"python": machine.python.executable},
        fixes=(
            *_sets(machine, tables),
            Fix(INSTALL_FIX, ("npudoctor pair",)),
            Fix(OTHER_FIX, ("npudoctor check --python /path/to/python",)),
        ),
        evidence=(evidence(machine.python.executable, f"Python {value(machine.python.version)}, torch: -"),),
    )


def _sets(machine: Machine, tables: Tables) -> tuple[Fix, ...]:
    """What to install for the CANN that is here; without one there is nothing to go by."""
    install = cann_in_use(machine)
    python = python_minor(machine) or None
    return set_fixes(machine, tables, cann=install.version, python=python) if install else ()


CHECK = Check(
    "NPU060",
    "torch-missing",
    Text("torch is installed", "已安装 torch"),
    needs=("python.packages",),
    run=run,
    sources=("https://github.com/Ascend/pytorch/blob/master/README.md",),
)
