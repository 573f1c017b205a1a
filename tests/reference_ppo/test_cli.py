"""The command line: exit codes, line protocol, logs, report, checkpoint and resume."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from reference_ppo.cli import main

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--num-envs", "8", "--rollout-steps", "512", "--epochs", "2", "--eval-episodes", "4"]


class Run:
    """Runs the command line in this process: importing torch anew each time would take most of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *arguments: object, **environ: str) -> Run:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            self.monkeypatch.setenv(name, "1")
        for name, value in {"LANG": "C.UTF-8", "LC_ALL": "", **environ}.items():
            self.monkeypatch.setenv(name, value)
        self.returncode = main([*SMALL, *map(str, arguments)])
        self.stdout, self.stderr = self.capsys.readouterr()
        return self


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch)


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_line_protocol() -> None:
    command = [sys.executable, "-m", "reference_ppo", *SMALL, "--total-steps", "1024", "--jsonl", "-"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    events = lines(out.stdout)
    assert [e["event"] for e in events] == ["start", "update", "update", "eval", "end"]
    start, update, _, evaluation, end = events
    assert {"device", "torch", "numpy", "python", "parameters", "processes", "config"} <= start.keys()
    assert set(update["time"]) == {"env", "inference", "transfer", "update", "other", "total"}
    assert sum(v for k, v in update["time"].items() if k != "total") == pytest.approx(
        update["time"]["total"], rel=0.01
    )
    assert update["device_to_host"] == update["vector_steps"] == 64
    assert update["steps"] == 512
    assert update["return"] is None
    documented = (ROOT / "reference_ppo" / "README.md").read_text(encoding="utf-8")
    for key in [*start, *update, *update["health"], *evaluation, *end]:
        assert f"`{key}`" in documented, key
    assert end["reason"] == "total-steps"


def test_usage_errors_are_one_sentence(run: Run) -> None:
    for arguments, word in (
        (["--num-envs", "7"], "multiple of num_envs"),
        (["--device", "no_such"], "no_such"),
        (["--env", "NoSuchEnv-v0"], "NoSuchEnv"),
        (["--resume", "/no/such/file"], "/no/such/file"),
    ):
        out = run("--total-steps", 512, "--jsonl", "-", *arguments)
        assert out.returncode == 2
        assert word in out.stderr
        assert "Traceback" not in out.stderr
        assert lines(out.stdout)[-1]["reason"] == "error"


def test_device_npu_without_torch_npu_says_so(run: Run) -> None:
    out = run("--device", "npu", "--total-steps", 512)
    assert out.returncode == 2
    assert "torch_npu" in out.stderr
    assert "Traceback" not in out.stderr


def test_checkpoint_and_resume_on_the_command_line(run: Run, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.pt", tmp_path / "part.pt"
    assert run("--total-steps", 2048, "--checkpoint", whole, "--quiet").returncode == 0
    assert run("--total-steps", 1024, "--checkpoint", part, "--quiet").returncode == 0
    again = run("--total-steps", 2048, "--resume", part, "--checkpoint", part, "--jsonl", "-", "--quiet")
    assert [e["update"] for e in lines(again.stdout) if e["event"] == "update"] == [3, 4]
    import torch

    a, b = (torch.load(p, weights_only=True) for p in (whole, part))
    assert torch.equal(a["theta"], b["theta"])
    assert a["host"] == b["host"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_logs_and_report(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    out = run("--total-steps", 2048, "--log-dir", tmp_path / "log", "--report", page, LANG="zh_CN.UTF-8")
    assert out.returncode == 0, out.stderr
    assert "结束" in out.stdout
    with (tmp_path / "log" / "progress.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(r["time/total_timesteps"]) for r in rows] == [512, 1024, 1536, 2048]
    assert float(rows[-1]["train/approx_kl"]) > 0
    assert rows[-1]["eval/success_rate"]
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 4
    assert "学习曲线" in text
    assert "http" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")


def test_any_gymnasium_environment(run: Run) -> None:
    out = run("--env", "CartPole-v1", "--total-steps", 1024, "--jsonl", "-")
    end = lines(out.stdout)[-1]
    assert end["success_rate"] is None
    assert end["return"] > 0
    out = run("--env", "Pendulum-v1", "--total-steps", 512, "--jsonl", "-")
    assert lines(out.stdout)[-1]["return"] < 0


def test_discrete_observations_are_made_flat(run: Run) -> None:
    out = run("--env", "FrozenLake-v1", "--total-steps", 512, "--jsonl", "-")
    assert out.returncode == 0, out.stderr
    assert lines(out.stdout)[0]["parameters"] == 2 * (16 * 64 + 64 + 64 * 64 + 64) + 65 * 4 + 65
