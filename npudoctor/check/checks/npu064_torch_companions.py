"""torchvision or another companion of torch was built for another torch than the one installed."""

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
    pip,
    public,
    torch_pin,
)

TITLE = Text(
    "{name} {version} wants torch {wanted}, installed is {torch}",
    "{name} {version} 要求 torch {wanted}，已安装 {torch}",
)
CAUSE = Text(
    "the companions of torch are built for one torch release each; a pip install of another package replaced "
    "torch beside them",
    "torch 的配套包各自只适配一个 torch 版本；安装其他包时 pip 替换了 torch",
)
FIX = Text(
    "install the torch that it wants, or the {name} that belongs to torch {torch}",
    "安装它要求的 torch，或与 torch {torch} 配套的 {name}",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """From Requires-Dist; nothing is imported."""
    torch = machine.python.first("torch")
    if torch is None:
        return
    for name in ("torchvision", "torchaudio", "vllm", "vllm-ascend"):
        companion = machine.python.first(name)
        wanted = torch_pin(companion) if companion else None
        if companion is None or wanted is None or wanted.contains(public(torch.version), prereleases=True):
            continue
        yield CHECK.found(
            Severity.WARNING,
            TITLE,
            CAUSE,
            {"name": name, "version": companion.version, "wanted": str(wanted), "torch": torch.version},
            fixes=(Fix(FIX, (f"{pip(machine)} check",)),),
            evidence=(
                evidence(companion.location, f"{name} {companion.version}: Requires-Dist torch{wanted}"),
            ),
        )


CHECK = Check(
    "NPU064",
    "torch-companions",
    Text("torch's companions fit it", "torch 的配套包版本一致"),
    needs=("python.packages",),
    run=run,
    explained_by=("NPU071",),
    applies=lambda m: m.python.first("torch") is not None and m.python.first("torch-npu") is not None,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/4081",),
)
