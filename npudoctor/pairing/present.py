"""A solution as a report: the sets, or what conflicts and the smallest changes that mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from npudoctor.core.blocks import Answer
from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.report import Report
from npudoctor.core.text import Text, filled, verbatim
from npudoctor.core.unit_words import Part, Said
from npudoctor.pairing.install import RELEASES, images, pip_commands
from npudoctor.pairing.solve import Candidate, Change, Query, Solution, candidates
from npudoctor.pairing.table import DriverRelation, Known, Relation, Tables, Unknown

_NAMES = {
    "torch": verbatim("torch"), "torch_npu": verbatim("torch_npu"), "cann": verbatim("CANN"),
    "python": verbatim("Python"), "driver": verbatim("driver", "驱动"),
}

_FITS = Text("sets that fit: {n}; the first is the one to take", "有 {n} 组版本可用，推荐第一组")
_RESERVED = Text(
    "sets that fit, each with a reservation: {n}; the first has the fewest",
    "有 {n} 组版本可用，但都有保留意见，第一组最少",
)
_SILENT = Text("no document names the CANN of torch_npu {rows}", "没有文档写明 torch_npu {rows} 的 CANN 版本")
_COMPATIBLE = Text(
    "no documented pair; the vendor's wider matrix allows {n} sets (compatible, not paired)",
    "没有文档给出的配套；厂商的兼容性表允许 {n} 组（兼容但非配套）",
)
_NO_SET = Text("no set fits all parts", "没有一组版本能同时满足所有条件")
_UNKNOWN = Text("not known to the table of {date}", "{date} 的数据表中没有这一版本")
_NEXT = Text("install the set, then run `npudoctor check`", "安装该组版本后运行 `npudoctor check`")

_CONFLICT = Text("{a} and {b} do not go together", "{a} 与 {b} 不配套")
_BECAUSE = Text(
    "documents pair {a} with {a_with}, and {b} with {b_with} (table of {date})",
    "文档中 {a} 配套的是 {a_with}，{b} 配套的是 {b_with}（{date} 的数据表）",
)
_NO_OPERATORS = Text(
    "{a} has no operator package for Ascend {chip}", "{a} 没有 Ascend {chip} 的算子包"
)
_NO_OPERATORS_CAUSE = Text(
    "up to CANN 8.3 no kernels package is known for this chip (table of {date})",
    "CANN 8.3 及更早版本没有已知的该芯片算子包（{date} 的数据表）",
)
_NO_BUILD = Text("no set with {a} is documented", "没有包含 {a} 的配套记录")
_NO_BUILD_CAUSE = Text(
    "the table of {date} holds no released set with {a}", "{date} 的数据表中没有包含 {a} 的已发布组合"
)
_NOBODY = Text("nothing", "无")
_ONLY = Text(
    "{parts}: compatible by the vendor's product matrix, but not paired",
    "{parts}：按厂商产品兼容性表兼容，但并非配套版本",
)
_ONLY_CAUSE = Text(
    "the vendor tests the paired versions together; the wider matrix only declares the others compatible",
    "厂商只对配套版本做联合测试，兼容性表仅声明其余组合可用",
)
_CHANGE = Text(
    "change {parts}: torch {torch}, torch_npu {torch_npu}, CANN {cann}, Python {python}",
    "更改 {parts}：torch {torch}、torch_npu {torch_npu}、CANN {cann}、Python {python}",
)
_CHANGE_DRIVER = Text(
    "change {parts}: driver {driver} or newer, with torch {torch}, torch_npu {torch_npu}, CANN {cann}, "
    "Python {python}",
    "更改 {parts}：驱动 {driver} 或更新，配合 torch {torch}、torch_npu {torch_npu}、CANN {cann}、"
    "Python {python}",
)
_SILENT_CAUSE = Text(
    "the package exists, but the table of {date} has no row that pairs it; it may work, nobody says so",
    "软件包存在，但 {date} 的数据表没有为其给出配套；它可能可用，只是没有文档说明",
)
_KEEP = Text(
    "keep everything, compatible but not paired: torch {torch}, torch_npu {torch_npu}, CANN {cann}, "
    "Python {python}",
    "全部保留（兼容但非配套）：torch {torch}、torch_npu {torch_npu}、CANN {cann}、Python {python}",
)
_NOT_KNOWN = Text("{part} is unknown to the table of {date}", "{date} 的数据表中没有 {part}")
_NOT_KNOWN_CAUSE = Text(
    "it may be newer or older than the table, or mistyped; the newest known set is torch {torch}, "
    "torch_npu {torch_npu}, CANN {cann}",
    "它可能比数据表更新或更旧，也可能写错；"
    "已知最新的一组是 torch {torch}、torch_npu {torch_npu}、CANN {cann}",
)
_ADD_ROW = Text(
    "add the version in a table of your own and pass it with --table, or choose a known one",
    "在自己的数据表中补充该版本并用 --table 传入，或改用已知版本",
)

#: Code -> everything that may be said under it.
SAID = {
    "NPU801": Said("no-set-fits", (
        *((Part.SAYS, text) for text in (_CONFLICT, _NO_BUILD, _NO_OPERATORS)),
        *((Part.CAUSE, text) for text in (_BECAUSE, _NO_BUILD_CAUSE, _NO_OPERATORS_CAUSE)),
        *((Part.FIX, text) for text in (_CHANGE, _CHANGE_DRIVER)),
    )),
    "NPU802": Said(
        "compatible-not-paired", ((Part.SAYS, _ONLY), (Part.CAUSE, _ONLY_CAUSE), (Part.FIX, _KEEP))
    ),
    "NPU803": Said(
        "version-unknown", ((Part.SAYS, _NOT_KNOWN), (Part.CAUSE, _NOT_KNOWN_CAUSE), (Part.FIX, _ADD_ROW))
    ),
    "NPU804": Said(
        "cann-undocumented", ((Part.SAYS, _SILENT), (Part.CAUSE, _SILENT_CAUSE), (Part.FIX, _CHANGE))
    ),
}

_FOUNDATION = Text("basis", "依据")
_PYTHON = verbatim("Python")
_DRIVER = Text("driver", "驱动")
_IMAGE = Text("image", "镜像")
_NOTE = Text("note", "说明")
_SOURCE = Text("source", "来源")
_RELATION = {
    Relation.PAIRED: Text("documented pair", "文档给出的配套"),
    Relation.SERIES: Text("same release series as the documented pair", "与文档配套版本属同一发布系列"),
    Relation.TESTED: Text("another project documents running both", "有其他项目说明曾一起运行"),
    Relation.COMPATIBLE: Text(
        "compatible by the vendor's wider matrix, not paired", "厂商兼容性表允许，但非配套"
    ),
}
_DRIVER_RELATION = {
    DriverRelation.PAIRED: Text("{driver}: named as matching", "{driver}：文档写明配套"),
    DriverRelation.COMPATIBLE: Text("{driver}: declared compatible", "{driver}：声明兼容"),
    DriverRelation.NEWER: Text(
        "{driver}: newer than every listed driver, which carry older CANN as a rule",
        "{driver}：比表中所有驱动都新，通常可支撑较旧的 CANN",
    ),
    DriverRelation.OLDER_THAN_PAIRED: Text(
        "{driver}: older than the paired {minimum}; no minimum is documented",
        "{driver}：早于配套的 {minimum}；没有文档给出最低版本",
    ),
    DriverRelation.UNKNOWN: Text(
        "{driver}: not judged by the table of {date}", "{driver}：{date} 的数据表未涉及"
    ),
}
_OWN_NUMBERS = Text(
    "Ascend 950 drivers have lines of their own (25.1, 25.6, 25.7); the table names no minimum",
    "Ascend 950 的驱动使用单独的版本系列（25.1、25.6、25.7），数据表没有给出最低版本",
)
_MINIMUM = Text("{minimum} or newer", "{minimum} 或更新")
_PAIRED_DRIVER = Text(
    "{minimum} is the paired one; no minimum is documented",
    "配套版本为 {minimum}；没有文档给出最低版本",
)
_WEAK = Text("weakly founded ({confidence})", "依据较弱（{confidence}）")
_CONFLICTING = Text("sources contradict each other", "各来源互相矛盾")
_OFF_INDEX = Text(
    "not on the package index: download the wheel from {url} first",
    "不在软件包索引上：请先从 {url} 下载 wheel",
)
_PYTHONS = Text("{python} (documented: {all})", "{python}（文档支持：{all}）")
_PYTHON_UNKNOWN = Text("no table names the supported versions", "没有数据表写明支持的版本")


def report(data: Tables, solution: Solution, arch: str, limit: int) -> Report:
    """The report of `npudoctor pair`; `limit` sets at most (0: all)."""
    shown = solution.candidates[: limit or None]
    verdicts = {
        "fits": _FITS if shown and shown[0].tier < 3 else _RESERVED, "compatible-only": _COMPATIBLE,
        "no-set": _NO_SET, "unknown": _UNKNOWN, "undocumented": _SILENT,
    }
    rows = ", ".join(row.torch_npu for row in solution.undocumented)
    params = {"n": len(solution.candidates), "date": data.date, "rows": rows}
    return Report(
        command="pair",
        verdict=verdicts[solution.verdict],
        params=params,
        findings=tuple(_findings(data, solution, arch)),
        # Sets that are only compatible are offered as the last way out of the finding.
        blocks=tuple(
            _block(data, solution.query, c, arch, i) for i, c in enumerate(shown, 1)
            if solution.verdict == "fits"
        ),
        tables=data.dates,
        next_step=_NEXT if shown else None,
        extra={
            "verdict": solution.verdict,
            "query": {k: v for k, v in vars(solution.query).items() if v},
            "arch": arch,
            "sets": [as_data(data, solution.query, c, arch) for c in shown],
            "sets_total": len(solution.candidates),
            "conflicts": [list(pair) for pair in solution.conflicts],
            "changes": [
                {"change": list(c.parts), "set": as_data(data, solution.query, c.candidate, arch)}
                for c in solution.changes
            ],
            "unknown": list(solution.unknown),
        },
    )


def as_data(data: Tables, query: Query, found: Candidate, arch: str) -> dict[str, Any]:
    """One set as plain data."""
    row = found.row
    minimum = data.driver_minimum(found.cann)
    return {
        "torch": row.torch, "torch_npu": row.torch_npu, "cann": str(found.cann), "python": found.python,
        "pythons": list(row.python), "relation": found.relation.value,
        "driver": found.driver.value if found.driver else None,
        "driver_minimum": None if isinstance(minimum, Unknown) else vars(minimum.value),
        "product": row.product or None, "branch": row.branch or None, "tag": row.tag or None,
        "on_index": row.on_index, "confidence": row.provenance.confidence, "conflict": row.conflict,
        "note": row.note["en"] or None, "images": list(images(data, found, query.chip)),
        "commands": list(pip_commands(row, found.python, arch)), "sources": list(row.provenance.urls),
    }


# --- findings ----------------------------------------------------------------------------


def _findings(data: Tables, solution: Solution, arch: str) -> list[Finding]:
    if solution.unknown:
        return [_unknown(data, solution.query, name, arch) for name in solution.unknown]
    fixes = tuple(_change(data, change, arch) for change in solution.changes)
    if solution.verdict == "compatible-only":
        return [_compatible_only(data, solution, fixes, arch)]
    if solution.verdict == "undocumented":
        rows = solution.undocumented
        params = {"rows": ", ".join(row.torch_npu for row in rows), "date": data.date}
        return [
            Finding("NPU804", "cann-undocumented", Severity.WARNING, _SILENT, _SILENT_CAUSE,
                    params=params, fixes=fixes, sources=rows[0].provenance.urls)
        ]
    if solution.verdict == "no-set":
        found = [_conflict(data, solution.query, pair) for pair in solution.conflicts]
        found = found or [_conflict(data, solution.query, (n, n)) for n in list(solution.query.given())[:1]]
        # The conflicts stand side by side; the changes below the last one mend them all.
        return [*found[:-1], replace(found[-1], fixes=fixes)]
    return []


def _conflict(data: Tables, query: Query, pair: tuple[str, str]) -> Finding:
    a, b = (_part(query, name) for name in pair)
    params: dict[str, object] = {"a": a, "b": b, "date": data.date}
    title, cause = _CONFLICT, _because(data, query, pair)
    if pair[0] == pair[1]:
        title, cause = _NO_BUILD, _NO_BUILD_CAUSE
        if query.chip and candidates(data, replace(query.without(*_others(query, pair[0])), chip=None)):
            title, cause, params["chip"] = _NO_OPERATORS, _NO_OPERATORS_CAUSE, query.chip
    return Finding("NPU801", "no-set-fits", Severity.ERROR, title, cause, params=params)


def _compatible_only(data: Tables, solution: Solution, fixes: tuple[Fix, ...], arch: str) -> Finding:
    query = solution.query
    pair = solution.conflicts[0] if solution.conflicts else ("torch_npu", "cann")
    parts = _joined(_part(query, name) for name in dict.fromkeys(pair) if getattr(query, name))
    cause, first = _ONLY_CAUSE, solution.candidates[0]
    keep = Fix(filled(_KEEP, _set_params(first)), pip_commands(first.row, first.python, arch))
    fixes = (*fixes, keep)
    if solution.conflicts and pair[0] != pair[1]:
        why = _because(data, query, pair)
        cause = verbatim(f"{why.en}; {cause.en}", f"{why.zh}；{cause.zh}")
    return Finding("NPU802", "compatible-not-paired", Severity.WARNING, _ONLY, cause,
                   params={"parts": parts}, fixes=fixes)


def _unknown(data: Tables, query: Query, name: str, arch: str) -> Finding:
    newest = next(c for c in candidates(data, Query()) if c.tier == 0)
    params = {
        "part": _part(query, name), "date": data.date, "torch": newest.row.torch,
        "torch_npu": newest.row.torch_npu, "cann": str(newest.cann),
    }
    return Finding("NPU803", "version-unknown", Severity.ERROR, _NOT_KNOWN, _NOT_KNOWN_CAUSE,
                   params=params, fixes=(Fix(_ADD_ROW),))


def _because(data: Tables, query: Query, pair: tuple[str, str]) -> Text:
    a, b = pair
    return filled(_BECAUSE, {
        "a": _part(query, a), "a_with": _goes_with(data, query, a, b),
        "b": _part(query, b), "b_with": _goes_with(data, query, b, a), "date": data.date,
    })


def _others(query: Query, name: str) -> list[str]:
    return [other for other in query.given() if other != name]


def _goes_with(data: Tables, query: Query, fixed: str, other: str) -> Text:
    """What documented sets with the fixed part alone carry for the other part, newest first."""
    alone = query.without(*_others(query, fixed))
    found = [c for c in candidates(data, alone) if c.exact]
    if other == "driver":
        minimums = (data.driver_minimum(c.cann) for c in found)
        values = [m.value.version for m in minimums if isinstance(m, Known)]
    elif other == "python":
        values = [p for c in found for p in c.row.python]
    elif fixed == "python":
        values = [_value(c, other) for c in found if c.python_known]
    else:
        values = [_value(c, other) for c in found]
    unique = list(dict.fromkeys(values))[:6]
    return _named(other, ", ".join(unique)) if unique else _NOBODY


def _value(found: Candidate, part: str) -> str:
    return str(found.cann) if part == "cann" else str(getattr(found.row, part))


def _change(data: Tables, change: Change, arch: str) -> Fix:
    found = change.candidate
    parts = _joined(_NAMES[p] for p in change.parts)
    params: dict[str, object] = {"parts": parts, **_set_params(found)}
    text, minimum = _CHANGE, data.driver_minimum(found.cann)
    if "driver" in change.parts and isinstance(minimum, Known):
        text, params["driver"] = _CHANGE_DRIVER, minimum.value.version.replace(".X", "")
    host = "driver" in change.parts
    return Fix(filled(text, params), pip_commands(found.row, found.python, arch), host_only=host)


def _set_params(found: Candidate) -> dict[str, str]:
    row = found.row
    return {
        "torch": row.torch, "torch_npu": row.torch_npu, "cann": str(found.cann),
        "python": found.python or "?",
    }


def _part(query: Query, name: str) -> Text:
    return _named(name, getattr(query, name))


def _named(name: str, version: str) -> Text:
    """`driver 25.2.0`, in Chinese `驱动 25.2.0`."""
    return verbatim(f"{_NAMES[name].en} {version}", f"{_NAMES[name].zh} {version}")


def _joined(parts: Iterable[Text]) -> Text:
    found = tuple(parts)
    return verbatim(" + ".join(p.en for p in found), " + ".join(p.zh for p in found))


# --- one set as lines ----------------------------------------------------------------------


def _block(data: Tables, query: Query, found: Candidate, arch: str, number: int) -> Answer:
    row = found.row
    title = f"{number}. torch {row.torch} + torch_npu {row.torch_npu} + CANN {found.cann}"
    if found.python:
        title += f" + Python {found.python}"
    lines: list[tuple[Text, Text]] = [(_FOUNDATION, _RELATION[found.relation])]
    lines.append((_PYTHON, _python_line(found)))
    driver = _driver_line(data, query, found)
    if driver is not None:
        lines.append((_DRIVER, driver))
    lines += [(_IMAGE, verbatim(image)) for image in images(data, found, query.chip)]
    lines += [(_NOTE, note) for note in _notes(found)]
    lines.append((_SOURCE, verbatim(row.provenance.url)))
    return Answer(verbatim(title), tuple(lines), pip_commands(row, found.python, arch))


def _python_line(found: Candidate) -> Text:
    if not found.row.python:
        return _PYTHON_UNKNOWN
    return filled(_PYTHONS, {"python": found.python, "all": ", ".join(found.row.python)})


def _driver_line(data: Tables, query: Query, found: Candidate) -> Text | None:
    minimum = data.driver_minimum(found.cann)
    lowest = "?" if isinstance(minimum, Unknown) else minimum.value.version.replace(".X", "")
    if found.driver is not None:
        params = {"driver": query.driver, "minimum": lowest, "date": data.driver_date}
        return filled(_DRIVER_RELATION[found.driver], params)
    if query.chip == "950":
        return _OWN_NUMBERS
    if isinstance(minimum, Unknown):
        return None
    return filled(_MINIMUM if minimum.value.strict else _PAIRED_DRIVER, {"minimum": lowest})


def _notes(found: Candidate) -> list[Text]:
    row, notes = found.row, []
    if row.provenance.confidence != "high":
        notes.append(filled(_WEAK, {"confidence": row.provenance.confidence}))
    if row.conflict:
        notes.append(_CONFLICTING)
    if row.note["en"]:
        notes.append(verbatim(row.note["en"], row.note["zh"]))
    if not row.on_index:
        notes.append(filled(_OFF_INDEX, {"url": RELEASES}))
    return notes
