"""CANN's libraries are on the path, its Python folders are not: operators that must be compiled fail."""

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
    set_env,
)

TITLE = Text(
    "PYTHONPATH lacks CANN's Python folders: the operator compiler (tbe) cannot be imported",
    "PYTHONPATH 缺少 CANN 的 Python 目录：无法导入算子编译器（tbe）",
)
CAUSE = Text(
    "set_env.sh puts {wanted} on PYTHONPATH, and something replaced the variable afterwards; operators with "
    "ready binaries still work, so a first small test passes and training fails later "
    "(No module named 'tbe')",
    "set_env.sh 会把 {wanted} 加入 PYTHONPATH，但之后被覆盖；已有二进制的算子仍可运行，"
    "因此小测试能通过，训练到需要编译算子时才失败（No module named 'tbe'）",
)
FIX = Text(
    "source set_env.sh last, and append to PYTHONPATH instead of replacing it",
    "最后再 source set_env.sh，并在 PYTHONPATH 上追加（append）而不是覆盖",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Unless the old way was taken: CANN's `te` installed as a package."""
    install = machine.cann.active()
    if install is None or machine.python.first("te") is not None:
        return
    paths = {p.rstrip("/") for p in (machine.var("PYTHONPATH") or "").split(":")}
    roots = (install.home, *install.aliases)
    wanted = f"{roots[-1]}/python/site-packages"
    if any(p.startswith(root) and p.endswith("python/site-packages") for p in paths for root in roots):
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"wanted": wanted},
        place="PYTHONPATH",
        fixes=(Fix(FIX, (f"source {set_env(install)}", "export PYTHONPATH=$PYTHONPATH:/your/project")),),
        evidence=(evidence("PYTHONPATH", machine.var("PYTHONPATH") or "unset"),),
    )


CHECK = Check(
    "NPU040",
    "cann-pythonpath-missing",
    Text("CANN's Python folders are on PYTHONPATH", "CANN 的 Python 目录在 PYTHONPATH 中"),
    needs=("env", "cann.installs", "python.packages"),
    run=run,
    explained_by=("NPU031", "NPU032", "NPU034"),
    applies=lambda m: m.cann.active() is not None,
    sources=(
        "https://github.com/Ascend/pytorch/issues/29",
        "https://github.com/hicann/runtime/blob/master/scripts/package/runtime/scripts/set_env.sh",
    ),
)
