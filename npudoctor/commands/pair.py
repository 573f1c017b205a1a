"""`npudoctor pair`: complete sets of driver, CANN, Python, torch and torch_npu that go together."""

from __future__ import annotations

import platform
from pathlib import Path

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

_HELP = Text(
    "Find versions that go together.\n\n"
    "Give any part; get the complete sets that fit, the recommended one first, with the commands "
    "to install them. With nothing given it starts from this machine.",
    "查询相互配套的版本。\n\n"
    "给出任意部分，得到满足条件的完整版本组合（推荐的排在最前）以及安装命令。不给任何参数时以本机为起点。",
)
_BAD = Text("--{option} {value}: not a version", "--{option} {value}：不是版本号")
_BAD_HINT = Text("write it like {example}", "请写成 {example} 这样的形式")
_BAD_CHIP = Text("--chip {value}: unknown chip", "--chip {value}：未知的芯片")
_BAD_CHIP_HINT = Text("known chips: {known}", "已知芯片：{known}")
_HERE = Text("found here", "本机已有")

_EXAMPLES = {
    "torch": "2.7.1", "torch_npu": "2.7.1.post2", "cann": "8.3.RC1", "python": "3.11", "driver": "25.2.0",
}


@click.command("pair", cls=Command, help_text=_HELP)
@option("--torch", help=Text("PyTorch version, e.g. 2.7.1.", "PyTorch 版本，如 2.7.1。"))
@option("--torch-npu", help=Text("torch_npu version, e.g. 2.7.1.post2.", "torch_npu 版本，如 2.7.1.post2。"))
@option("--cann", help=Text("CANN version, e.g. 8.3.RC1.", "CANN 版本，如 8.3.RC1。"))
@option("--python", help=Text("Python version, e.g. 3.11.", "Python 版本，如 3.11。"))
@option("--driver", help=Text("Driver (HDK) version, e.g. 25.2.0.", "驱动（HDK）版本，如 25.2.0。"))
@option("--chip", help=Text("Chip, e.g. 910B, 910C, 310P.", "芯片，如 910B、910C、310P。"))
@option("--arch", type=click.Choice(("x86_64", "aarch64")), default=None,
        help=Text("Architecture (default: this machine's).", "架构（默认取本机）。"))
@option("--table", type=click.Path(dir_okay=False, path_type=Path), default=None,
        help=Text("TSV table with rows of your own.", "自己的 TSV 数据表。"))
@option("--limit", type=click.IntRange(0), default=3, show_default=True,
        help=Text("Show at most this many sets (0: all).", "最多显示几组（0 为全部）。"))
@shared_options(formats=("text", "json"))
def COMMAND(
    session: Session, arch: str | None, table: Path | None, limit: int, chip: str | None, **parts: str | None
) -> Exit:
    """Parse the parts, solve, and show the answer."""
    from dataclasses import replace

    from npudoctor.check.lookups import package_names
    from npudoctor.check.run import observed
    from npudoctor.core.report import Fact
    from npudoctor.machine.probe import Settings
    from npudoctor.pairing import here, present
    from npudoctor.pairing.solve import Query, solve
    from npudoctor.pairing.table import load
    from npudoctor.report import emit

    given = {name: _version(name, value) for name, value in parts.items() if value is not None}
    query = Query(**given, chip=None if chip is None else _chip(chip))
    facts: tuple[Fact, ...] = ()
    data = load(table)
    if not given and query.chip is None:
        found = here.parts_of(observed(Settings(run_probes=False, packages=package_names())))
        query = here.query_of(found)
        facts = tuple(Fact(f"here.{p.name}", _HERE, f"{p.name} {p.version}", p.place) for p in found)
    arch = arch or ("aarch64" if platform.machine().lower() in ("aarch64", "arm64") else "x86_64")
    report = replace(present.report(data, solve(data, query), arch, limit), facts=facts)
    emit(session, report)
    return report.exit_code()


def _version(name: str, value: str) -> str:
    from npudoctor.pairing.versions import normal_python, public, vendor

    try:
        if name == "python":
            return normal_python(value)
        return str(vendor(value)) if name in ("cann", "driver") else str(public(value))
    except ValueError:
        params = {"option": name.replace("_", "-"), "value": value, "example": _EXAMPLES[name]}
        raise UserError(_BAD, _BAD_HINT, params) from None


def _chip(value: str) -> str:
    from npudoctor.pairing.chips import all_chips, chip

    found = chip(value)
    if found is None:
        known = ", ".join(c.names[0] for c in all_chips())
        raise UserError(_BAD_CHIP, _BAD_CHIP_HINT, {"value": value, "known": known})
    return found.key
