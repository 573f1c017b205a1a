"""`npudoctor migrate PATH`: from CUDA to NPU, in place with undo, or as a diff, a check, a copy."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

if TYPE_CHECKING:
    from npudoctor.config import Config
    from npudoctor.migrate.settings import Settings
    from npudoctor.migrate.summary import Intent
    from npudoctor.migrate.target import Target
    from npudoctor.migrate.tree import TreeOutcome
    from npudoctor.migrate.walk import Tree
    from npudoctor.migrate.writer import Refusal
    from npudoctor.simulate.verify import Verification

_HELP = Text(
    "Rewrite CUDA code for Ascend NPUs and take host-device syncs out of loops.\n\n"
    "PATH is a folder or one file. It is changed in place; --undo restores every byte.\n\n"
    "Exit codes: 0 all done, 1 items are left for you (with --check or --diff: something would change), "
    "2 usage or input error, 3 internal error.",
    "将 CUDA 代码改写为昇腾 NPU 代码，并把主机与设备之间的同步移出循环。\n\n"
    "PATH 为文件夹或单个文件，默认就地修改；--undo 可恢复每一个字节。\n\n"
    "退出码：0 全部完成，1 尚有需要人工处理的项目（使用 --check 或 --diff 时表示将有修改），"
    "2 用法或输入错误，3 内部错误。",
)
_HALF = Text(
    "stopped while writing: some files are migrated, others are not. 'npudoctor migrate --undo {path}' takes "
    "every byte back; the same command again goes on",
    "写入时中断：部分文件已迁移，其余未迁移。“npudoctor migrate --undo {path}”可恢复每一个字节；"
    "重新运行同一命令可继续",
)
_VERIFYING = Text("running the original and the migrated code", "正在运行原程序与迁移后的代码")
_VERIFY_ALONE = Text(
    "--verify goes with neither --undo nor --diff", "--verify 不能与 --undo、--diff 同时使用"
)
_WORKING = Text("migrating", "迁移中")
_WORKING_AGAIN = Text(
    "migrating without the sync rules, to count the syncs before", "不含同步规则再迁移一次，以统计原有同步数"
)
_POSIX = Text("npudoctor migrate needs Linux or macOS", "npudoctor migrate 需要 Linux 或 macOS")
_ONE_MODE = Text(
    "--undo, --diff, --check and --output exclude each other",
    "--undo、--diff、--check 与 --output 不能同时使用",
)
_DIFF_FORMAT = Text("--diff prints a diff and takes no --format", "--diff 只输出差异，不支持 --format")
_BAD_CODE = Text("no rule has a code that starts with {code}", "没有以 {code} 开头的规则编号")


@click.command("migrate", cls=Command, help_text=_HELP)
@click.argument("path", type=click.Path(path_type=Path))
@option("--diff", is_flag=True, help=Text("Only print a unified diff.", "只输出 unified diff。"))
@option("--check", is_flag=True, help=Text(
    "Write nothing; exit 1 if anything would change.", "不写入；若将有修改则以 1 退出。"))
@option("--output", "-o", "copy_to", type=click.Path(path_type=Path), metavar="DIR", help=Text(
    "Write a migrated copy to this new folder.", "将迁移后的副本写入该新文件夹。"))
@option("--undo", is_flag=True, help=Text(
    "Restore every file as it was before.", "将所有文件恢复为迁移之前的状态。"))
@option("--style", type=click.Choice(("npu", "portable")), help=Text(
    "npu: device 'npu'. portable: npu where there is one, else cuda, else cpu.",
    "npu：使用设备 npu。portable：有 NPU 时用 npu，否则用 cuda，再否则用 cpu。"))
@option("--torch-npu", metavar="VERSION", help=Text(
    "Release of torch_npu to write for.", "目标 torch_npu 版本。"))
@option("--select", multiple=True, metavar="CODE", help=Text(
    "Apply only these codes or prefixes of codes.", "只应用这些编号（或编号前缀）。"))
@option("--ignore", multiple=True, metavar="CODE", help=Text(
    "Do not apply these codes or prefixes of codes.", "不应用这些编号（或编号前缀）。"))
@option("--unsafe-fixes", is_flag=True, help=Text(
    "Also apply fixes that may change behaviour (each page says how).",
    "同时应用可能改变行为的修改（详见各规则页面）。"))
@option("--jobs", "-j", type=click.IntRange(min=1), help=Text(
    "Worker processes (default: one per core).", "工作进程数（默认每核一个）。"))
@option("--report-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help=Text(
    "Write the result to this file instead of the terminal.", "将结果写入该文件而不是终端。"))
@option("--verify", metavar="COMMAND", help=Text(
    "First run this Python command with the original on the CPU and with the migrated code on the "
    "SIMULATED NPU, in copies; write only if all numbers are the same.",
    "先在副本中分别用 CPU 上的原程序和模拟 NPU 上的迁移代码运行该 Python 命令；仅当数值全部一致时才写入。"))
@option("--verify-timeout", type=click.FloatRange(min=1), default=1800, metavar="SECONDS", help=Text(
    "Stop each run of --verify after this time.", "--verify 的每次运行到此时间即停止。"))
@option("--sarif", is_flag=True, help=Text("Same as --format sarif.", "等同于 --format sarif。"))
@shared_options(formats=("text", "json", "sarif", "github", "html"), output=False)
def COMMAND(
    session: Session, path: Path, diff: bool, check: bool, copy_to: Path | None, undo: bool,
    report_file: Path | None, sarif: bool, jobs: int | None, verify: str | None,
    verify_timeout: float, **chosen: Any,
) -> Exit:
    """Parse, choose the mode, run."""
    if os.name != "posix":  # the backup relies on POSIX renames and locks
        raise UserError(_POSIX)
    if sum((diff, check, copy_to is not None, undo)) > 1:
        raise UserError(_ONE_MODE)
    if diff and (session.format != "text" or sarif):
        raise UserError(_DIFF_FORMAT)
    if verify and (diff or undo):
        raise UserError(_VERIFY_ALONE)
    session = replace(session, output=report_file, format="sarif" if sarif else session.format)
    if undo:
        return _undo(session, path)
    from npudoctor.migrate import walk
    from npudoctor.migrate.summary import Intent

    config = _config(path, chosen)
    session = _spoken(session, config)
    tree = walk.walk(path, config, leave_out=copy_to)
    outcome, settings, target = _work(session, tree, config, jobs)
    if diff:
        return _diff(session, outcome, Intent(str(path), False, settings, target, False))
    proof = None
    if verify:
        device_only = _device_only(session, tree, config, settings, jobs)
        proof = _verify(session, outcome, device_only, verify, verify_timeout)
        if not proof.same:
            check, copy_to = True, None
    try:
        refused = _write(outcome, check, copy_to)
    except KeyboardInterrupt:
        if not check and copy_to is None:
            session.note(_HALF, {"path": str(path)})
        raise
    intent = Intent(str(path), not check, settings, target, copy_to is not None)
    return _report(session, outcome, refused, intent, proof)


def _config(path: Path, chosen: dict[str, Any]) -> Config:
    from npudoctor import config

    for name in ("select", "ignore"):
        words = [w.strip().upper() for given in chosen[name] for w in given.split(",")]
        chosen[name] = tuple(w for w in words if w)
        _known(chosen[name])
    loaded = config.load(path)
    return loaded.override(**chosen)


def _spoken(session: Session, config: Config) -> Session:
    """The project's language, unless one was asked for on the command line."""
    context = click.get_current_context()
    asked = any(c.params.get("lang") for c in (context, context.find_root()))
    return session if asked or config.lang is None else replace(session, lang=config.lang)


def _known(codes: tuple[str, ...]) -> None:
    """A mistyped code would silently select nothing."""
    from npudoctor.migrate.summary import known_codes

    for code in codes:
        if not any(known.startswith(code) for known in known_codes()):
            raise UserError(_BAD_CODE, params={"code": code})


def _work(
    session: Session, tree: Tree, config: Config, jobs: int | None
) -> tuple[TreeOutcome, Settings, Target]:
    from npudoctor.migrate.target import settings_for
    from npudoctor.migrate.tree import migrate_tree

    settings, target = settings_for(tree, config)
    with session.progress(_WORKING, 2 * len(tree.entries)) as advance:
        return migrate_tree(tree, config, settings, jobs, advance), settings, target


def _device_only(
    session: Session, tree: Tree, config: Config, settings: Settings, jobs: int | None
) -> TreeOutcome:
    """The same migration without the sync rules: what its run costs is the syncs before."""
    from npudoctor.migrate.tree import migrate_tree

    without = replace(settings, ignore=(*settings.ignore, "NPU2"))
    with session.progress(_WORKING_AGAIN, 2 * len(tree.entries)) as advance:
        return migrate_tree(tree, config, without, jobs, advance)


def _verify(
    session: Session, outcome: TreeOutcome, device_only: TreeOutcome, command: str, timeout: float
) -> Verification:
    """Run both in copies; the tree itself is not touched."""
    import tempfile

    from npudoctor.migrate import copy
    from npudoctor.simulate.verify import verify

    with tempfile.TemporaryDirectory(prefix="npudoctor-verify-") as scratch, session.progress(_VERIFYING):
        original, migrated, device = (Path(scratch) / name for name in ("original", "migrated", "device"))
        copy.to_run(outcome.tree.root, original)
        copy.to_run(outcome.tree.root, migrated, outcome.changed)
        copy.to_run(outcome.tree.root, device, device_only.changed)
        return verify(command, original, migrated, device_only=device, timeout=timeout)


def _write(outcome: TreeOutcome, check: bool, copy_to: Path | None) -> tuple[Refusal, ...]:
    """Write in place or to a copy; returns what was refused."""
    from npudoctor.migrate import copy, writer

    if copy_to is not None:
        return copy.write(outcome, copy_to)
    if check:
        return ()
    changed = [writer.Replacement(f.entry.path, f.before_sha256, f.after or b"") for f in outcome.changed]
    return writer.apply(outcome.tree.root, changed).refused


def _report(
    session: Session, outcome: TreeOutcome, refused: tuple[Refusal, ...], intent: Intent,
    proof: Verification | None,
) -> Exit:
    from npudoctor.migrate import summary
    from npudoctor.report.keep import keep
    from npudoctor.report.migration import emit_migration

    changes = summary.changes_of(outcome, refused, intent.written)
    report = summary.report_of(outcome, changes, intent)
    if proof is not None:
        from npudoctor.simulate import verify_report

        report = verify_report.added(report, proof)
    emit_migration(session, report, changes)
    keep(report)
    return report.exit_code()


def _diff(session: Session, outcome: TreeOutcome, intent: Intent) -> Exit:
    """The patch alone on standard output; what it leaves out is one sentence on standard error."""
    from npudoctor.migrate import summary
    from npudoctor.migrate.diff import unified
    from npudoctor.report.diff import emit_diff

    parts = [unified(f.entry.path, f.before, f.after or b"") for f in outcome.changed]
    emit_diff(session, b"".join(parts))
    report = summary.report_of(outcome, summary.changes_of(outcome, (), intent.written), intent)
    session.note(report.verdict, report.params)
    return Exit.FINDINGS if parts else Exit.OK


def _undo(session: Session, path: Path) -> Exit:
    from npudoctor.migrate import undo
    from npudoctor.report import emit

    report = undo.report(path)
    emit(session, report)
    return report.exit_code()
