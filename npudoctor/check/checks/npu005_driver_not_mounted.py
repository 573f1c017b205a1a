"""The device nodes were passed into the container, the driver's libraries were not."""

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
    chip_nodes,
    device_works,
    evidence,
    in_container,
)

TITLE = Text("the driver's libraries are not mounted in this container", "驱动的库没有挂载到此容器中")
CAUSE = Text(
    "{nodes} is here, but {root}/driver/lib64 holds no libascend_hal.so: a container takes the user "
    "part of the "
    "driver from its host by mount, it does not install one",
    "容器里有 {nodes}，但 {root}/driver/lib64 中没有 libascend_hal.so：容器通过挂载使用主机驱动的用户"
    "态部分，不应自行安装",
)
FIX = Text(
    "start the container again with the driver folder mounted (npudoctor container prints the whole "
    "line on the host)",
    "重新启动容器并挂载驱动目录（在主机上运行 npudoctor container 可得到完整命令）",
)
RUNTIME_FIX = Text("let Ascend Docker Runtime mount it", "使用 Ascend Docker Runtime 自动挂载")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """In a container with chip nodes and no libascend_hal.so."""
    nodes = chip_nodes(machine)
    if isinstance(machine.driver.libraries, Known) or not nodes:
        return
    root = machine.driver.root
    mount = f"-v {root}/driver:{root}/driver:ro"
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"nodes": nodes[0].path, "root": root},
        fixes=(
            Fix(
                FIX,
                (
                    f"docker run --device {nodes[0].path} --device /dev/davinci_manager --device "
                    f"/dev/devmm_svm "
                    f"--device /dev/hisi_hdc {mount} -v /usr/local/dcmi:/usr/local/dcmi:ro "
                    "-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro "
                    "-v /etc/ascend_install.info:/etc/ascend_install.info:ro <image>",
                ),
                host_only=True,
            ),
            Fix(
                RUNTIME_FIX,
                ("docker run --runtime=ascend -e ASCEND_VISIBLE_DEVICES=0 <image>",),
                host_only=True,
            ),
        ),
        evidence=(evidence(machine.driver.libraries.place, "libascend_hal.so: ENOENT"),),
    )


CHECK = Check(
    "NPU005",
    "driver-not-mounted",
    Text("the driver's libraries are mounted", "驱动的库已挂载"),
    needs=("driver.libraries", "nodes", "os.container"),
    run=run,
    explained_by=("NPU001",),
    applies=lambda m: in_container(m) and not device_works(m),
    sources=("https://github.com/vllm-project/vllm-ascend/blob/main/docs/source/installation.md",),
)
