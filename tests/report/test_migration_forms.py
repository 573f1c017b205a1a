"""SARIF, GitHub lines and the HTML page of a migration, from the same changes."""

from __future__ import annotations

import builtins
import html.parser
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npudoctor.core.changes import Changes, FileChange, Insertion, Item
from npudoctor.core.errors import UserError
from npudoctor.core.finding import Evidence, Finding, Fix, Place, Safety, Severity
from npudoctor.core.report import Report
from npudoctor.core.text import verbatim
from npudoctor.report import github, sarif
from npudoctor.report import html as page
from npudoctor.report.migration import plain

OLD = "import torch\n\nx = torch.zeros(1).cuda()  # <b>&\ny = 2\n"
NEW = OLD.replace("cuda", "npu")


def finding(code: str, line: int, severity: Severity, title: str = "moves {code}") -> Finding:
    return Finding(
        code, "some-fault", severity, verbatim("seen: 100%, a\nb <script>alert(1)</script>"),
        verbatim("because"), Place("sub dir/a 中.py", line, 5, line, 12), {"code": "x"},
        fixes=(Fix(verbatim("do this"), safety=Safety.SAFE),), sources=("https://example.org/",),
    )


def changes(written: bool) -> Changes:
    edit = Insertion(Place("sub dir/a 中.py", 3, 20, 3, 24), "npu")
    return Changes(
        (
            Item(finding("NPU101", 3, Severity.NOTE), True, Safety.SAFE, 4, (edit,)),
            Item(finding("NPU150", 4, Severity.WARNING), False, Safety.MANUAL, 5),
            Item(finding("NPU150", 4, Severity.WARNING), False, Safety.MANUAL, 5),
        ),
        (FileChange("sub dir/a 中.py", OLD, NEW, {"NPU101": 1}),),
        written,
    )


def _object(required: tuple[str, ...] = (), **members: Any) -> dict[str, Any]:
    """An object with no other members than these."""
    return {
        "type": "object",
        "required": list(required),
        "properties": members,
        "additionalProperties": False,
    }


def _array(of: Any, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": least}


_STRING = {"type": "string"}
_MESSAGE = _object(("text",), text=_STRING)
_ARTIFACT = _object(uri={"type": "string", "pattern": "^[^/ :][^ :]*$"}, uriBaseId=_STRING)
_COUNT = {"type": "integer", "minimum": 1}
_REGION = _object(startLine=_COUNT, startColumn=_COUNT, endLine=_COUNT, endColumn=_COUNT)
_LOCATION = _object(
    physicalLocation=_object(("artifactLocation",), artifactLocation=_ARTIFACT, region=_REGION),
    logicalLocations=_array(_object(fullyQualifiedName=_STRING)),
)
_REPLACEMENT = _object(("deletedRegion",), deletedRegion=_REGION, insertedContent=_object(text=_STRING))
_FILE_CHANGE = _object(
    ("artifactLocation", "replacements"), artifactLocation=_ARTIFACT, replacements=_array(_REPLACEMENT, 1)
)
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_RESULT = _object(
    ("message",),
    ruleId=_STRING,
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    message=_MESSAGE,
    locations=_array(_LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": _STRING},
    fixes=_array(
        _object(("artifactChanges",), description=_MESSAGE, artifactChanges=_array(_FILE_CHANGE, 1))
    ),
)
_RULE = _object(
    ("id",),
    id=_STRING,
    name=_STRING,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    defaultConfiguration=_object(level=_LEVEL),
)
_DRIVER = _object(
    ("name",), name=_STRING, version=_STRING, semanticVersion=_STRING, rules=_array(_RULE)
)
_RUN = _object(
    ("tool",),
    tool=_object(("driver",), driver=_DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    originalUriBaseIds={"type": "object", "additionalProperties": _object(description=_MESSAGE)},
    invocations=_array(
        _object(
            ("executionSuccessful",), executionSuccessful={"type": "boolean"}, exitCode={"type": "integer"}
        )
    ),
    results=_array(_RESULT),
)
SARIF = _object(
    ("version", "runs"), **{"$schema": _STRING, "version": {"enum": ["2.1.0"]}, "runs": _array(_RUN, 1)}
)

SYNCS = {"found": 3, "removed": {"step": 2}, "left": {"epoch": 1}}
REPORT = Report("migrate", verbatim("done"), extra={"syncs": SYNCS})


def log(written: bool) -> dict[str, Any]:
    return json.loads(sarif.dumps(REPORT, changes(written), "en"))["runs"][0]


def test_sarif_before_writing_holds_the_fixes() -> None:
    run = log(written=False)
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["NPU101", "NPU150"]
    first = run["results"][0]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "NPU101"
    location = first["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "sub%20dir/a%20%E4%B8%AD.py", "uriBaseId": "SRCROOT"}
    assert location["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 12}
    change = first["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert change["insertedContent"] == {"text": "npu"}
    assert change["deletedRegion"] == {"startLine": 3, "startColumn": 20, "endLine": 3, "endColumn": 24}
    assert [r["level"] for r in run["results"]] == ["note", "warning", "warning"]


def test_sarif_after_writing_holds_what_is_left_at_its_new_line() -> None:
    results = log(written=True)["results"]
    assert [r["ruleId"] for r in results] == ["NPU150", "NPU150"]
    assert results[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 5}
    assert all("fixes" not in r for r in results)


def test_fingerprints_tell_equal_findings_apart_and_survive_moved_lines() -> None:
    prints = [r["partialFingerprints"]["npudoctor/v1"] for r in log(written=False)["results"]]
    assert len(set(prints)) == 3
    lower = [
        Item(finding(item.finding.code, line + 1, item.finding.severity), item.applied, item.safety, 1)
        for item, line in zip(changes(False).items, (3, 4, 4))
    ]
    moved = Changes(tuple(lower), (FileChange("sub dir/a 中.py", "\n" + OLD, NEW),), False)
    again = json.loads(sarif.dumps(REPORT, moved, "en"))["runs"][0]["results"]
    assert [r["partialFingerprints"]["npudoctor/v1"] for r in again] == prints


def test_sarif_follows_its_schema() -> None:
    """What the OASIS schema asks of the members that are written, in words of our own."""
    jsonschema = pytest.importorskip("jsonschema")
    for written in (False, True):
        document = json.loads(sarif.dumps(REPORT, changes(written), "en"))
        jsonschema.validate(document, SARIF)
        codes = [rule["id"] for rule in document["runs"][0]["tool"]["driver"]["rules"]]
        assert len(set(codes)) == len(codes)
        assert all(codes[r["ruleIndex"]] == r["ruleId"] for r in document["runs"][0]["results"])


def test_places_count_from_the_root_of_the_repository() -> None:
    below = replace(changes(False), base="code base")
    (first, *_) = github.lines(below, "en").splitlines()
    assert first.startswith("::warning file=code base/sub dir/a 中.py,line=3,")
    result = json.loads(sarif.dumps(REPORT, below, "en"))["runs"][0]["results"][0]
    uri = "code%20base/sub%20dir/a%20%E4%B8%AD.py"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
    assert result["fixes"][0]["artifactChanges"][0]["artifactLocation"]["uri"] == uri


def test_a_finding_in_a_notebook_names_its_cell() -> None:
    seen = replace(
        finding("NPU150", 41, Severity.WARNING),
        place=Place("a.ipynb", 41),
        evidence=(Evidence("cell 2, line 3", "x"),),
    )
    item = Item(seen, False, Safety.MANUAL, 41)
    log = json.loads(sarif.dumps(REPORT, Changes((item,), (), False), "en"))["runs"][0]
    (location,) = log["results"][0]["locations"]
    assert location["physicalLocation"]["region"] == {"startLine": 41}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "cell 2, line 3"}]


def test_every_code_on_the_page_has_a_filter_and_every_text_both_languages() -> None:
    reader = _Attributes()
    reader.feed(page.page(REPORT, changes(False), "en"))
    shown = {code for codes in reader.seen["data-codes"] for code in codes.split()}
    assert shown == {"NPU101", "NPU150"} == set(reader.seen["data-code"]) - {""}
    languages = [c for c in reader.seen["class"] if c in ("l-en", "l-zh")]
    assert languages[::2] == ["l-en"] * (len(languages) // 2)
    assert set(languages[1::2]) == {"l-zh"}
    assert reader.open_tags == []


class _Attributes(html.parser.HTMLParser):
    """Values of each attribute, and the tags that were left open."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, list[str]] = {}
        self.open_tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.seen.setdefault(name, []).append(value or "")
        if tag not in self.VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags.pop() == tag


def test_github_lines_are_escaped() -> None:
    lines = github.lines(changes(False), "en").splitlines()
    assert len(lines) == 3
    place = "file=sub dir/a 中.py,line=3,endLine=3,col=5,endColumn=12"
    assert lines[0].startswith(f"::warning {place},title=NPU101")
    assert "100%25, a%0Ab" in lines[0]
    assert lines[1].startswith("::warning file=sub dir/a 中.py,line=4,")
    (first, _) = github.lines(changes(True), "en").splitlines()
    assert first.startswith("::warning file=sub dir/a 中.py,line=5,title=")


def test_github_properties_cannot_be_broken_out_of() -> None:
    item = Item(Finding("NPU1", "a", Severity.ERROR, verbatim("t"), verbatim("c"), Place("a:b,c\r\n%.py", 1)),
                False, Safety.MANUAL, 1)
    (line,) = github.lines(Changes((item,), (), False), "en").splitlines()
    assert line.startswith("::error file=a%3Ab%2Cc%0D%0A%25.py,line=1,title=NPU1 a::t")


class _Reader(html.parser.HTMLParser):
    """Collects tags and what they load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [v or "" for k, v in attrs if k in ("src", "data") or (tag == "link" and k == "href")]


def test_the_page_stands_alone_and_escapes() -> None:
    text = page.page(REPORT, changes(False), "zh")
    reader = _Reader()
    reader.feed(text)
    assert reader.loads == []
    assert reader.tags.count("script") == 1
    assert "<script>alert" not in text
    assert "&lt;b&gt;&amp;" in text
    assert '<html lang="zh" data-lang="zh">' in text
    assert "url(" not in text


def test_the_page_shows_both_sides_and_both_languages() -> None:
    text = page.page(REPORT, changes(False), "en")
    assert re.search(r'<td class="o">x = torch.zeros\(1\)\.<mark>cuda</mark>\(\)', text)
    assert re.search(r'<td class="a">x = torch.zeros\(1\)\.<mark>npu</mark>\(\)', text)
    for word in ("Changed files", "修改的文件", "Left for you", "需要人工处理"):
        assert word in text
    assert 'data-code="NPU101"' in text
    assert text.count("NPU150") >= 1
    assert "2 <span" in text  # syncs removed


def test_long_unchanged_stretches_are_folded() -> None:
    old = "a\n" * 500 + "cuda\n" + "b\n" * 500
    change = Changes((), (FileChange("a.py", old, old.replace("cuda", "npu"), {"NPU101": 1}),), False)
    text = page.page(REPORT, change, "en")
    assert "497" in text
    assert text.count("<tr") < 20


def test_without_jinja2_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserError, match="jinja2"):
        page.page(REPORT, changes(False), "en")


def test_control_characters_are_shown_not_sent() -> None:
    assert plain("a\x1b[2J\nb中") == "a\\x1b[2J\\nb中"


def test_equal_findings_are_said_once(tmp_path: Path, run_cli: Callable[..., Any]) -> None:
    for number in range(7):
        (tmp_path / f"task{number}.py").write_text("from isaacgym import gymapi\nimport torch\n", "utf-8")
    brief = run_cli("migrate", "--check", str(tmp_path), "--lang", "en").stdout
    assert brief.count("isaacgym needs an NVIDIA GPU") == 1
    assert "6 more places in 7 file(s)" in brief
    full = run_cli("migrate", "--check", "-v", str(tmp_path), "--lang", "en").stdout
    assert full.count("isaacgym needs an NVIDIA GPU") == 7
