"""From the outcome of a tree to what the command says: a report, the changes, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from npudoctor.core.changes import Changes, FileChange, Insertion, Item
from npudoctor.core.exits import Exit
from npudoctor.core.finding import Finding, Place, Safety, Severity
from npudoctor.core.report import Fact, Report
from npudoctor.core.text import Text, filled
from npudoctor.migrate.engine import Outcome
from npudoctor.migrate.lang import languages
from npudoctor.migrate.problems import problem
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.target import Target, unknown_since
from npudoctor.migrate.tree import FileOutcome, TreeOutcome
from npudoctor.migrate.view import LineStarts
from npudoctor.migrate.walk import shown
from npudoctor.migrate.writer import Refusal

HEATS = ("step", "minibatch", "epoch", "loop", "once")
LEAD = ("NPU207",)  # by far the largest source of syncs: said first, wherever it stands

_TREE = Text("tree", "目录树")
_FILES = Text("files", "文件")
_TARGET = Text("target", "目标")
_UNKNOWN_TARGET = Text(
    "{target}; this torch_npu is unknown to the table of {date}: only names that every release of its line "
    "(else every release read) has count as there",
    "{target}；{date} 的表中没有这个 torch_npu 版本：只有同系列各版本（若无，则所有已读版本）"
    "都具有的名称才视为存在",
)

_NOTHING = Text("nothing to migrate: no CUDA idiom was found", "无需迁移：未发现 CUDA 用法")
_LEFT_ONLY = Text(
    "no file changed; {left} items are left for you", "没有文件被修改；还有 {left} 项需要人工处理"
)
_DONE = Text("{files} files migrated, {edits} edits; nothing is left for you",
             "已迁移 {files} 个文件，共 {edits} 处修改；没有需要人工处理的项目")
_DONE_LEFT = Text("{files} files migrated, {edits} edits; {left} items are left for you",
                  "已迁移 {files} 个文件，共 {edits} 处修改；还有 {left} 项需要人工处理")
_WOULD = Text("{files} files would change, {edits} edits; {left} items would be left for you",
              "将修改 {files} 个文件，共 {edits} 处；还有 {left} 项需要人工处理")
_NEXT_UNDO = Text(
    "'npudoctor migrate --undo {path}' takes every byte back; then run 'npudoctor simulate' on your script, "
    "and 'npudoctor smoke-test'",
    "“npudoctor migrate --undo {path}”可恢复每一个字节；随后可对训练脚本运行“npudoctor simulate”，"
    "再运行“npudoctor smoke-test”",
)
_NEXT_APPLY = Text("'npudoctor migrate {path}' applies this", "“npudoctor migrate {path}”将执行以上修改")


@dataclass(frozen=True)
class Intent:
    """What the command did with the outcome: `written` in place or to a copy, or only shown."""

    path: str
    written: bool
    settings: Settings
    target: Target
    copy: bool = False


def changes_of(outcome: TreeOutcome, refused: Iterable[Refusal], written: bool) -> Changes:
    """Items and texts of `outcome`; a refused file counts as unchanged and gets a finding."""
    why = {refusal.path: refusal.reason for refusal in refused}
    items: list[Item] = []
    files: list[FileChange] = []
    for file in outcome.files:
        path = file.entry.path
        if path in why:
            items.append(_item(Outcome(problem("NPU194", shown(path), why[path]), False), None))
        if file.after is None or path in why:
            items.extend(_item(o, None) for o in file.result.outcomes if not o.applied)
            continue
        change = _texts(file)
        files.append(change)
        lines = LineStarts(change.old)
        items.extend(_item(o, lines) for o in file.result.outcomes)
    items.sort(key=lambda item: item.finding.code not in LEAD)
    return Changes(tuple(items), tuple(files), written, _base(outcome.tree.root))


def _base(root: Path) -> str:
    """`root` as seen from the root of the git repository it is in, else from the working directory."""
    root = root.resolve()
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), Path.cwd())
    return shown(root.relative_to(top).as_posix()) if top in root.parents else ""


def report_of(outcome: TreeOutcome, changes: Changes, intent: Intent) -> Report:
    """The report of a migration. Exit code: see docs/migrate.md."""
    manual = [item.finding for item in changes.left if item.finding.severity is not Severity.NOTE]
    edits = sum((Counter(file.edits) for file in changes.files), Counter())
    params = {
        "files": len(changes.files), "edits": sum(edits.values()), "left": len(manual), "path": intent.path,
    }
    if intent.written:
        code = Exit.FINDINGS if manual else Exit.OK
    else:
        code = Exit.FINDINGS if changes.files else Exit.OK
    return Report(
        command="migrate",
        verdict=_verdict(changes, len(manual), intent.written),
        params=params,
        findings=tuple(item.finding for item in changes.left),
        facts=_facts(outcome, intent),
        next_step=_next(changes, intent),
        extra=_extra(outcome, changes, edits, intent),
        decided=code,
    )


def known_codes() -> set[str]:
    """Every code that a migration can report."""
    from npudoctor.migrate.engine import PROBLEM, UNUSED, all_rules
    from npudoctor.migrate.idioms import all_idioms
    from npudoctor.migrate.problems import UNITS

    rules, idioms = {rule.code for rule in all_rules()}, {idiom.code for idiom in all_idioms()}
    return {PROBLEM, UNUSED, *UNITS, *rules, *idioms}


def _verdict(changes: Changes, left: int, written: bool) -> Text:
    if not changes.files:
        return _LEFT_ONLY if left else _NOTHING
    if not written:
        return _WOULD
    return _DONE_LEFT if left else _DONE


def _next(changes: Changes, intent: Intent) -> Text | None:
    if not changes.files or intent.copy:
        return None
    return _NEXT_UNDO if intent.written else _NEXT_APPLY


def _facts(outcome: TreeOutcome, intent: Intent) -> tuple[Fact, ...]:
    counts = sorted(outcome.by_kind.items(), key=lambda pair: (-pair[1], pair[0]))
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts)
    origin = f" ({intent.target.origin})" if intent.target.origin else ""
    target = f"torch_npu {intent.target.version}{origin}, --style {intent.settings.style}"
    return (
        Fact("tree", _TREE, shown(str(outcome.tree.root))),
        Fact("files", _FILES, f"{outcome.looked_at} ({kinds})" if kinds else "0"),
        Fact("target", _TARGET, _known(target, unknown_since(intent.target.version))),
    )


def _known(target: str, date: str) -> str | Text:
    return filled(_UNKNOWN_TARGET, {"target": target, "date": date}) if date else target


def _extra(
    outcome: TreeOutcome, changes: Changes, edits: Mapping[str, int], intent: Intent
) -> dict[str, object]:
    skipped: dict[str, list[str]] = {}
    for skip in outcome.tree.skipped:
        skipped.setdefault(skip.reason, []).append(shown(skip.path))
    return {
        "written": intent.written,
        "style": intent.settings.style,
        "torch_npu": intent.settings.torch_npu,
        "files_looked_at": outcome.looked_at,
        "files_by_kind": dict(outcome.by_kind),
        "files_changed": [{"path": f.path, "edits": dict(f.edits)} for f in changes.files],
        "edits_by_code": dict(sorted(edits.items())),
        "left_by_code": dict(sorted(Counter(i.finding.code for i in changes.left).items())),
        "syncs": syncs(changes),
        "lead": [code for code in LEAD if any(i.finding.code == code for i in changes.items)],
        "skipped": skipped,
        "seconds": round(outcome.seconds, 3),
    }


def syncs(changes: Changes) -> dict[str, object]:
    """Syncs found, removed and left, the last two by hotness.

    An NPU2xx finding says in `heat` how often its place runs and in `syncs` how many waits it stands for.
    """
    removed: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for item in changes.items:
        if item.finding.code.startswith("NPU2"):
            heat = str(item.finding.params.get("heat", "loop"))
            number = item.finding.params.get("syncs", 1)
            (removed if item.applied else left)[heat] += number if isinstance(number, int) else 1
    found = sum(removed.values()) + sum(left.values())
    by_heat = {"removed": dict(sorted((+removed).items())), "left": dict(sorted((+left).items()))}
    return {"found": found, **by_heat}


def _texts(file: FileOutcome) -> FileChange:
    language = languages()[file.entry.kind]
    assert file.after is not None
    old, new = language.decode(file.before).text, language.decode(file.after).text
    return FileChange(shown(file.entry.path), old, new, dict(file.result.edits))


def _item(outcome: Outcome, lines: LineStarts | None) -> Item:
    safety = outcome.safety if outcome.edits or outcome.applied else Safety.MANUAL
    edits = tuple(
        Insertion(_place(outcome.finding, lines, edit.start, edit.end), edit.text) for edit in outcome.edits
    ) if lines is not None else ()
    return Item(outcome.finding, outcome.applied, safety, outcome.line, edits)


def _place(finding: Finding, lines: LineStarts, start: int, end: int) -> Place:
    path = finding.place.path if finding.place else ""
    first, last = lines.position(start), lines.position(end)
    return Place(path, first[0], first[1], last[0], last[1])
