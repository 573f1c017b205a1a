"""NNAL is on disk; its own set_env.sh was not sourced."""

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
    import_error,
    value,
)

TITLE = Text(
    "NNAL {version} is there, but {atb}/set_env.sh was not sourced",
    "已有 NNAL {version}，但没有 source {atb}/set_env.sh",
)
CAUSE = Text(
    "CANN's set_env.sh does not cover NNAL; without its own, libatb.so is not on the library path",
    "CANN 的 set_env.sh 不包含 NNAL；不单独 source 则库路径中没有 libatb.so",
)
FIX = Text("source it after CANN's", "在 CANN 之后 source 它")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """An import asked for libatb.so, and NNAL has a folder."""
    error, nnal = import_error(machine), value(machine.cann.nnal)
    if "libatb.so" not in error or nnal is None:
        return
    atb, version = nnal
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"version": version, "atb": atb},
        fixes=(Fix(FIX, (f"source {atb}/set_env.sh",)),),
        evidence=(
            evidence("import torch_npu", error),
            evidence("ATB_HOME_PATH", machine.var("ATB_HOME_PATH") or "unset"),
        ),
    )


CHECK = Check(
    "NPU042",
    "nnal-not-sourced",
    Text("NNAL's set_env.sh is sourced where it is needed", "需要 NNAL 时已 source 其 set_env.sh"),
    needs=("cann.nnal", "probes.torch_npu"),
    run=run,
    sources=("https://github.com/vllm-project/vllm-ascend/blob/main/docs/source/faqs.md",),
)
