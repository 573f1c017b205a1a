"""What README and docs name is there: links, files, make targets, commands and their options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from npudoctor.cli import group
from tests.conftest import ROOT

MANUAL = [
    *(ROOT / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "reference_ppo" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "examples").rglob("*.*")),
]
COMMANDS = group.list_commands(None)  # type: ignore[arg-type]
CALL = re.compile(rf"npudoctor ({'|'.join(COMMANDS)})\b([^`\n|#<>;&]*)")
FILE = re.compile(r"(?<![\w/.-])((?:npudoctor|tests|docs|fixtures|benchmarks|examples|\.ci)/[\w./-]+\.\w+)")
GENERATED = ("docs/findings/",)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MANUAL, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    inside = [t.partition("#")[0] for t in targets if not re.match(r"https?:|#|mailto:", t)]
    gone = [t for t in inside if not (path.parent / t).exists() and "findings/" not in t]
    assert gone == []


@pytest.mark.parametrize("path", MANUAL, ids=name_of)
def test_files_that_are_named_exist(path: Path) -> None:
    named = set(FILE.findall(path.read_text(encoding="utf-8")))
    patterns = re.compile(r"npu\dxx|NN|npu6xx|slug")  # npu0NN_<slug>.py stands for many
    real = {name for name in named if not patterns.search(name) and not name.startswith(GENERATED)}
    assert {name for name in real if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("path", MANUAL, ids=name_of)
def test_make_targets_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?:^    |`)make ([a-z]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []


def options_of(command: str, words: str) -> list[str]:
    """Long options of the command itself; behind a script stand the script's own."""
    found, takes_value, module = [], False, False
    known = {o: p for p in parameters(command) for o in p.opts}
    for word in re.sub(r"\"[^\"]*\"", "QUOTED", words).split():
        if word.startswith("-") and len(word) > 1:
            name = word.partition("=")[0].rstrip(".,:)'\"]")
            found += [name] if name.startswith("--") and len(name) > 2 else []
            module = word == "-m"
            takes_value = "=" not in word and name in known and not getattr(known[name], "is_flag", False)
        elif command in ("simulate", "profile") and (not takes_value or module):
            break
        else:
            takes_value = False
    return found


def parameters(command: str) -> list[click.Parameter]:
    found = group.get_command(click.Context(group), command)
    assert found is not None
    return found.params


@pytest.mark.parametrize("path", MANUAL, ids=name_of)
def test_commands_have_the_options_that_are_shown(path: Path) -> None:
    wrong = []
    for command, words in CALL.findall(path.read_text(encoding="utf-8")):
        known = {o for p in parameters(command) for o in (*p.opts, *p.secondary_opts)} | {"--help"}
        wrong += [f"{command} {option}" for option in options_of(command, words) if option not in known]
    assert wrong == []


def test_the_options_are_really_looked_at() -> None:
    text = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    shown = {o for command, words in CALL.findall(text) for o in options_of(command, words)}
    assert shown >= {"--python", "--no-probes", "--json", "--strict", "--replay", "--record", "--table"}
    assert options_of("simulate", " --html h.html --json train.py --steps 5") == ["--html", "--json"]


def test_every_benchmark_is_listed() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    scripts = [p for folder in ("benchmarks", "benchmarks/ppo") for p in (ROOT / folder).glob("*.py")]
    assert [name_of(p) for p in scripts if name_of(p) not in page] == []


def test_every_command_has_its_data_flow() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("| command |")[2]
    flows = set(re.findall(r"`([a-z-]+)[^`]*`", "".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE))))
    assert set(COMMANDS) <= flows


TRANSLATED = [("README.md", "README.zh.md"), ("docs/faq.md", "docs/faq.zh.md")]


@pytest.mark.parametrize(("english", "chinese"), TRANSLATED)
def test_the_chinese_page_is_in_step(english: str, chinese: str) -> None:
    """The same questions, code, commands, links and pictures; words are for people to compare."""
    one, two = ((ROOT / name).read_text(encoding="utf-8") for name in (english, chinese))
    for pattern in (r"^(#+) ", r"^(\*\*)", r"^(\|)", r"\]\(([^)#]+)", r"^    ([^#\n]*)"):
        found = [
            [w.strip() for w in re.findall(pattern, text, re.MULTILINE) if not w.startswith("README")]
            for text in (one, two)
        ]
        assert sorted(found[0]) == sorted(found[1]), pattern
    spans = [{" ".join(s.split()) for s in re.findall(r"`([^`]+)`", text)} for text in (one, two)]
    assert spans[0] == spans[1]
    assert len(re.findall("[\u4e00-\u9fff]", two)) > 300


def test_every_command_has_a_page_and_a_picture() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    manual = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").glob("*.md"))
    for command in COMMANDS:
        assert f"npudoctor {command}" in manual, command
        assert f"docs/pictures/{command}.svg" in readme, command
