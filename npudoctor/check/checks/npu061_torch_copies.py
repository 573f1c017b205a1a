"""Several copies of torch or torch_npu are on the search path; Python takes the first."""

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
    "{count} copies of {name} are on the search path: {versions}",
    "搜索路径上有 {count} 份 {name}：{versions}",
)
CAUSE = Text(
    "Python imports the first, {first}; pip shows and changes another one, or torch_npu is paired "
    "with another",
    "Python 导入第一份 {first}；而 pip 显示和修改的可能是另一份，torch_npu 配套的也可能是另一份",
)
FIX = Text(
    "remove the copy that is not wanted (user site, PYTHONPATH, a source tree), or switch the user site off",
    "移除不需要的副本（用户目录、PYTHONPATH、源码树），或关闭用户 site",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """One finding for each of the two that has copies in different folders."""
    for name in ("torch", "torch-npu"):
        copies = value(machine.python.packages, {}).get(name, ())
        if len({copy.location for copy in copies}) < 2:
            continue
        yield CHECK.found(
            Severity.WARNING,
            TITLE,
            CAUSE,
            {
                "count": len(copies),
                "name": name,
                "first": copies[0].location,
                "versions": ", ".join(copy.version or "?" for copy in copies),
            },
            fixes=(Fix(FIX, ("export PYTHONNOUSERSITE=1",)),),
            evidence=tuple(evidence(copy.location, f"{name} {copy.version or '?'}") for copy in copies[:4]),
        )


CHECK = Check(
    "NPU061",
    "torch-copies",
    Text("one copy of torch and torch_npu", "torch 与 torch_npu 只有一份"),
    needs=("python.packages",),
    run=run,
    applies=lambda m: m.python.first("torch") is not None,
    sources=("https://github.com/Ascend/pytorch/issues/24",),
)
