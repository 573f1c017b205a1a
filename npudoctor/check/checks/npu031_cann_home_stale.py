"""ASCEND_HOME_PATH or ASCEND_OPP_PATH names a folder that does not exist."""

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
    device_works,
    evidence,
    set_env,
    value,
)

TITLE = Text("{name} names {path}, which does not exist", "{name} 指向不存在的 {path}")
UNSET_TITLE = Text("ASCEND_HOME_PATH is set and {name} is not", "设置了 ASCEND_HOME_PATH，但没有设置 {name}")
CAUSE = Text(
    "set_env.sh exports both together; they are left over from a CANN that was removed or moved, or one was "
    "set by hand, and torch_npu stops at import when it finds one without the other",
    "二者由 set_env.sh 一同导出；现在的值来自已删除或移动的 CANN，或其中一个是手工设置的；"
    "torch_npu 发现缺少其一时在导入阶段就会报错",
)
FIX = Text(
    "open a clean shell and source the set_env.sh of the CANN that is there",
    "打开干净的终端，source 现有 CANN 的 set_env.sh",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """As torch_npu tests them at import: the home, then the folder of operators."""
    home, opp = machine.var("ASCEND_HOME_PATH"), machine.var("ASCEND_OPP_PATH")
    stale = "ASCEND_HOME_PATH" if machine.cann.home_exists is False else ""
    if not stale and home and (not opp or machine.cann.opp_exists is False) and not device_works(machine):
        stale = "ASCEND_OPP_PATH"
    if not stale:
        return
    path = (opp if stale == "ASCEND_OPP_PATH" else home) or machine.var("ASCEND_TOOLKIT_HOME") or ""
    installs = value(machine.cann.installs, ())
    script = set_env(best_install(machine, tables)) if installs else "/usr/local/Ascend/cann/set_env.sh"
    unset = stale == "ASCEND_OPP_PATH" and not opp
    yield CHECK.found(
        Severity.ERROR,
        UNSET_TITLE if unset else TITLE,
        CAUSE,
        {"name": stale, "path": path},
        place=stale,
        fixes=(Fix(FIX, ("env -i HOME=$HOME PATH=/usr/bin:/bin bash", f"source {script}")),),
        evidence=(evidence("ASCEND_HOME_PATH", home or "unset"), evidence("ASCEND_OPP_PATH", opp or "unset")),
    )


CHECK = Check(
    "NPU031",
    "cann-home-stale",
    Text("ASCEND_HOME_PATH and ASCEND_OPP_PATH exist", "ASCEND_HOME_PATH 与 ASCEND_OPP_PATH 存在"),
    needs=("env", "cann.installs"),
    run=run,
    explained_by=("NPU030",),
    sources=("https://github.com/Ascend/pytorch/blob/master/torch_npu/_init/registry/registry_manager.py",),
)
