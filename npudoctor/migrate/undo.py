"""`--undo` as a report: what was restored, and what was not because it changed since."""

from __future__ import annotations

from pathlib import Path

from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.report import Report
from npudoctor.core.text import Text
from npudoctor.migrate import journal, writer
from npudoctor.migrate.problems import problem
from npudoctor.migrate.walk import STATE_FOLDER, shown

_NO_PATH = Text("{path} does not exist", "{path} 不存在")
_NOTHING = Text("no migration to undo at {path}", "{path} 没有可以撤销的迁移")
_NOTHING_HINT = Text(
    "a migration leaves its backup in '.npudoctor' in the folder that was given to it",
    "迁移会在所指定的文件夹中留下备份“.npudoctor”",
)
_DONE = Text("{n} files restored, byte for byte", "已逐字节恢复 {n} 个文件")
_PARTLY = Text(
    "{n} files restored; {kept} were changed after the migration and stay as they are "
    "(their originals: {backup})",
    "已恢复 {n} 个文件；{kept} 个文件在迁移之后被修改过，保持原样（原始内容位于 {backup}）",
)


def report(path: Path) -> Report:
    """Undo every migration of the files at `path`.

    Raises:
        UserError: there is no backup, or it is damaged.
    """
    if not path.exists():
        raise UserError(_NO_PATH, params={"path": shown(str(path))})
    full = path.resolve()
    roots = [root] if (root := writer.find_root(full)) else writer.roots_below(full)
    if not roots:
        journal.clear_remains(full if full.is_dir() else full.parent)
        raise UserError(_NOTHING, _NOTHING_HINT, {"path": shown(str(path))})
    done: list[str] = []
    refused: list[writer.Refusal] = []
    for root in roots:
        below = "" if full == root or root.is_relative_to(full) else full.relative_to(root).as_posix()
        written = writer.undo(root, below)
        done += written.done
        refused += written.refused
    if not done and not refused:
        raise UserError(_NOTHING, _NOTHING_HINT, {"path": shown(str(path))})
    params = {"n": len(done), "kept": len(refused), "backup": shown(str(roots[0] / STATE_FOLDER / "runs"))}
    words = {"changed": "changed-since", "gone": "gone-since"}
    findings = tuple(problem("NPU194", shown(r.path), words.get(r.reason, r.reason)) for r in refused)
    return Report(
        command="migrate",
        verdict=_PARTLY if refused else _DONE,
        params=params,
        findings=findings,
        extra={"restored": sorted(shown(p) for p in done)},
        decided=Exit.FINDINGS if refused else Exit.OK,
    )
