"""Every command, as a user meets it: help, bad input, exit codes, colour, language, no home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npudoctor.cli import group
from tests.conftest import ROOT, RunCli

COMMANDS = group.list_commands(None)  # type: ignore[arg-type]


def test_the_promised_commands_exist() -> None:
    promised = {
        "check",
        "container",
        "explain",
        "export",
        "migrate",
        "pair",
        "profile",
        "report",
        "simulate",
        "smoke-test",
    }
    assert promised <= set(COMMANDS)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_in_both_languages(run_cli, command: str, lang: str) -> None:
    result = run_cli("--lang", lang, command, "--help")
    assert result.returncode == 0, result.stderr
    assert "--json" in result.stdout
    assert ("消息语言" in result.stdout) == (lang == "zh")
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_option_is_a_usage_error(run_cli, command: str) -> None:
    result = run_cli(command, "--no-such-option")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("npudoctor: ")


def test_own_words_of_click_are_chinese_too(run_cli) -> None:
    for words in (("--lang", "zh", "--help"), ("check", "--lang", "zh", "--help")):
        text = run_cli(*words).stdout
        assert "显示此帮助并退出。" in text
        assert "exit." not in text
    assert "Show this message and exit." in run_cli("check", "--help").stdout


def test_unknown_command(run_cli) -> None:
    result = run_cli("chekc")
    assert result.returncode == 2
    assert "chekc" in result.stderr


def test_journey_without_arguments(run_cli, tmp_path: Path) -> None:
    env = {"NPUDOCTOR_NO_STATE": "", "XDG_STATE_HOME": str(tmp_path)}
    assert "next: npudoctor check" in run_cli(env=env).stdout
    checked = run_cli("check", "--json", env=env)
    assert checked.returncode in (0, 1)
    told = run_cli("--lang", "zh", env=env)
    assert json.loads(checked.stdout)["verdict"]
    assert "尚未运行" in told.stdout
    page = tmp_path / "page.html"
    assert run_cli("report", "-o", page, env=env).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "npudoctor check" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_report_without_results_is_one_sentence(run_cli, tmp_path: Path) -> None:
    result = run_cli("report", env={"NPUDOCTOR_NO_STATE": "", "XDG_STATE_HOME": str(tmp_path)})
    assert result.returncode == 2
    assert "no results are kept yet" in result.stderr


def test_no_home_and_read_only_state(run_cli, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_text("a file where a folder should be")
    result = run_cli(
        "check", "--json", env={"NPUDOCTOR_NO_STATE": "", "HOME": "", "XDG_STATE_HOME": str(locked)}
    )
    assert result.returncode in (0, 1), result.stderr
    assert json.loads(result.stdout)["schema"] == "npudoctor.report/1"


def test_plain_ascii_terminal(run_cli) -> None:
    result = run_cli(
        "check", env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    )
    assert result.returncode in (0, 1), result.stderr
    assert result.stdout.isascii()


@pytest.mark.parametrize("command", ["--help", "pair --limit 0", "explain NPU001", "pair --limit 0 --json"])
def test_a_reader_that_has_gone_is_no_error(command: str) -> None:
    """As in `npudoctor ... | head`, when `head` has ended first."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "npudoctor", *command.split()]
    try:
        done = subprocess.run(
            words, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, text=True, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["explain NPU001", "pair --json --lang zh", "--help"])
def test_a_full_disk_behind_standard_output_is_one_sentence(command: str) -> None:
    words = [sys.executable, "-m", "npudoctor", *command.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, text=True, timeout=60, check=False
        )
    assert done.returncode == 2, done.stderr
    said = "无法写入结果：磁盘空间不足" if "zh" in command else "the result cannot be written: No space left"
    assert done.stderr.startswith(f"npudoctor: {said}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--replay", "{path}"),
        ("check", "--no-probes", "--record", "{path}/new/machine.json"),
        ("explain", "{path}"),
        ("migrate", "{path}"),
        ("migrate", "--undo", "{path}"),
        ("simulate", "{path}"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_path_that_the_system_refuses_is_one_sentence(run_cli, words, lang: str, tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)  # refused for root too
    done = run_cli(*(word.format(path=path) for word in words), "--lang", lang)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert str(path) in done.stderr


def ends(error: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`npudoctor pair` whose own code raises `error` at once."""
    code = (
        "import sys\nfrom npudoctor.commands import pair\n"
        f"def fail(*_, **__):\n    raise {error}\n"
        "pair.COMMAND.callback = fail\nfrom npudoctor.cli import main\nmain(sys.argv[1:])\n"
    )
    env = {**os.environ, "LC_ALL": "C.UTF-8", "NPUDOCTOR_NO_STATE": "1"}
    command = [sys.executable, "-c", code, "pair", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_a_fault_of_our_own_is_one_sentence_and_code_3() -> None:
    done = ends("KeyError('no such thing')")
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "KeyError" in done.stderr
    assert "--debug" in done.stderr
    assert "内部错误" in ends("KeyError('x')", "--lang", "zh").stderr
    told = ends("KeyError('x')", "--debug")
    assert told.returncode == 3
    assert "Traceback (most recent call last)" in told.stderr


def test_an_interrupt_is_one_sentence_and_code_130() -> None:
    done = ends("KeyboardInterrupt")
    assert done.returncode == 130
    assert done.stderr.strip() == "npudoctor: interrupted; nothing was left half-written"


def test_a_folder_that_is_gone(run_cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, sys; os.rmdir(os.getcwd()); sys.argv = ['npudoctor', 'migrate', '.']; "
        "from npudoctor.cli import main; main()"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("npudoctor: the current folder no longer exists")


def test_closed_standard_streams(tmp_path: Path) -> None:
    """A service manager may start a program without them."""
    for closed, code in ((">&-", {0, 1}), (">&- 2>&-", {0, 1}), ("<&-", {2})):
        command = f"{sys.executable} -m npudoctor check --replay - {closed}"
        bundle = (ROOT / "fixtures" / "machines" / "310p-duo-host-ok.json").read_bytes()
        env = {**os.environ, "PYTHONPATH": str(ROOT), "NPUDOCTOR_NO_STATE": "1"}
        done = subprocess.run(
            ["sh", "-c", command], input=bundle, capture_output=True, check=False, cwd=tmp_path, env=env
        )
        assert done.returncode in code, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"internal" not in done.stderr


def test_a_width_that_is_no_number(run_cli: RunCli) -> None:
    for width in ("abc", "0", "", "99999"):
        done = run_cli("explain", "507008", env={"COLUMNS": width})
        assert done.returncode == 0, done.stderr


def test_a_quoted_name_does_not_steer_the_terminal(run_cli: RunCli) -> None:
    done = run_cli("migrate", "/no\x1b[31mwhere")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


def test_numbers_that_are_none(run_cli: RunCli) -> None:
    for chips in ("²", "9" * 5000, "0,,1", "-1"):
        done = run_cli("container", "--chips", chips)
        assert done.returncode == 2, done.stderr
        assert "chips are numbers" in done.stderr
