"""The tables of `npudoctor profile` as text, in both languages, and a comparison."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")
pytest.importorskip("ijson")

from tests.conftest import FIXTURES, RunCli

LEVEL1 = FIXTURES / "profiles" / "level1_two_cards"


def test_text(run_cli: RunCli) -> None:
    done = run_cli("profile", LEVEL1)
    assert done.returncode == 1, done.stderr
    for words in (
        "time by phase of the loop", "longest gaps on the device", "gaps by length", "operators by time",
        "operators by count", "where the host waits", "train.py:21", "Cumsum", "NPU503",
    ):  # fmt: skip
        assert words in done.stdout, words
    assert "sync-bound" in done.stdout.splitlines()[-2] + done.stdout.splitlines()[-1]


def test_text_in_chinese(run_cli: RunCli) -> None:
    text = run_cli("profile", "--lang", "zh", LEVEL1).stdout
    for words in ("按循环阶段划分的时间", "设备上最长的空隙", "按耗时排列的算子", "主机等待的位置"):
        assert words in text
    for words in ("推理", "更新", "其他", "同步"):
        assert words in text
    for words in ("operators by", "where the host", "longest gaps", "inference ", "update ", "other "):
        assert words not in text


def test_a_folder_without_host_events_has_no_table_of_waits(run_cli: RunCli) -> None:
    text = run_cli("profile", FIXTURES / "profiles" / "level0").stdout
    assert "operators by time" in text
    assert "NPU506" in text
    assert "where the host waits" not in text


def test_comparison(run_cli: RunCli) -> None:
    done = run_cli("profile", "--compare", LEVEL1, FIXTURES / "profiles" / "stopped")
    assert done.returncode == 0, done.stderr
    assert "sync-bound" in done.stdout
    missing = run_cli("profile", "--compare", LEVEL1)
    assert missing.returncode == 2
    assert "Traceback" not in missing.stderr
