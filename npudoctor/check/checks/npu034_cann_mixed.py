"""Libraries of two CANN installations are on the path at once."""

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

TITLE = Text("two CANN installations are mixed: {homes}", "混用了两套 CANN：{homes}")
CAUSE = Text(
    "set_env.sh removes only what lies under its own root, so a second one from another root is added "
    "on top; "
    "libraries of both are then loaded into one process",
    "set_env.sh 只会清除自身根目录下的条目，因此另一根目录的 CANN 会叠加上去，同一进程会加载两套库",
)
HOME_CAUSE = Text(
    "ASCEND_HOME_PATH or ASCEND_OPP_PATH points at {named}, and the loader takes {loaded} first",
    "ASCEND_HOME_PATH 或 ASCEND_OPP_PATH 指向 {named}，而加载器优先使用 {loaded}",
)
FIX = Text(
    "start a clean shell and source exactly one set_env.sh", "打开干净的终端，只 source 一个 set_env.sh"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """More than one home on the library path, or another one than ASCEND_HOME_PATH names."""
    homes = value(machine.cann.on_library_path, ())
    named = _home_named(machine)
    mixed = len(homes) > 1
    opp = machine.cann.opp_home
    if not mixed and homes and named == homes[0] and _is_install(machine, opp) and opp != named:
        named = opp
    if not homes or (not mixed and (named is None or named == homes[0])):
        return
    best = best_install(machine, tables)
    yield CHECK.found(
        Severity.WARNING,
        TITLE,
        CAUSE if mixed else HOME_CAUSE,
        {"homes": ", ".join(homes if mixed else (homes[0], str(named))), "named": named, "loaded": homes[0]},
        fixes=(Fix(FIX, ("env -i HOME=$HOME PATH=/usr/bin:/bin bash", f"source {set_env(best)}")),),
        evidence=(
            evidence("LD_LIBRARY_PATH", machine.var("LD_LIBRARY_PATH") or ""),
            evidence("ASCEND_HOME_PATH", machine.var("ASCEND_HOME_PATH") or "unset"),
            evidence("ASCEND_OPP_PATH", machine.var("ASCEND_OPP_PATH") or "unset"),
        ),
    )


def _is_install(machine: Machine, home: str) -> bool:
    return any(home == install.home for install in value(machine.cann.installs, ()))


def _home_named(machine: Machine) -> str | None:
    name = machine.var("ASCEND_HOME_PATH")
    for install in value(machine.cann.installs, ()):
        if name and name.rstrip("/") in (install.home, *install.aliases):
            return str(install.home)
    return None


CHECK = Check(
    "NPU034",
    "cann-mixed",
    Text("one CANN is in use", "只使用一套 CANN"),
    needs=("cann.installs", "cann.on_library_path"),
    run=run,
    applies=lambda m: len(value(m.cann.installs, ())) > 1,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/7359",),
)
