"""A variable of torch_npu has a value that it does not take."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Iterable,
    Machine,
    Tables,
    Text,
    misused_variables,
    seen_hardware,
)

TITLE = Text(
    "variables with values that torch_npu does not take: {names}", "变量的取值不被 torch_npu 接受：{names}"
)
CAUSE = Text("the documented values are few", "文档规定的取值有限")
FIX = Text("unset them, or use a documented value", "取消这些变量，或使用文档规定的取值")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the `values` rows of env_vars.tsv."""
    return misused_variables(CHECK, machine, "values", TITLE, CAUSE, FIX)


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
