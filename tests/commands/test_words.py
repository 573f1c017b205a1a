"""What click says comes in the language of the command too, and options stand where people put them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from npudoctor.cli import LazyGroup
from tests.conftest import RunCli

COMMANDS = LazyGroup().list_commands(None)  # type: ignore[arg-type]
# Words of click that a Chinese help or error must not hold.
ENGLISH = re.compile(
    r"\b(usage|options|commands|arguments?|default|required|missing|invalid|value|no such|did you mean|extra"
    r"|requires?|does not|range|show)\b(?!>)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)], ids=lambda w: "-".join(w) or "root")
def test_help_has_no_english_of_clicks(run_cli: RunCli, words: tuple[str, ...]) -> None:
    done = run_cli(*words, "--help", "--lang", "zh")
    assert done.returncode == 0
    assert done.stdout.startswith("用法:")
    assert "选项:" in done.stdout
    prose = re.sub(r"--?[\w-]+|INTEGER RANGE|FLOAT RANGE|[A-Z:]{4,}|`[^`]+`", "", done.stdout)
    assert not ENGLISH.findall(prose), done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("nope",),
        ("--nope",),
        ("pair", "--qiet"),
        ("pair", "--nope"),
        ("migrate",),
        ("pair", "--limit"),
        ("pair", "--limit", "x"),
        ("pair", "--limit", "-1"),
        ("pair", "--arch", "x"),
        ("pair", "--quiet=3"),
        ("check", "--record", "/"),
        ("smoke-test", "x"),
        ("profile", "--nope", "x"),
    ],
    ids=" ".join,
)
def test_errors_of_usage_are_chinese(run_cli: RunCli, words: tuple[str, ...]) -> None:
    done = run_cli("--lang", "zh", *words)
    assert done.returncode == 2
    sentence = done.stderr.replace("'--quiet'", "")
    assert re.search("[\u4e00-\u9fff]", sentence), sentence
    assert not ENGLISH.search(sentence), sentence
    english = run_cli(*words)
    assert not re.search("[\u4e00-\u9fff]", english.stderr)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host-only trace of two operators."""
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    path.write_text(json.dumps([event, {**event, "ts": 10}]), encoding="utf-8")
    return path


def test_options_of_profile_may_follow_a_trace(run_cli: RunCli, trace: Path) -> None:
    for words in ((trace, "--json"), ("--json", trace), (trace, "--format", "json")):
        done = run_cli("profile", *words)
        assert json.loads(done.stdout)["command"] == "profile", done.stderr
    assert run_cli("profile", trace, trace, "--compare", "--json").returncode == 0
    refused = run_cli("profile", trace, trace)
    assert refused.returncode == 2
    assert "--compare" in refused.stderr


def test_a_mistyped_option_of_profile_is_not_taken_for_a_trace(run_cli: RunCli, trace: Path) -> None:
    for words in (("--jsn", trace), (trace, "--jsn")):
        done = run_cli("profile", *words)
        assert done.returncode == 2
        assert "No such option" in done.stderr


def test_options_behind_a_script_are_its_own(run_cli: RunCli, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys; print(sys.argv[1:])\n", encoding="utf-8")
    done = run_cli("profile", "--warmup", "0", script, "--json", "--warmup", "9", timeout=100)
    assert "['--json', '--warmup', '9']" in done.stderr


def test_profile_writes_its_tables_to_a_file_too(run_cli: RunCli, trace: Path, tmp_path: Path) -> None:
    shown = run_cli("profile", trace).stdout
    run_cli("profile", trace, "-o", tmp_path / "out.txt")
    assert "operators by time" in shown
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").split() == shown.split()
