"""The installed torch_npu names other Python versions than this one."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Skip,
    Tables,
    Text,
    evidence,
    python_minor,
    torch_npu_version,
    value,
)

TITLE = Text(
    "torch_npu {version} does not support Python {python}", "torch_npu {version} 不支持 Python {python}"
)
CAUSE = Text(
    "the vendor names Python {supported} for it (table of {date}); its wheels carry no "
    "Requires-Python, so pip "
    "does not object",
    "厂商为其列出的 Python 为 {supported}（{date} 的数据表）；其 wheel 没有 Requires-Python，pip 不会提示",
)
FIX = Text("make an environment with one of these Python versions", "用上述 Python 版本之一新建环境")
UNKNOWN_REASON = Text(
    "torch_npu {version} is unknown to the table of {date}", "{date} 的数据表中没有 torch_npu {version}"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the row of this torch_npu; a wheel that imports here is a warning at most."""
    version = torch_npu_version(machine)
    if version is None:
        return
    named = tables.python_for(version).value
    if not named:
        raise Skip(UNKNOWN_REASON, {"version": version, "date": tables.date})
    minor = python_minor(machine)
    if minor in named:
        return
    works = value(machine.probes.torch_npu)
    yield CHECK.found(
        Severity.WARNING if works is not None and works.ok else Severity.ERROR,
        TITLE,
        CAUSE,
        {"version": version, "python": minor, "supported": ", ".join(named), "date": tables.date},
        fixes=(
            Fix(FIX, (f"conda create -n npu python={named[-1]}", f"npudoctor pair --python {named[-1]}")),
        ),
        evidence=(evidence(machine.python.executable, f"Python {value(machine.python.version)}"),),
    )


CHECK = Check(
    "NPU050",
    "python-unsupported",
    Text("torch_npu supports this Python", "torch_npu 支持当前 Python"),
    needs=("python.version", "python.packages"),
    run=run,
    explained_by=("NPU072",),
    applies=lambda m: m.python.first("torch-npu") is not None,
    sources=("https://github.com/Ascend/pytorch/blob/master/COMPATIBILITY.md",),
)
