"""ASCEND_HOME_PATH names a folder that does not exist."""

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
    best_install,
    evidence,
    set_env,
    value,
)

TITLE = Text("ASCEND_HOME_PATH names {home}, which does not exist", "ASCEND_HOME_PATH 指向不存在的 {home}")
CAUSE = Text(
    "the variable is left over from a CANN that was removed or moved; torch_npu stops at import when the "
    "folder is missing",
    "该变量来自已删除或移动的 CANN；目录不存在时 torch_npu 在导入阶段就会报错",
)
FIX = Text(
    "open a clean shell and source the set_env.sh of the CANN that is there",
    "打开干净的终端，source 现有 CANN 的 set_env.sh",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Only where the variable is set."""
    if machine.cann.home_exists is not False:
        return
    home = machine.var("ASCEND_HOME_PATH") or machine.var("ASCEND_TOOLKIT_HOME") or "?"
    installs = value(machine.cann.installs, ())
    script = set_env(best_install(machine, tables)) if installs else "/usr/local/Ascend/cann/set_env.sh"
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"home": home},
        place="ASCEND_HOME_PATH",
        fixes=(Fix(FIX, ("env -i HOME=$HOME PATH=/usr/bin:/bin bash", f"source {script}")),),
        evidence=(evidence("ASCEND_HOME_PATH", home),),
    )


CHECK = Check(
    "NPU031",
    "cann-home-stale",
    Text("ASCEND_HOME_PATH exists", "ASCEND_HOME_PATH 存在"),
    needs=("env", "cann.installs"),
    run=run,
    explained_by=("NPU030",),
    sources=("https://github.com/Ascend/pytorch/blob/master/torch_npu/_init/registry/registry_manager.py",),
)
