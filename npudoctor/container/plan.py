"""Plan a container start from the facts of the host: devices, mounts, group, image; and what is missing."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from npudoctor.core.finding import Evidence, Finding, Fix, Place, Severity
from npudoctor.core.text import Text
from npudoctor.core.unit_words import Part, Said
from npudoctor.machine.facts import Denied, Known, Leaf, Machine, Node, Unknown, value
from npudoctor.pairing.seen import family_of
from npudoctor.pairing.table import Tables

SOURCE = "https://github.com/vllm-project/vllm-ascend/blob/main/docs/source/installation.md"
_NO_CHIPS = Text("this host has no /dev/davinci* node to map", "此主机没有可映射的 /dev/davinci* 节点")
_NO_CHIPS_WHY = Text(
    "without a chip's node a container has no NPU; the driver is missing, not loaded, or no chip started",
    "没有芯片节点，容器内就没有 NPU；可能没有驱动、驱动未加载或芯片未启动",
)
_CHECK = Text("find out why on this host", "在此主机上查明原因")
_ASKED = Text("chip {chip} is not on this host (there are {there})", "此主机没有芯片 {chip}（现有 {there}）")
_ASKED_WHY = Text("only nodes that exist can be mapped", "只能映射存在的节点")
_CHOOSE = Text("choose one of those that are there", "请从现有芯片中选择")
_MISSING = Text("{path} is not on this host: left out of the line", "此主机没有 {path}：命令中已省略")
_REFUSED = Text(
    "{path} may not be looked at by this user: left out of the line", "当前用户无权查看 {path}：命令中已省略"
)
_AS_ROOT = Text(
    "run this command as root, or make the path readable", "以 root 运行此命令，或放开该路径的读权限"
)
_UNSEEN = Text("{path} could not be looked at: left out of the line", "无法查看 {path}：命令中已省略")
_LOOK = Text("look at the path by hand", "手动检查该路径")
_INSIDE = Text("this is a container: the line must be made on the host", "当前在容器内：请在主机上生成该命令")
_INSIDE_WHY = Text(
    "a container sees only what it was given, not what its host has",
    "容器只能看到映射进来的内容，看不到主机的全部",
)
_ON_HOST = Text(
    "run this command on the host, or record the host and name the file here",
    "在主机上运行此命令，或在主机上录制后在此指定文件",
)
_WHY = {
    "libraries": Text(
        "every program on the NPU loads the driver's libraries from there", "NPU 程序要从中加载驱动的库"
    ),
    "version": Text("versions cannot be checked inside without it", "没有它则无法在容器内检查版本"),
    "record": Text(
        "CANN's set_env.sh looks up the driver's place in it", "CANN 的 set_env.sh 从中查找驱动位置"
    ),
    "dcmi": Text("npu-smi and monitoring need the device interface library", "npu-smi 和监控需要设备接口库"),
    "network": Text(
        "jobs over several hosts read the addresses of the chips from it", "多机任务从中读取芯片的网络地址"
    ),
    "smi": Text("without it chips cannot be looked at inside", "没有它则无法在容器内查看芯片"),
}
_CONFIGURE = Text(
    "configure the network of the chips on this host with hccn_tool", "在此主机上用 hccn_tool 配置芯片网络"
)
_REINSTALL = Text(
    "it comes with the driver package: install that completely", "它随驱动包提供：请完整安装驱动"
)

#: Code -> everything that may be said under it.
SAID = {
    "NPU096": Said(
        "inside-a-container",
        ((Part.SAYS, _INSIDE), (Part.CAUSE, _INSIDE_WHY), (Part.FIX, _ON_HOST)),
        (SOURCE,),
    ),
    "NPU097": Said(
        "nothing-to-map",
        ((Part.SAYS, _NO_CHIPS), (Part.CAUSE, _NO_CHIPS_WHY), (Part.FIX, _CHECK)),
        (SOURCE,),
    ),
    "NPU098": Said(
        "chip-not-here", ((Part.SAYS, _ASKED), (Part.CAUSE, _ASKED_WHY), (Part.FIX, _CHOOSE)), (SOURCE,)
    ),
    "NPU099": Said(
        "mount-source-missing",
        (
            *((Part.SAYS, text) for text in (_MISSING, _REFUSED, _UNSEEN)),
            *((Part.CAUSE, text) for text in _WHY.values()),
            *((Part.FIX, text) for text in (_REINSTALL, _CONFIGURE, _AS_ROOT, _LOOK)),
        ),
        (SOURCE,),
    ),
}


@dataclass(frozen=True)
class Plan:
    """A container start.

    Attributes:
        devices: nodes to map, chips first.
        mounts: host paths, mounted read-only at the same place.
        groups: numeric groups that own the nodes.
        image: image to start, or a placeholder when the table has none for this driver and chip.
        findings: what is missing on the host.
    """

    devices: tuple[str, ...]
    mounts: tuple[str, ...]
    groups: tuple[int, ...]
    image: str
    findings: tuple[Finding, ...]

    def command(self, shell: str = "bash") -> str:
        """The whole line, one option per row."""
        rows = ["docker run -it --rm --shm-size 16g"]
        rows += [f"--device {shlex.quote(path)}" for path in self.devices]
        rows += [f"-v {shlex.quote(path)}:{shlex.quote(path)}:ro" for path in self.mounts]
        rows += [f"--group-add {group}" for group in self.groups]
        rows.append(f"{self.image} {shell}")
        return " \\\n  ".join(rows)


def plan(
    machine: Machine, tables: Tables, *, chips: tuple[int, ...] = (), image: str = "", nodes: int = 1
) -> Plan:
    """What to start a container with on this host.

    Args:
        machine: facts of the host.
        tables: pairing tables, for the image.
        chips: numbers of the chips wanted; empty for all.
        image: image to use; empty to choose one that fits the driver.
        nodes: hosts of the job; above one the network file and tool are mounted too.
    """
    chip_nodes = list(machine.chip_nodes())
    stop = _nothing_to_do(machine, chip_nodes)
    if stop is not None:
        return Plan((), (), (), image or "<image>", (stop,))
    chosen, findings = _choose(chip_nodes, chips)
    managers = [n for n in value(machine.nodes, ()) if n not in chip_nodes]
    mounts, missing = _mounts(machine, nodes)
    used = chosen + managers
    groups = {n.gid for n in used if n.gid > 0 and not int(n.mode or "0666", 8) & 0o006}
    return Plan(
        tuple(n.path for n in used),
        mounts,
        tuple(sorted(groups)),
        shlex.quote(image) if image else _image(machine, tables),
        tuple(findings + missing),
    )


def _nothing_to_do(machine: Machine, nodes: list[Node]) -> Finding | None:
    """Why no line can be made here at all."""
    if isinstance(machine.os.container, Known):
        commands = ("npudoctor container", "npudoctor container --replay host.json")
        fix = Fix(_ON_HOST, commands, host_only=True)
        return _finding("NPU096", "inside-a-container", Severity.ERROR, _INSIDE, _INSIDE_WHY, fixes=(fix,))
    if not nodes:
        fix = Fix(_CHECK, ("npudoctor check",))
        return _finding(
            "NPU097", "nothing-to-map", Severity.ERROR, _NO_CHIPS, _NO_CHIPS_WHY, fixes=(fix,), place="/dev"
        )
    return None


def _choose(nodes: list[Node], wanted: tuple[int, ...]) -> tuple[list[Node], list[Finding]]:
    by_number = {int("".join(c for c in n.path if c.isdecimal())): n for n in nodes}
    there = ", ".join(map(str, sorted(by_number)))
    findings = [
        _finding(
            "NPU098",
            "chip-not-here",
            Severity.ERROR,
            _ASKED,
            _ASKED_WHY,
            {"chip": number, "there": there},
            fixes=(Fix(_CHOOSE),),
            place="/dev",
        )
        for number in wanted
        if number not in by_number
    ]
    return [by_number[i] for i in (wanted or sorted(by_number)) if i in by_number], findings


def _mounts(machine: Machine, nodes: int) -> tuple[tuple[str, ...], list[Finding]]:
    root = machine.driver.root
    wanted: list[tuple[str, Leaf, str, Severity]] = [
        ("libraries", machine.driver.libraries, f"{root}/driver/lib64", Severity.ERROR),
        ("version", machine.driver.info, f"{root}/driver/version.info", Severity.WARNING),
        ("record", machine.driver.install, "/etc/ascend_install.info", Severity.WARNING),
        ("dcmi", machine.driver.dcmi, "/usr/local/dcmi", Severity.WARNING),
        (
            "smi",
            machine.npu_smi.path,
            value(machine.npu_smi.path, "/usr/local/bin/npu-smi"),
            Severity.WARNING,
        ),
    ]
    mounts, missing = [], []
    for key, leaf, path, severity in wanted:
        if isinstance(leaf, Known):
            mounts.append(path)
        else:
            missing.append(_left_out(key, leaf, path, severity, _REINSTALL))
    if nodes > 1:
        if isinstance(machine.hccn_conf, Known):
            mounts.append(machine.hccn_conf.value)
        else:
            missing.append(
                _left_out("network", machine.hccn_conf, "/etc/hccn.conf", Severity.WARNING, _CONFIGURE)
            )
        if isinstance(machine.hccn_tool, Known):
            mounts.append(machine.hccn_tool.value)
    return tuple(mounts), missing


def _left_out(key: str, leaf: Leaf, path: str, severity: Severity, remedy: Text) -> Finding:
    """A mount that is not in the line: its source is not there, or could not be looked at."""
    title, seen = _MISSING, ""
    params: dict[str, object] = {"path": path}
    if isinstance(leaf, Unknown):
        title, remedy = (_REFUSED, _AS_ROOT) if isinstance(leaf, Denied) else (_UNSEEN, _LOOK)
        seen = leaf.detail
    return _finding(
        "NPU099",
        "mount-source-missing",
        severity,
        title,
        _WHY[key],
        params,
        fixes=(Fix(remedy, needs_root=True),),
        evidence=(Evidence(path, seen),) if seen else (),
        place=path,
    )


def _image(machine: Machine, tables: Tables) -> str:
    """The newest CANN image whose release this driver carries, for this chip."""
    info, smi = value(machine.driver.info), value(machine.npu_smi.info)
    chip = family_of(smi.chips[0]) if smi is not None and smi.chips else None
    if info is None or chip is None:
        return "<image>"
    try:
        carried = tables.cann_for_driver(info.version)
    except ValueError:
        return "<image>"
    for row in carried:
        found = tables.images_for(row.cann, chip.key)
        if found:
            best = found[0]
            return f"quay.io/ascend/cann:{best.tag}-{chip.key}-{best.os}-py{best.python[-1]}"
    return "<image>"


def _finding(
    code: str,
    slug: str,
    severity: Severity,
    title: Text,
    cause: Text,
    params: dict[str, object] | None = None,
    *,
    fixes: tuple[Fix, ...] = (),
    evidence: tuple[Evidence, ...] = (),
    place: str = "",
) -> Finding:
    return Finding(
        code,
        slug,
        severity,
        title,
        cause,
        Place(place) if place else None,
        params or {},
        evidence,
        fixes,
        (SOURCE,),
    )
