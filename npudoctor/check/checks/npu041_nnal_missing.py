"""Something here needs libatb.so, and NNAL is not installed."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    Severity,
    Tables,
    Text,
    cann_in_use,
    evidence,
    import_error,
    value,
)

TITLE = Text("NNAL is not installed: libatb.so is needed", "没有安装 NNAL：需要 libatb.so")
CAUSE = Text(
    "libatb.so (ATB) comes with NNAL (nnal), a package beside the CANN toolkit; it is not under {places}",
    "libatb.so（ATB）来自 NNAL（nnal），它是独立于 CANN toolkit 的包；{places} 下没有找到",
)
FIX = Text(
    "install Ascend-cann-nnal of the CANN version in use, then source its set_env.sh",
    "安装与所用 CANN 同版本的 Ascend-cann-nnal，然后 source 其 set_env.sh",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Only when an import asked for it."""
    error = import_error(machine)
    if "libatb.so" not in error or isinstance(machine.cann.nnal, Known):
        return
    install = cann_in_use(machine)
    version = install.version if install else "<CANN version>"
    arch = value(machine.os.arch, "<arch>")
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"places": machine.cann.nnal.place},
        fixes=(
            Fix(
                FIX,
                (
                    f"./Ascend-cann-nnal_{version}_linux-{arch}.run --install",
                    "source /usr/local/Ascend/nnal/atb/set_env.sh",
                ),
                needs_root=True,
            ),
        ),
        evidence=(evidence("import torch_npu", error),),
    )


CHECK = Check(
    "NPU041",
    "nnal-missing",
    Text("NNAL is there where it is needed", "需要 NNAL 时已安装"),
    needs=("cann.nnal", "probes.torch_npu"),
    run=run,
    explained_by=("NPU030",),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/130",),
)
