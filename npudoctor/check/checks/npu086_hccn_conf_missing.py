"""Several nodes are configured, and the file with the NPU network addresses is not in the container."""

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
    evidence,
    seen_hardware,
)

TITLE = Text(
    "a job over {nodes} nodes, and /etc/hccn.conf is not here",
    "配置了 {nodes} 个节点的作业，但没有 /etc/hccn.conf",
)
CAUSE = Text(
    "collective communication between nodes reads the addresses of the NPUs' network ports from it; "
    "without it "
    "several nodes fail, or run with wrong results; one node is not affected",
    "节点间集合通信从中读取 NPU 网口地址；缺少时多节点作业会失败，甚至结果错误；单节点不受影响",
)
FIX = Text("mount the file and hccn_tool from the host", "从主机挂载该文件和 hccn_tool")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Only when more than one node is configured by the launcher's variables."""
    nodes = _nodes(machine)
    if nodes < 2 or isinstance(machine.hccn_conf, Known):
        return
    tool = f"{machine.driver.root}/driver/tools/hccn_tool"
    yield CHECK.found(
        Severity.WARNING,
        TITLE,
        CAUSE,
        {"nodes": nodes},
        fixes=(
            Fix(
                FIX,
                (f"docker run -v /etc/hccn.conf:/etc/hccn.conf:ro -v {tool}:{tool}:ro ... <image>",),
                host_only=True,
            ),
        ),
        evidence=(
            evidence("/etc/hccn.conf", "ENOENT"),
            evidence("NNODES", machine.var("NNODES") or nodes),
        ),
    )


def _nodes(machine: Machine) -> int:
    def number(name: str) -> int:
        text = machine.var(name) or ""
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    local = number("LOCAL_WORLD_SIZE")
    return number("NNODES") or (number("WORLD_SIZE") // local if local else 0)


CHECK = Check(
    "NPU086",
    "hccn-conf-missing",
    Text("NPU network addresses are there for several nodes", "多节点所需的 NPU 网络配置存在"),
    needs=("env", "hccn_conf"),
    run=run,
    applies=lambda m: seen_hardware(m) and _nodes(m) > 1,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/7711",),
)
