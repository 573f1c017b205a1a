"""npu-smi fails. One code can have several causes: list them in order, each with the test that tells."""

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
    device_works,
    evidence,
    value,
)

TITLE = Text("npu-smi failed: {words}", "npu-smi 执行失败：{words}")
INNER_CAUSE = Text(
    "-8005 is an inner error of the device interface with several causes; in the order of frequency: "
    "(1) another container holds the chip; (2) this container lacks rights that another one has; "
    "(3) a device plugin passed the nodes without the driver (NODRV); (4) the driver on the host is down",
    "-8005 是设备接口的内部错误，可能有多种原因，按常见程度：（1）另一个容器占用了芯片（another container）；"
    "（2）此容器缺少所需权限；（3）设备插件只映射了节点而没有驱动（NODRV）；（4）主机驱动未正常运行",
)
GENERAL_CAUSE = Text(
    "its words and exit status are all there is: exit {exit}", "只有它的输出和退出码可供参考：退出码 {exit}"
)
NO_CARD_CAUSE = Text(
    "the driver answers that there is no card on this server", "驱动报告此服务器上没有 NPU 卡"
)
HELD_FIX = Text(
    "(1) test: on the host, is the chip in another container?", "（1）验证：在主机上看芯片是否在另一个容器里"
)
RIGHTS_FIX = Text(
    "(2) test: does it work with --privileged? then rights are missing: compare capabilities and devices",
    "（2）验证：加 --privileged 是否可用？若可用则缺权限，请比较能力与设备列表",
)
PLUGIN_FIX = Text(
    "(3) test: is {root}/driver/lib64 in the container? if not, mount it or drop NODRV",
    "（3）验证：容器里是否有 {root}/driver/lib64？没有则挂载它，或去掉 NODRV",
)
DRIVER_FIX = Text("(4) test: does npu-smi work on the host itself?", "（4）验证：在主机上 npu-smi 是否正常")
READ_FIX = Text("look the message up", "查询该报错")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Every failure but the one that has a check of its own (-8020)."""
    failure = value(machine.npu_smi.failure)
    if failure is None or failure.code == -8020:
        return
    words = next(
        (line for line in reversed(failure.text.splitlines()) if line.strip()), f"exit {failure.exit}"
    )
    inner = failure.code == -8005
    cause = INNER_CAUSE if inner else NO_CARD_CAUSE if "no NPU card" in failure.text else GENERAL_CAUSE
    fixes = (
        (
            Fix(
                HELD_FIX, ("docker ps --no-trunc", "fuser -v /dev/davinci*"), needs_root=True, host_only=True
            ),
            Fix(RIGHTS_FIX, ("docker run --privileged ... <image> npu-smi info",), host_only=True),
            Fix(PLUGIN_FIX, (f"ls {machine.driver.root}/driver/lib64",)),
            Fix(DRIVER_FIX, ("npu-smi info",), host_only=True),
        )
        if inner
        else (Fix(READ_FIX, ("npu-smi info 2>&1 | npudoctor explain -",)),)
    )
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        cause,
        {"words": words.strip()[:160], "exit": failure.exit, "root": machine.driver.root},
        fixes=fixes,
        evidence=(evidence("npu-smi info", words.strip()),),
    )


CHECK = Check(
    "NPU017",
    "npu-smi-failed",
    Text("npu-smi works", "npu-smi 正常"),
    needs=("npu_smi.failure",),
    run=run,
    explained_by=("NPU001", "NPU003", "NPU004", "NPU005", "NPU011", "NPU012", "NPU013", "NPU014", "NPU015"),
    sources=(
        "https://github.com/vllm-project/vllm-ascend/issues/2698",
        "https://github.com/Project-HAMi/HAMi/issues/1696",
    ),
)
