"""CANN is installed, and the environment does not point at it."""

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

TITLE = Text(
    "CANN {cann} is installed, but its set_env.sh was not sourced here",
    "已安装 CANN {cann}，但当前环境没有 source 其 set_env.sh",
)
CAUSE = Text(
    "no folder of {home} is on LD_LIBRARY_PATH (nor in /etc/ld.so.conf.d), so the loader cannot find CANN's "
    "libraries; sudo, systemd, docker exec and ray start from another shell drop the variables",
    "LD_LIBRARY_PATH（以及 /etc/ld.so.conf.d）中没有 {home} 的目录，加载器找不到 CANN 的库；"
    "sudo、systemd、docker exec 以及在其他终端执行的 ray start 都会丢失这些变量",
)
FIX = Text(
    "source it in the shell that starts Python (the library path is read when the process starts)",
    "在启动 Python 的终端里 source（库路径在进程启动时读取）",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """No lib64 of any install where the loader looks, and the device does not work regardless."""
    installs = value(machine.cann.installs, ())
    if not installs or value(machine.cann.on_library_path) or device_works(machine):
        return
    best = best_install(machine, tables)
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"cann": best.version, "home": best.home},
        fixes=(Fix(FIX, (f"source {set_env(best)}",)),),
        evidence=(
            evidence("LD_LIBRARY_PATH", machine.var("LD_LIBRARY_PATH") or "unset"),
            evidence(best.place, best.version),
        ),
    )


CHECK = Check(
    "NPU032",
    "cann-not-sourced",
    Text("CANN's set_env.sh is sourced", "已 source CANN 的 set_env.sh"),
    needs=("cann.installs", "cann.on_library_path"),
    run=run,
    explained_by=("NPU031",),
    applies=lambda m: bool(value(m.cann.installs)),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/262",),
)
