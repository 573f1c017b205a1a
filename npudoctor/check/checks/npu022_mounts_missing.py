"""The container works in part: files that only its host can give are not mounted."""

from __future__ import annotations

from npudoctor.check.api import (
    Absent,
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

TITLE = Text("the container was started without: {missing}", "启动容器时缺少挂载：{missing}")
CAUSE = Text(
    "without them versions cannot be checked, npu-smi and the device interface cannot work, and CANN's "
    "set_env.sh may fall back to stub libraries",
    "缺少它们则无法检查版本，npu-smi 与设备接口无法工作，CANN 的 set_env.sh 还可能退回到桩库",
)
FIX = Text(
    "add the mounts (npudoctor container on the host prints the whole line)",
    "补充挂载（在主机上运行 npudoctor container 可得到完整命令）",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A note; a warning only where something is seen to fail.

    Ascend Docker Runtime mounts the libraries and neither of these files by default.
    """
    root = machine.driver.root
    places = (
        (machine.driver.info, f"{root}/driver/version.info"),
        (machine.driver.dcmi, "/usr/local/dcmi"),
        (machine.driver.install, "/etc/ascend_install.info"),
    )
    missing = [path for leaf, path in places if isinstance(leaf, Absent)]
    if not missing:
        return
    mounts = " ".join(f"-v {path}:{path}:ro" for path in missing)
    yield CHECK.found(
        Severity.WARNING if _fails(machine) else Severity.NOTE,
        TITLE,
        CAUSE,
        {"missing": ", ".join(missing)},
        fixes=(Fix(FIX, (f"docker run {mounts} ... <image>",), host_only=True),),
        evidence=tuple(evidence(path, "ENOENT") for path in missing),
    )


def _fails(machine: Machine) -> bool:
    tried = isinstance(machine.probes.compute, Known) or isinstance(machine.npu_smi.failure, Known)
    return tried and not device_works(machine)


CHECK = Check(
    "NPU022",
    "mounts-missing",
    Text("the container has the mounts it needs", "容器具备所需挂载"),
    needs=("os.container", "driver.info", "driver.dcmi", "driver.install"),
    run=run,
    explained_by=("NPU001", "NPU005"),
    applies=lambda m: in_container(m) and bool(chip_nodes(m)),
    sources=("https://github.com/vllm-project/vllm-ascend/blob/main/docs/source/installation.md",),
)
