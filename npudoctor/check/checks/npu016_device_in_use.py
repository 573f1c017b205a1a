"""The chip belongs to somebody else: one ordinary container at a time may have it."""

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
    chip_nodes,
    evidence,
    value,
)

TITLE = Text(
    "the NPU is in use by another container or process (DCMI {code})",
    "NPU 正被另一个容器或进程占用（DCMI {code}）",
)
CAUSE = Text(
    "one chip serves one ordinary container at a time; a process of another user in another mount namespace "
    "on the host holds it as well",
    "一个芯片同一时间只能供一个普通容器使用；主机上处于其他 mount namespace 的进程也会占用它",
)
FIND_FIX = Text(
    "on the host, find who has the node and stop that container", "在主机上找出占用节点的容器并停止它"
)
OTHER_FIX = Text(
    "use another chip of this host, one that no other container has", "改用本机另一个没有被其他容器占用的芯片"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """DCMI code -8020, or a node that answers EBUSY."""
    failure = value(machine.npu_smi.failure)
    busy = [n for n in chip_nodes(machine) if n.opened == "EBUSY"]
    if not busy and (failure is None or failure.code != -8020):
        return
    node = busy[0].path if busy else (chip_nodes(machine)[0].path if chip_nodes(machine) else "/dev/davinci0")
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"code": failure.code if failure else "EBUSY"},
        fixes=(
            Fix(
                FIND_FIX,
                (
                    "docker ps --no-trunc",
                    f"fuser -v {node}",
                    "for c in $(docker ps -q); do docker inspect -f '{{.Name}} {{.HostConfig.Devices}}"
                    "' $c; done",
                ),
                needs_root=True,
                host_only=True,
            ),
            Fix(OTHER_FIX, ("npudoctor container",), host_only=True),
        ),
        evidence=(
            evidence("npu-smi info", failure.text.splitlines()[-1] if failure and failure.text else "EBUSY"),
        ),
    )


CHECK = Check(
    "NPU016",
    "device-in-use",
    Text("no one else holds the chip", "芯片未被他人占用"),
    needs=("npu_smi.failure",),
    run=run,
    explained_by=("NPU013", "NPU014", "NPU015"),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/632",),
)
