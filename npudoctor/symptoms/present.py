"""Matches as a report, and the page of one code or symptom."""

from __future__ import annotations

from collections.abc import Mapping

from npudoctor.core.blocks import Answer
from npudoctor.core.exits import Exit
from npudoctor.core.finding import Evidence, Finding, Fix, Place
from npudoctor.core.report import Report
from npudoctor.core.text import Text, filled, verbatim
from npudoctor.symptoms.codes import CodeRow, rows_for
from npudoctor.symptoms.match import Scanner
from npudoctor.symptoms.rank import Match
from npudoctor.symptoms.rows import Candidate, Symptom, date

_FOUND = Text(
    "known symptoms in {lines} lines: {n}; the first is the likely cause",
    "在 {lines} 行中发现 {n} 个已知症状，第一个最可能是原因",
)
_NOTHING = Text(
    "no known symptom in {lines} lines (table of {date})",
    "在 {lines} 行中没有发现已知症状（{date} 的数据表）",
)
_CANDIDATE = Text(
    "candidate {n}: {cause}. Test: {test}. Then: {fix}", "可能原因 {n}：{cause}。测试：{test}。处理：{fix}"
)
_WEAK = Text(
    "{cause} (weakly founded: no source proves the cause)", "{cause}（依据较弱：没有来源能证实原因）"
)
_MEANS = Text("{code} means: {meaning}; {cause}", "{code} 表示：{meaning}；{cause}")
_NEXT_CHECK = Text("`npudoctor check` looks at this machine itself", "`npudoctor check` 可直接检查本机")
_NEXT_PLOG = Text(
    "try the CANN log of the same run: ~/ascend/log/debug/plog",
    "可再查看同一次运行的 CANN 日志：~/ascend/log/debug/plog",
)
_CAUSE = Text("cause", "原因")
_FIX = Text("fix", "修复")
_SOURCE = Text("source", "来源")
_MEANING = Text("meaning", "含义")
_PAGE = Text("what is known about {what}", "关于 {what} 的已知信息")
_UNKNOWN_CODE = Text(
    "{what} is unknown to the table of {date}", "{date} 的数据表中没有 {what}"
)


def report(name: str, scanner: Scanner, matches: tuple[Match, ...]) -> Report:
    """The report of `explain FILE`; `name` is the file as the user wrote it."""
    return Report(
        command="explain",
        verdict=_FOUND if matches else _NOTHING,
        params={"n": len(matches), "lines": scanner.lines, "date": date()},
        findings=tuple(_finding(name, match) for match in matches),
        tables={"symptoms": date()},
        next_step=_NEXT_CHECK if matches else _NEXT_PLOG,
        extra={"lines": scanner.lines, "matches": [_as_data(m) for m in matches]},
    )


def _finding(name: str, match: Match) -> Finding:
    symptom = match.symptom
    cause = _cause(symptom, match.params)
    for row in rows_for(str(match.params.get("code", ""))):
        meaning = verbatim(row.meaning, row.meaning_zh)
        cause = filled(_MEANS, {"code": row.code, "meaning": meaning, "cause": cause})
    if symptom.strength == "low":
        cause = filled(_WEAK, {"cause": cause})
    lines = sorted({*match.lines, *match.related})
    return Finding(
        code=symptom.code,
        slug=symptom.id,
        severity=symptom.severity,
        title=filled(symptom.title, match.params),
        cause=cause,
        place=Place(name, match.lines[0][0]),
        evidence=tuple(Evidence(f"{name}:{number}", text) for number, text in lines),
        fixes=_fixes(symptom, match.params),
        sources=symptom.sources,
        consequences=tuple(_finding(name, below) for below in match.follows),
    )


def _cause(symptom: Symptom, params: Mapping[str, object]) -> Text:
    """The cause; for an ambiguous code also how to go about its candidates."""
    cause = filled(symptom.cause, params)
    if not symptom.candidates or symptom.commands:
        return cause
    fix = filled(symptom.fix, params)
    return verbatim(f"{cause.en}; {fix.en}", f"{cause.zh}；{fix.zh}")


def _fixes(symptom: Symptom, params: Mapping[str, object]) -> tuple[Fix, ...]:
    if not symptom.candidates:
        return (Fix(filled(symptom.fix, params), _commands(symptom.commands, params)),)
    numbered = enumerate(symptom.candidates, start=1)
    candidates = [Fix(_candidate(c, n, params), _commands(c.commands, params)) for n, c in numbered]
    first = Fix(filled(symptom.fix, params), _commands(symptom.commands, params))
    return (first, *candidates) if first.commands else tuple(candidates)


def _candidate(candidate: Candidate, number: int, params: Mapping[str, object]) -> Text:
    parts = {k: filled(getattr(candidate, k), params) for k in ("cause", "test", "fix")}
    return filled(_CANDIDATE, {"n": number, **parts})


def _commands(commands: tuple[str, ...], params: Mapping[str, object]) -> tuple[str, ...]:
    """Commands with `{name}` replaced; other braces belong to the shell."""
    done = []
    for command in commands:
        for name, value in params.items():
            command = command.replace("{" + name + "}", str(value))
        done.append(command)
    return tuple(done)


def _as_data(match: Match) -> dict[str, object]:
    symptom = match.symptom
    return {
        "id": symptom.id, "code": symptom.code, "area": symptom.area, "rank": symptom.rank.name.lower(),
        "strength": symptom.strength, "count": match.count, "at_least": match.at_least,
        "lines": [number for number, _ in match.lines], "params": dict(match.params),
        "candidates": len(symptom.candidates), "codes": list(symptom.codes),
        "follows": [_as_data(below) for below in match.follows],
    }


# --- pages -------------------------------------------------------------------------------


def page(
    what: str, codes: tuple[CodeRow, ...], symptoms: tuple[Symptom, ...], tables: dict[str, str]
) -> Report:
    """The page of a vendor code, a symptom, or of a word search; exit code 1 when nothing is known."""
    blocks = [*map(_code_block, codes), *map(symptom_block, symptoms)]
    return Report(
        command="explain",
        verdict=_PAGE if blocks else _UNKNOWN_CODE,
        params={"what": what, "date": max(tables.values())},
        blocks=tuple(blocks),
        tables=tables,
        decided=None if blocks else Exit.FINDINGS,
        extra={
            "what": what,
            "codes": [{"code": c.code, "family": c.family, "meaning": c.meaning} for c in codes],
            "symptoms": [{"id": s.id, "code": s.code, "codes": list(s.codes)} for s in symptoms],
        },
    )


def _code_block(row: CodeRow) -> Answer:
    lines = ((_MEANING, verbatim(row.meaning, row.meaning_zh)), (_SOURCE, verbatim(row.source)))
    return Answer(verbatim(f"{row.code}  ({row.family})"), lines)


def symptom_block(symptom: Symptom) -> Answer:
    """One symptom without a log: parameters show as their defaults or as `<name>`."""
    params: dict[str, object] = {name: f"<{name}>" for name in symptom.parameters() | set(symptom.defaults)}
    params.update(symptom.defaults)
    lines = [(_CAUSE, _cause(symptom, params))]
    lines += [(_FIX, fix.note) for fix in _fixes(symptom, params)]
    lines.append((_SOURCE, verbatim(symptom.sources[0])))
    commands = [c for fix in _fixes(symptom, params) for c in fix.commands]
    title = filled(symptom.title, params)
    head, tail = f"{symptom.code} ", f"  [{symptom.id}]"
    name = verbatim(head + title.en + tail, head + title.zh + tail)
    return Answer(name, tuple(lines), tuple(dict.fromkeys(commands)))
