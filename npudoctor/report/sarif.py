"""SARIF 2.1.0, as code-scanning services and editors read it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from npudoctor.core.finding import Place, Severity
from npudoctor.core.text import Text
from npudoctor.version import __version__

if TYPE_CHECKING:
    from npudoctor.core.changes import Changes, Item
    from npudoctor.core.finding import Finding
    from npudoctor.core.report import Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_ROOT = "SRCROOT"
_HELP = Text(
    "'npudoctor explain {code}' tells what the rule changes, and when it does not",
    "“npudoctor explain {code}”说明该规则修改什么，以及何时不修改",
)


def dumps(report: Report, changes: Changes, lang: str) -> str:
    """The log as JSON text."""
    return json.dumps(as_dict(report, changes, lang), ensure_ascii=False, indent=2)


def as_dict(report: Report, changes: Changes, lang: str) -> dict[str, Any]:
    """The log as plain data. After a migration it holds what is left; before, the fixes too."""
    items = changes.left if changes.written else changes.items
    codes = sorted({item.finding.code for item in items})
    first = {item.finding.code: item.finding for item in reversed(items)}
    texts = {file.path: (file.new if changes.written else file.old) for file in changes.files}
    seen: dict[str, int] = {}
    results = [_result(item, codes, changes, texts, seen, lang) for item in items]
    driver = {
        "name": "npudoctor",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(first[code], lang) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "root of the repository"}}},
        "invocations": [{"executionSuccessful": True, "exitCode": int(report.exit_code())}],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding, lang: str) -> dict[str, Any]:
    name = "".join(word.capitalize() for word in finding.slug.split("-"))
    words = finding.slug.replace("-", " ")
    return {
        "id": finding.code,
        "name": name,
        "shortDescription": {"text": f"{words[:1].upper()}{words[1:]}"},
        "fullDescription": {"text": finding.cause.render(lang, finding.params)},
        "help": {"text": _HELP.render(lang, {"code": finding.code})},
        "defaultConfiguration": {"level": _LEVEL[finding.severity]},
    }


def _result(
    item: Item, codes: list[str], changes: Changes, texts: dict[str, str], seen: dict[str, int], lang: str
) -> dict[str, Any]:
    finding = item.finding
    notes = [fix.note.render(lang, finding.params) for fix in finding.fixes]
    message = ". ".join([finding.title.render(lang, finding.params), *notes])
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVEL[finding.severity],
        "message": {"text": message},
    }
    place = _now(item, changes.written)
    if place is not None:
        result["locations"] = [_location(finding, place, changes)]
        result["partialFingerprints"] = {"npudoctor/v1": _fingerprint(finding, place, texts, seen)}
    if item.edits and not changes.written:
        result["fixes"] = [_fix(item, changes, message)]
    return result


def _now(item: Item, written: bool) -> Place | None:
    """The place in the text that is on disk."""
    place = item.finding.place
    if place is None or place.line is None or not written:
        return place
    return Place(place.path, item.new_line)


def _location(finding: Finding, place: Place, changes: Changes) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.path, changes)}
    if place.line is not None:
        physical["region"] = _region(place)
    cells = [e.place for e in finding.evidence if place.path.endswith(".ipynb")]
    cell = {"logicalLocations": [{"fullyQualifiedName": name} for name in cells]} if cells else {}
    return {"physicalLocation": physical, **cell}


def _artifact(path: str, changes: Changes) -> dict[str, Any]:
    return {"uri": _uri(changes.in_repository(path)), "uriBaseId": _ROOT}


def _region(place: Place) -> dict[str, int]:
    names = (("startLine", place.line), ("startColumn", place.column),
             ("endLine", place.end_line), ("endColumn", place.end_column))
    return {name: number for name, number in names if number is not None}


def _fix(item: Item, changes: Changes, message: str) -> dict[str, Any]:
    by_path: dict[str, list[dict[str, Any]]] = {}
    for edit in item.edits:
        by_path.setdefault(edit.place.path, []).append(
            {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}}
        )
    files = [
        {"artifactLocation": _artifact(path, changes), "replacements": replacements}
        for path, replacements in by_path.items()
    ]
    return {"description": {"text": message}, "artifactChanges": files}


def _fingerprint(finding: Finding, place: Place, texts: dict[str, str], seen: dict[str, int]) -> str:
    """Code, path and the words of the line, not its number: stable when lines move.

    The n-th equal line of a file counts as the n-th.
    """
    words = str(finding.params.get("code", ""))
    text = texts.get(place.path)
    if text is not None and place.line is not None:
        lines = text.split("\n")
        words = lines[place.line - 1] if place.line <= len(lines) else words
    key = "\0".join((finding.code, place.path, " ".join(words.split())))
    seen[key] = seen.get(key, 0) + 1
    return hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _uri(path: str) -> str:
    return quote(path, safe="/")
