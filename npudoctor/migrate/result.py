"""What comes out of one file: outcomes, the result, and the findings the engine itself makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from npudoctor.core.finding import Finding, Fix, Place, Safety, Severity
from npudoctor.core.text import Text
from npudoctor.migrate.api import Change, Edit, Message, Rule
from npudoctor.migrate.context import ModuleContext

PROBLEM = "NPU100"
UNUSED = "NPU199"

NOT_PARSED = Message(
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
UNSTABLE = Message(
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
UNUSED_COMMENT = Message(
    title=Text(
        "the comment ignores {code}, which is not reported here", "注释忽略了 {code}，但此处并无该发现"
    ),
    cause=Text(
        "a suppression that hides nothing today may hide something tomorrow",
        "今天什么也没有忽略的注释，明天可能会掩盖真正的问题",
    ),
    fix=Text("remove the comment", "删除该注释"),
)
BARE_COMMENT = Message(
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
#: Code -> slug and everything that may be said under it.
PAGES = {
    PROBLEM: ("file-not-migrated", (NOT_PARSED, UNSTABLE)),
    UNUSED: ("unused-suppression", (UNUSED_COMMENT, BARE_COMMENT)),
}


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


def place_of(ctx: ModuleContext, span: tuple[int, int]) -> Place:
    line, column = ctx.position(span[0])
    end_line, end_column = ctx.position(span[1])
    return Place(ctx.path, line, column, end_line, end_column)


def finding_of(rule: Rule, change: Change, place: Place) -> Finding:
    message = change.message or rule.message
    safety = change.safety or rule.safety
    finding = message_finding(rule.code, rule.slug, message, change.params, place, safety)
    return finding if change.severity is None else replace(finding, severity=change.severity)


def message_finding(
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


def problem(text: str, path: str, message: Message, reason: str, line: int | None = None) -> FileResult:
    finding = message_finding(PROBLEM, "file-not-migrated", message, {"reason": reason}, Place(path, line))
    return FileResult(path, text, False, (Outcome(finding, False, line=line or 1),), {}, failed=True)


def reason_of(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "syntax error"
    if isinstance(error, RecursionError):
        return "expressions nested too deeply"
    return str(error) or type(error).__name__


def line_of(error: BaseException) -> int | None:
    return error.lineno if isinstance(error, SyntaxError) else None
