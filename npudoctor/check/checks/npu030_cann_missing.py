"""torch_npu (or the NPU itself) needs CANN, and no installation of it was found."""

from __future__ import annotations

import re

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
    has_npu_software,
    pip,
    seen_hardware,
    set_fixes,
    torch_npu_version,
    value,
)

TITLE = Text("CANN is not installed", "没有安装 CANN")
LIBRARY_TITLE = Text(
    "CANN is not installed: torch_npu cannot load {library}", "没有安装 CANN：torch_npu 无法加载 {library}"
)
CAUSE = Text(
    "torch_npu is a layer over CANN's libraries (libhccl.so, libascendcl.so, ...); no CANN was found in "
    "ASCEND_HOME_PATH, /usr/local/Ascend or $HOME/Ascend",
    "torch_npu 建立在 CANN 的库（libhccl.so、libascendcl.so 等）之上；在 ASCEND_HOME_PATH、"
    "/usr/local/Ascend 和 $HOME/Ascend 中都没有找到 CANN",
)
INSTALL_FIX = Text(
    "install the CANN toolkit and the ops package of your chip that are paired with this torch_npu, "
    "then source its set_env.sh in the shell that starts Python (a user who is not root installs it "
    "under $HOME/Ascend)",
    "安装与此 torch_npu 配套的 CANN toolkit 和对应芯片的 ops 包，"
    "然后在启动 Python 的终端里 source 其 set_env.sh（非 root 用户安装到 $HOME/Ascend 下）",
)
ELSEWHERE_FIX = Text(
    "if it is installed in another place, source the set_env.sh there",
    "如果装在别处，请 source 那里的 set_env.sh",
)
REMOVE_FIX = Text(
    "if this machine is not meant to use an NPU, remove torch_npu (or switch its autoload off): "
    "plain torch works then",
    "如果本机并不打算使用 NPU，请卸载 torch_npu（或关闭其自动加载），此后普通 torch 即可使用",
)
_LIBRARY = re.compile(r"(lib\w+\.so[\w.]*): cannot open shared object file")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """No install anywhere, although the hardware or torch_npu is there."""
    if value(machine.cann.installs):
        return
    run_ = value(machine.probes.torch_npu) or value(machine.probes.torch)
    match = _LIBRARY.search(run_.error) if run_ is not None else None
    seen = [
        evidence(str(getattr(machine.cann.installs, "place", "")), "version.info, *_install.info: ENOENT")
    ]
    if match and run_ is not None:
        seen.insert(0, evidence("import torch_npu", run_.error))
    version = torch_npu_version(machine)
    row = tables.row_for_torch_npu(version).value if version else None
    known = set_fixes(machine, tables, torch_npu=row.torch_npu) if row else ()
    fixes = [
        *known,
        Fix(INSTALL_FIX, (_pair(machine), "source /usr/local/Ascend/cann/set_env.sh")),
        Fix(ELSEWHERE_FIX, ("source <CANN>/set_env.sh",)),
    ]
    if machine.python.first("torch-npu") is not None and not seen_hardware(machine):
        fixes.append(Fix(REMOVE_FIX, (f"{pip(machine)} uninstall torch-npu",)))
    yield CHECK.found(
        Severity.ERROR,
        LIBRARY_TITLE if match else TITLE,
        CAUSE,
        {"library": match.group(1) if match else ""},
        fixes=tuple(fixes),
        evidence=tuple(seen),
    )


def _pair(machine: Machine) -> str:
    version = torch_npu_version(machine)
    return f"npudoctor pair --torch-npu {version}" if version else "npudoctor pair"


CHECK = Check(
    "NPU030",
    "cann-missing",
    Text("CANN is installed", "已安装 CANN"),
    needs=("cann.installs",),
    run=run,
    explained_by=("NPU001",),
    applies=lambda m: (seen_hardware(m) or has_npu_software(m)) and not device_works(m),
    sources=("https://github.com/Ascend/pytorch/blob/master/docs/zh/installation_guide/faq.md",),
)
