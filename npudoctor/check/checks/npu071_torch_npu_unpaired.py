"""torch and torch_npu were not made for each other."""

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
    device_works,
    evidence,
    pip_pair,
    public,
    torch_pin,
)

TITLE = Text(
    "torch {torch} and torch_npu {npu} do not belong together: torch_npu {npu} wants torch {wanted}",
    "torch {torch} 与 torch_npu {npu} 不配套：torch_npu {npu} 要求 torch {wanted}",
)
CAUSE = Text(
    "torch_npu is compiled against exactly one torch release ({source}); a later pip install of "
    "another package "
    "often replaces torch",
    "torch_npu 只针对一个 torch 版本编译（{source}）；之后安装其他包时 pip 常会替换 torch",
)
BACK_FIX = Text("put back the torch that this torch_npu was built for", "换回此 torch_npu 所适配的 torch")
FORWARD_FIX = Text(
    "keep torch {torch} and take its torch_npu", "保留 torch {torch}，改装与之配套的 torch_npu"
)
UNKNOWN_REASON = Text(
    "torch_npu {npu} is unknown to the table of {date}, and its metadata names no torch",
    "{date} 的数据表中没有 torch_npu {npu}，其元数据也没有指明 torch 版本",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """The wheel's own pin first, then the table; a build neither knows is unknown, not wrong."""
    torch, npu = machine.python.first("torch"), machine.python.first("torch-npu")
    if torch is None or npu is None or not npu.version or not torch.version:
        return
    pin = torch_pin(npu)
    row = None if pin else tables.row_for_torch_npu(npu.version).value
    if pin is not None:
        wanted, fits, source = (
            str(pin).lstrip("="),
            pin.contains(public(torch.version), prereleases=True),
            "Requires-Dist",
        )
    elif row is not None:
        wanted, fits, source = row.torch, public(torch.version) == public(row.torch), row.provenance.url
    else:
        raise Skip(UNKNOWN_REASON, {"npu": npu.version, "date": tables.date})
    if fits:
        return
    release = wanted.replace(".*", "").split(",")[0]
    fixes = [Fix(BACK_FIX, pip_pair(machine, release, npu.version))]
    others = [r for r in tables.rows_for_torch(torch.version) if r.on_index]
    if others:
        fixes.append(Fix(FORWARD_FIX, pip_pair(machine, others[0].torch, others[0].torch_npu)))
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        CAUSE,
        {"torch": torch.build or torch.version, "npu": npu.version, "wanted": release, "source": source},
        fixes=tuple(fixes),
        evidence=(
            evidence(torch.location, f"torch {torch.build or torch.version}"),
            evidence(npu.location, f"torch_npu {npu.version}, {source}: torch {wanted}"),
        ),
    )


CHECK = Check(
    "NPU071",
    "torch-npu-unpaired",
    Text("torch and torch_npu are a pair", "torch 与 torch_npu 配套"),
    needs=("python.packages",),
    run=run,
    applies=lambda m: m.python.first("torch-npu") is not None and m.python.first("torch") is not None,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/4081",),
)
