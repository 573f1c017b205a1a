"""`npudoctor export`: a policy as ONNX, checked against torch, and the command that makes an OM of it."""

from __future__ import annotations

from pathlib import Path

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

_BAD_RANGE = Text(
    "--dynamic-batch takes numbers such as 1,2,4,8, not {value}",
    "--dynamic-batch 应为 1,2,4,8 这样的数字，而不是 {value}",
)


@click.command(
    "export",
    cls=Command,
    help_text=Text(
        "Export a policy to one self-contained ONNX file and compare it with torch.\n\n"
        "TARGET is a checkpoint of reference_ppo, or module:function for a function that returns a torch "
        "module and an "
        "example input. Observation statistics are part of the graph: the exported policy takes raw "
        "observations.",
        "将策略导出为单个自包含的 ONNX 文件，并与 torch 比较。\n\n"
        "TARGET 为 reference_ppo 的检查点，或 module:function（返回 torch 模型与示例输入的函数）。"
        "观测统计量包含在图内：导出的策略直接接受原始观测。",
    ),
)
@click.argument("target")
@option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("policy.onnx"),
    show_default=True,
    help=Text("The ONNX file to write.", "要写入的 ONNX 文件。"),
)
@option(
    "--batch",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help=Text("Rows of the fixed batch.", "固定批量的行数。"),
)
@option(
    "--dynamic-batch",
    metavar="1,2,4,8",
    help=Text("Leave the batch open, and give ATC these sizes.", "批量可变，并为 ATC 给出这些档位。"),
)
@option(
    "--opset",
    type=click.IntRange(9),
    default=17,
    show_default=True,
    help=Text("ONNX operator set.", "ONNX 算子集版本。"),
)
@option(
    "--soc",
    metavar="NAME",
    help=Text(
        "soc_version for ATC, such as Ascend910B3 (default: from npu-smi).",
        "ATC 的 soc_version，如 Ascend910B3（默认取自 npu-smi）。",
    ),
)
@option(
    "--exporter",
    type=click.Choice(("auto", "dynamo", "legacy")),
    default="auto",
    show_default=True,
    help=Text("Which exporter of torch.", "使用 torch 的哪种导出器。"),
)
@option(
    "--bench",
    "with_bench",
    is_flag=True,
    help=Text(
        "Also measure eager torch, torch.compile, onnxruntime and the OM.",
        "另测 eager torch、torch.compile、onnxruntime 与 OM 的延迟。",
    ),
)
@option("--no-atc", is_flag=True, help=Text("Only print the ATC command.", "只打印 ATC 命令。"))
@shared_options(output=False)
def COMMAND(session: Session, target: str, dynamic_batch: str | None, no_atc: bool, **asked: object) -> Exit:
    """Export and report."""
    from npudoctor.export.run import Options, export
    from npudoctor.report import emit
    from npudoctor.report.keep import keep

    ranges = _ranges(dynamic_batch)
    report = export(target, Options(ranges=ranges, run_atc=not no_atc, **asked))  # type: ignore[arg-type]
    emit(session, report)
    keep(report)
    return report.exit_code()


def _ranges(value: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in value.split(",")) if value else ()
    except ValueError:
        raise UserError(_BAD_RANGE, params={"value": value}) from None
