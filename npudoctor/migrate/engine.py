"""Migrate one module: text in, text and findings out. No I/O.

Rounds: every rule looks at the parsed text and proposes changes; those that fit together
are spliced in; the next round looks at the result. The last round proposes nothing more,
so a second run changes nothing; what its rules still report is left for a person.
"""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch

from npudoctor.core.errors import UserError
from npudoctor.core.finding import Finding, Fix, Place, Safety, Severity
from npudoctor.core.text import Text
from npudoctor.migrate import edits as splice
from npudoctor.migrate import suppress
from npudoctor.migrate.api import Change, Edit, Message, Rule, is_dual
from npudoctor.migrate.context import ModuleContext
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings

PROBLEM = "NPU100"
UNUSED = "NPU199"

_NOT_PARSED = Message(
    title=Text("not parsed: {reason}", "无法解析：{reason}"),
    cause=Text(
        "the file is not Python that this interpreter can read ({reason}), so nothing in it was changed",
        "当前解释器无法读取该文件（{reason}），因此未作任何修改",
    ),
    fix=Text(
        "mend the file, or run npudoctor with the Python version the file is written for",
        "请修正该文件，或使用该文件所针对的 Python 版本运行 npudoctor",
    ),
    severity=Severity.WARNING,
)
_UNSTABLE = Message(
    title=Text("left alone: {reason}", "保持原样：{reason}"),
    cause=Text(
        "the rewritten text did not pass the checks every result has to pass ({reason})",
        "改写后的文本未通过必须通过的校验（{reason}）",
    ),
    fix=Text(
        "the file is untouched; please report it, and migrate it by hand meanwhile",
        "文件未被改动；请反馈此问题，并暂时手工迁移",
    ),
    severity=Severity.ERROR,
)
_UNUSED = Message(
    title=Text(
        "the comment ignores {code}, which is not reported here", "注释忽略了 {code}，但此处并无该发现"
    ),
    cause=Text(
        "a suppression that hides nothing today may hide something tomorrow",
        "今天什么也没有忽略的注释，明天可能会掩盖真正的问题",
    ),
    fix=Text("remove the comment", "删除该注释"),
)
_BARE = Message(
    title=Text("the ignore comment names no code", "忽略注释没有写明编号"),
    cause=Text(
        "npudoctor ignores a finding only by its code, so this comment does nothing",
        "npudoctor 只按编号忽略，该注释不起作用",
    ),
    fix=Text(
        "write the code in brackets: npudoctor: ignore[NPU101]",
        "请在方括号中写明编号：npudoctor: ignore[NPU101]",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """One finding and what became of it.

    Attributes:
        finding: its place is a position in the text that came in.
        applied: the rewrite was made.
        edits: the rewrite in coordinates of the text that came in; empty when it stands
            on an earlier rewrite and cannot be told apart from it.
        line: line in the text that came out.
        safety: of the rewrite; MANUAL when there is none.
    """

    finding: Finding
    applied: bool
    edits: tuple[Edit, ...] = ()
    line: int = 1
    safety: Safety = Safety.MANUAL


@dataclass(frozen=True)
class FileResult:
    """What came out of one file.

    Attributes:
        path: as given.
        text: the new text; the old one when nothing could or should be changed.
        changed: whether `text` differs from what came in.
        outcomes: every finding, in source order.
        edits: code -> number of rewrites applied.
        failed: the file could not be handled (one finding NPU100 says why).
        facts: remarks of rules for the summary (not findings).
    """

    path: str
    text: str
    changed: bool = False
    outcomes: tuple[Outcome, ...] = ()
    edits: Mapping[str, int] = field(default_factory=dict)
    failed: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings."""
        return tuple(o.finding for o in self.outcomes)

    @property
    def applied(self) -> tuple[Finding, ...]:
        """Findings whose rewrite was made."""
        return tuple(o.finding for o in self.outcomes if o.applied)

    @property
    def left(self) -> tuple[Finding, ...]:
        """Findings that a person has to look at."""
        return tuple(o.finding for o in self.outcomes if not o.applied)


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of `npudoctor.migrate.rules`, by code."""
    from npudoctor.core.registry import collect
    from npudoctor.migrate import rules

    return tuple(unit for _, unit in sorted(collect(rules, "RULE", "npu").items()))


def migrate_source(
    text: str,
    path: str = "<string>",
    settings: Settings | None = None,
    project: ProjectIndex | None = None,
    rules: Sequence[Rule] | None = None,
) -> FileResult:
    """Migrate one Python module.

    Args:
        text: the module, decoded, with its own line ends and without a byte order mark.
        path: relative to the project, with `/`; goes into findings, never opened.
        settings: style, target version, selection.
        project: facts about the other modules; without them cross-file proofs fail safe.
        rules: for tests; default: every rule.

    Returns:
        The result; never raises for bad input.
    """
    settings = settings or Settings()
    wanted = [r for r in (all_rules() if rules is None else rules) if _wanted(r, text, path, settings)]
    marks = suppress.find(text)
    if not wanted and not marks.codes and not marks.bare:
        return FileResult(path, text)
    run = _Run(text, path, settings, project or ProjectIndex(), wanted, marks)
    try:
        return run.result()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _problem(text, path, _NOT_PARSED, _reason(error), _line_of(error))
    except UserError:
        raise
    except Exception as error:  # a fault of one rule must not cost the user the other files
        return _problem(text, path, _UNSTABLE, f"internal error {type(error).__name__}: {error}")


def _wanted(rule: Rule, text: str, path: str, settings: Settings) -> bool:
    if not settings.enabled(rule.code) or not rule.applies(settings):
        return False
    for glob, codes in settings.per_file_ignores.items():
        if rule.code.startswith(tuple(codes)) and fnmatch(path, glob):
            return False
    return not rule.triggers or any(t in text for t in rule.triggers)


class _Run:
    """The rounds over one module."""

    def __init__(
        self,
        text: str,
        path: str,
        settings: Settings,
        project: ProjectIndex,
        rules: Sequence[Rule],
        marks: suppress.Suppressions,
    ) -> None:
        self.first = text
        self.path = path
        self.settings = settings
        self.project = project
        self.rules = rules
        self.marks = marks
        self.map = splice.OffsetMap()
        self.applied: list[tuple[Rule, Change, tuple[int, int], tuple[Edit, ...]]] = []

    def result(self) -> FileResult:
        ctx = ModuleContext(self.first, self.path, self.settings, self.project)
        if is_dual(ctx):
            self.rules = [r for r in self.rules if r.also_dual]
        for _ in range(self.settings.max_rounds):
            proposed = self._propose(ctx)
            chosen = splice.choose([c for _, c in proposed if self._may_apply(c)])
            if not chosen:
                return self._finish(ctx, [(r, c) for r, c in proposed])
            taken = {id(c) for c in chosen}
            new = self._apply(ctx.source, [(r, c) for r, c in proposed if id(c) in taken])
            if new is None:
                return _problem(self.first, self.path, _UNSTABLE, "a comment would be lost")
            ctx = ModuleContext(new, self.path, self.settings, self.project, ctx.original)
        reason = f"not stable after {self.settings.max_rounds} rounds"
        return _problem(self.first, self.path, _UNSTABLE, reason)

    def _propose(self, ctx: ModuleContext) -> list[tuple[Rule, Change]]:
        by_type: dict[type[ast.AST], list[Rule]] = {}
        for rule in self.rules:
            for node_type in rule.nodes:
                by_type.setdefault(node_type, []).append(rule)
        found: list[tuple[Rule, Change]] = []
        for node_type, rules in by_type.items():
            for node in ctx.names.by_type.get(node_type, ()):
                for rule in rules:
                    found.extend((rule, _settled(rule, c)) for c in rule.run(node, ctx))
        return [(r, c) for r, c in found if not self._hidden(ctx, r, c)]

    def _hidden(self, ctx: ModuleContext, rule: Rule, change: Change) -> bool:
        if not self.marks.codes:
            return False
        last = max(change.start, change.end - 1)
        lines = [ctx.original.position(self.map.back(x))[0] for x in (change.start, last)]
        return self.marks.hides(rule.code, lines[0], lines[1])

    def _may_apply(self, change: Change) -> bool:
        if not change.edits or change.safety is Safety.MANUAL:
            return False
        return change.safety is Safety.SAFE or self.settings.unsafe

    def _apply(self, source: str, chosen: list[tuple[Rule, Change]]) -> str | None:
        edits = [e for _, c in chosen for e in c.edits]
        if any(_loses_comment(source, e) for e in edits):
            return None
        for rule, change in chosen:
            place = (self.map.back(change.start), self.map.back(change.end))
            self.applied.append((rule, change, place, self._old_edits(change)))
        new = splice.apply(source, edits)
        self.map.add(edits)
        return new

    def _finish(self, ctx: ModuleContext, left: list[tuple[Rule, Change]]) -> FileResult:
        first = ctx.original
        outcomes = [
            (
                place[0],
                Outcome(
                    _finding(rule, change, _place(first, place)),
                    True,
                    old,
                    ctx.position(self.map.forward(place[0]))[0],
                    change.safety or rule.safety,
                ),
            )
            for rule, change, place, old in self.applied
        ]
        for rule, change in left:
            place = (self.map.back(change.start), self.map.back(change.end))
            outcome = Outcome(
                _finding(rule, change, _place(first, place)),
                False,
                self._old_edits(change),
                ctx.position(change.start)[0],
                change.safety or Safety.MANUAL,
            )
            outcomes.append((place[0], outcome))
        outcomes += [(0, o) for o in self._suppression_findings()]
        outcomes.sort(key=lambda pair: (pair[0], pair[1].finding.code))
        counts = Counter(rule.code for rule, _, _, _ in self.applied)
        changed = ctx.source != self.first
        found = tuple(outcome for _, outcome in outcomes)
        return FileResult(self.path, ctx.source, changed, found, dict(sorted(counts.items())))

    def _old_edits(self, change: Change) -> tuple[Edit, ...]:
        """The edits in coordinates of the first text, or none if an earlier round touched the place."""
        back, known = self.map.back, self.map.untouched
        if not all(known(e.start, e.end) for e in change.edits):
            return ()
        return tuple(Edit(back(e.start), back(e.end), e.text, e.group) for e in change.edits)

    def _suppression_findings(self) -> list[Outcome]:
        active = {r.code for r in all_rules() if self.settings.enabled(r.code) and r.applies(self.settings)}
        useless = [
            (line, _UNUSED, {"code": code})
            for line, code in self.marks.unused()
            if code in active or not code.startswith("NPU")
        ]
        useless += [(line, _BARE, {}) for line in self.marks.bare]
        return [
            Outcome(
                _message_finding(UNUSED, "unused-suppression", message, params, Place(self.path, line)),
                False,
                line=line,
            )
            for line, message, params in useless
        ]


def _settled(rule: Rule, change: Change) -> Change:
    """The change with its safety filled in."""
    safety = Safety.MANUAL if not change.edits else (change.safety or rule.safety)
    return replace(change, safety=safety)


def _loses_comment(source: str, edit: Edit) -> bool:
    """Whether an edit would drop a comment that it does not write again."""
    old = source[edit.start : edit.end]
    return "#" in old and Counter(comments(old)) - Counter(comments(edit.text)) != Counter()


def comments(text: str) -> list[str]:
    """Comments of a piece of Python, complete or not."""
    if "#" not in text:
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append(token.string.rstrip())
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass  # a fragment may end inside brackets; the comments before that were seen
    return found


def _place(ctx: ModuleContext, span: tuple[int, int]) -> Place:
    line, column = ctx.position(span[0])
    end_line, end_column = ctx.position(span[1])
    return Place(ctx.path, line, column, end_line, end_column)


def _finding(rule: Rule, change: Change, place: Place) -> Finding:
    message = change.message or rule.message
    safety = change.safety or rule.safety
    finding = _message_finding(rule.code, rule.slug, message, change.params, place, safety)
    return finding if change.severity is None else replace(finding, severity=change.severity)


def _message_finding(
    code: str,
    slug: str,
    message: Message,
    params: Mapping[str, object],
    place: Place,
    safety: Safety = Safety.MANUAL,
) -> Finding:
    return Finding(
        code,
        slug,
        message.severity,
        message.title,
        message.cause,
        place,
        dict(params),
        fixes=(Fix(message.fix, safety=safety),),
        sources=message.sources,
    )


def _problem(text: str, path: str, message: Message, reason: str, line: int | None = None) -> FileResult:
    finding = _message_finding(PROBLEM, "file-not-migrated", message, {"reason": reason}, Place(path, line))
    return FileResult(path, text, False, (Outcome(finding, False, line=line or 1),), {}, failed=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "syntax error"
    if isinstance(error, RecursionError):
        return "expressions nested too deeply"
    return str(error) or type(error).__name__


def _line_of(error: BaseException) -> int | None:
    return error.lineno if isinstance(error, SyntaxError) else None
