"""`npudoctor container`: the docker run line for this host, made of what is really on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

if TYPE_CHECKING:
    from npudoctor.container.plan import Plan
    from npudoctor.core.blocks import Block
    from npudoctor.machine.facts import Machine

_HELP = Text(
    "Print the docker run line for this host, from the device nodes and driver files that exist.\n\n"
    "Nothing is started.",
    "根据主机上实际存在的设备节点和驱动文件，输出适用于本机的 docker run 命令。\n\n不会启动任何容器。",
)
_LINE = Text("start a container with the NPUs of this host", "用本机的 NPU 启动容器")
_RUNTIME = Text(
    "with Ascend Docker Runtime, which is installed here", "使用本机已安装的 Ascend Docker Runtime"
)
_READY = Text(
    "the line maps {devices} device nodes and {mounts} driver paths",
    "该命令映射 {devices} 个设备节点和 {mounts} 个驱动路径",
)
_NOT_READY = Text("the line is not complete: see what is missing above", "该命令不完整：请看上面缺少的内容")
_THEN = Text("inside the container: npudoctor check", "进入容器后运行：npudoctor check")
_LONGEST = 5  # digits of a chip's number
_BAD_CHIPS = Text(
    "chips are numbers with commas between them, not {text}", "芯片编号应为逗号分隔的数字，而不是 {text}"
)


@click.command("container", cls=Command, help_text=_HELP)
@option(
    "--chips",
    default="",
    metavar="0,1",
    help=Text("Only these chips (default: all).", "只映射这些芯片（默认全部）。"),
)
@option("--image", default="", metavar="NAME", help=Text("The image to start.", "要启动的镜像。"))
@option(
    "--nodes",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help=Text(
        "Hosts of the job; above one, network files are mounted too.",
        "作业的主机数；大于 1 时同时挂载网络配置。",
    ),
)
@option(
    "--replay",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=Text("Take the host from a bundle.", "从录制文件读取主机信息。"),
)
@shared_options(formats=("text", "json"))
def COMMAND(session: Session, chips: str, image: str, nodes: int, replay: Path | None) -> Exit:
    """Collect facts, plan, print."""
    from npudoctor.check.run import observed, replayed
    from npudoctor.container.plan import plan
    from npudoctor.core.report import Report
    from npudoctor.machine.probe import Settings
    from npudoctor.pairing.table import load
    from npudoctor.report import emit

    machine = replayed(replay) if replay else observed(Settings(run_probes=False))
    made = plan(machine, load(), chips=_numbers(chips), image=image, nodes=nodes)
    blocks = _blocks(machine, made, chips)
    params = {"devices": len(made.devices), "mounts": len(made.mounts)}
    extra = {
        "command": made.command(),
        "devices": list(made.devices),
        "mounts": list(made.mounts),
        "groups": list(made.groups),
        "image": made.image,
    }
    report = Report("container", _READY, params, made.findings, blocks=blocks, next_step=_THEN, extra=extra)
    code = report.exit_code()
    if code is not Exit.OK:
        report = Report("container", _NOT_READY, params, made.findings, blocks=blocks, extra=extra)
    emit(session, report)
    return code


def _blocks(machine: Machine, made: Plan, chips: str) -> tuple[Block, ...]:
    """The line, and the shorter one where Ascend Docker Runtime does the mounting."""
    from npudoctor.core.blocks import Answer
    from npudoctor.machine.facts import Known

    if not made.devices:
        return ()
    blocks: list[Block] = [Answer(_LINE, commands=(made.command(),))]
    if isinstance(machine.docker_runtime, Known):
        visible = chips or ",".join(p[len("/dev/davinci") :] for p in made.devices if p[-1].isdecimal())
        line = f"docker run -it --rm --runtime=ascend -e ASCEND_VISIBLE_DEVICES={visible} {made.image} bash"
        blocks.append(Answer(_RUNTIME, commands=(line,)))
    return tuple(blocks)


def _numbers(text: str) -> tuple[int, ...]:
    from npudoctor.core.errors import UserError

    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isdecimal() and len(part) < _LONGEST for part in parts):
        raise UserError(_BAD_CHIPS, params={"text": text})
    return tuple(int(part) for part in parts)
