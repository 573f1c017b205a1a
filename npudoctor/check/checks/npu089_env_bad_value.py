"""A variable of torch_npu has a value that it does not take."""

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
    flagged_variables,
    seen_hardware,
    with_effects,
)

TITLE = Text(
    "variables with values that torch_npu does not take: {names}", "变量的取值不被 torch_npu 接受：{names}"
)
CAUSE = Text("the documented values are few", "文档规定的取值有限")
FIX = Text("unset them, or use a documented value", "取消这些变量，或使用文档规定的取值")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the `values` rows of env_vars.tsv."""
    rows = flagged_variables(machine, "values")
    if not rows:
        return
    names = [row["name"] for row in rows]
    yield CHECK.found(
        Severity.WARNING,
        TITLE,
        with_effects(CAUSE, rows),
        {"names": ", ".join(f"{n}={machine.var(n)}" for n in names)},
        fixes=(Fix(FIX, (f"unset {' '.join(names)}",)),),
        evidence=tuple(evidence(name, machine.var(name)) for name in names),
    )


CHECK = Check(
    "NPU089",
    "env-bad-value",
    Text("variables have values that torch_npu takes", "变量取值有效"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or m.python.first("torch-npu") is not None,
    sources=(
        "https://github.com/Ascend/pytorch/blob/master/docs/zh/api/environment_variable/env_variable_list.md",
    ),
)
