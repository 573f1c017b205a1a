"""Real runs: a script recorded with torch.profiler, read back, judged."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("ijson")

SCRIPT = """
import sys, time, torch
torch.set_num_threads(1)
kind = sys.argv[1]
net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))


class Env:
    def step(self, action):
        end = time.perf_counter() + (0.004 if kind == "env" else 0.0)
        while time.perf_counter() < end:
            pass
        return torch.zeros(1, 4)


def sample(env, obs):
    with torch.no_grad():
        action = net(obs).sum()
    if kind == "item":
        for _ in range(40):
            action.item()  # the planted line
    return env.step(action)


def main():
    env, obs = Env(), torch.zeros(1, 4)
    print("result on stdout", flush=True)
    while True:
        obs = sample(env, obs)
        time.sleep(0.002)  # keeps the trace small; it counts for no cause


main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    (folder / "my_env.py").write_text(SCRIPT)
    return folder


@pytest.mark.parametrize(
    ("kind", "verdict"), [("env", "env-bound"), ("item", "sync-bound"), ("plain", "launch-bound")]
)
def test_verdict_of_a_real_run(run_cli, folder: Path, kind: str, verdict: str) -> None:
    result = run_cli(
        "profile", "--json", "--warmup", "0.2", "--duration", "0.2", "my_env.py", kind, cwd=folder
    )
    assert result.returncode == 1, result.stderr
    report = json.loads(result.stdout)
    assert report["schema"] == "npudoctor.report/1"
    assert report["extra"]["verdict"] == verdict, report["extra"]["split_us"]
    assert "no device was measured" in report["verdict"]
    assert "result on stdout" in result.stderr
    if kind == "item":
        line = SCRIPT.split("\n").index("            action.item()  # the planted line") + 1
        assert report["findings"][0]["evidence"][0]["place"] == f"my_env.py:{line}"


def test_html_and_compare(run_cli, folder: Path) -> None:
    for name, kind in (("a.json", "item"), ("b.json", "plain")):
        done = run_cli(
            "profile",
            "-q",
            "--warmup",
            "0",
            "--duration",
            "0.15",
            "--save-trace",
            name,
            "my_env.py",
            kind,
            cwd=folder,
        )
        assert done.returncode == 1, done.stderr
    page = run_cli("profile", "--format", "html", "--lang", "zh", "a.json", cwd=folder)
    assert page.stdout.startswith("<!doctype html>")
    assert "my_env.py" in page.stdout
    assert "http://" not in page.stdout.split("<script>")[1]
    pair = run_cli("profile", "--compare", "--format", "html", "a.json", "b.json", cwd=folder)
    assert pair.stdout.startswith("<!doctype html>"), pair.stderr
    both = run_cli("profile", "--compare", "--json", "a.json", "b.json", cwd=folder)
    assert both.returncode == 0, both.stderr
    found = json.loads(both.stdout)
    assert found["extra"]["verdicts"] == ["sync-bound", "launch-bound"]
    change = found["facts"]["window_us"]["value"]  # 150.0 ms -> 151.0 ms (1.01x)
    assert found["verdict"] == f"sync-bound -> launch-bound; window {change}"


def test_script_that_ends_early_says_so(run_cli, tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text("print('bye')\n")
    result = run_cli("profile", "--warmup", "30", "short.py", cwd=tmp_path)
    assert result.returncode == 2
    assert "before a trace could be recorded" in result.stderr
    assert "Traceback" not in result.stderr


def test_script_that_fails_is_not_told_to_run_longer(run_cli, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module_at_all\n")
    result = run_cli("profile", "broken.py", cwd=tmp_path)
    assert result.returncode == 2
    assert "no_such_module_at_all" in result.stderr
    assert "broken.py failed (exit code 1)" in result.stderr
    assert "npudoctor simulate --trace trace.json broken.py" in result.stderr


@pytest.mark.parametrize("script", ["", "raise SystemExit(3)"], ids=["ends", "fails"])
def test_an_older_trace_is_not_taken_for_a_new_one(run_cli, tmp_path: Path, script: str) -> None:
    (tmp_path / "short.py").write_text(script)
    (tmp_path / "trace.json").write_text('[{"ph": "X", "cat": "cpu_op", "name": "add", "ts": 1, "dur": 5}]')
    older = (tmp_path / "trace.json").read_bytes()
    result = run_cli("profile", "--warmup", "30", "--save-trace", "trace.json", "short.py", cwd=tmp_path)
    assert result.returncode == 2
    assert "before a trace could be recorded" in result.stderr
    assert (tmp_path / "trace.json").read_bytes() == older
    assert sorted(path.name for path in tmp_path.iterdir()) == ["short.py", "trace.json"]


def test_a_trace_that_cannot_be_saved_is_said_before_the_script_runs(run_cli, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('it ran')")
    result = run_cli("profile", "--save-trace", "none/trace.json", "train.py", cwd=tmp_path)
    assert result.returncode == 2
    assert "cannot write none/trace.json" in result.stderr
    assert "it ran" not in result.stderr


def test_missing_script(run_cli, tmp_path: Path) -> None:
    result = run_cli("profile", "none.py", cwd=tmp_path)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


SIMULATED = """
import time, torch, torch_npu
net = torch.nn.Linear(8, 8).to("npu")
x = torch.zeros(4, 8, device="npu")
for _ in range(200):
    y = net(x).sum()
    for _ in range({reads}):
        y.item()  # the planted line
"""


def test_a_trace_of_the_simulated_npu(run_cli, tmp_path: Path) -> None:
    reports = {}
    for reads in (0, 6):
        (tmp_path / "prog.py").write_text(SIMULATED.format(reads=reads))
        done = run_cli("simulate", "-q", "--trace", "t.json", "prog.py", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        reports[reads] = json.loads(run_cli("profile", "--json", "t.json", cwd=tmp_path).stdout)
        assert "simulated NPU; no hardware was measured" in reports[reads]["verdict"]
    assert reports[6]["extra"]["verdict"] == "sync-bound", reports[6]["extra"]["split_us"]
    assert reports[0]["extra"]["verdict"] != "sync-bound"
    counts = [reports[n]["extra"]["analysis"]["sync_count"] for n in (0, 6)]
    assert counts[1] == counts[0] + 1200
    line = SIMULATED.split("\n").index("        y.item()  # the planted line") + 1
    place = reports[6]["findings"][0]["place"]
    assert (Path(place["path"]).name, place["line"]) == ("prog.py", line)


@pytest.mark.parametrize(("envs", "verdicts"), [(1, {"launch-bound", "env-bound"}), (64, {"launch-bound"})])
def test_reference_ppo_and_its_phases(run_cli, tmp_path: Path, envs: int, verdicts: set[str]) -> None:
    result = run_cli(
        "profile",
        "--json",
        "--warmup",
        "0.5",
        "--duration",
        "0.4",
        "-m",
        "reference_ppo",
        "--num-envs",
        envs,
        "--total-steps",
        "200000",
        "--device",
        "cpu",
        "--no-host-inference",  # the operations of an NPU run
        "--no-quick-tanh",
        "--epochs",
        "3",  # an update in a fraction of the window, also on a busy machine
        "--quiet",
        cwd=tmp_path,
    )
    assert result.returncode == 1, result.stderr
    analysis = json.loads(result.stdout)["extra"]["analysis"]
    assert analysis["phases"]["env"] > 0
    assert sum(analysis["phases"].values()) == pytest.approx(analysis["window_us"], rel=1e-6)
    assert json.loads(result.stdout)["extra"]["verdict"] in verdicts


SHORT = ("-q", "--warmup", "0", "--duration", "0.1", "--save-trace", "trace.json")


def test_an_interpreter_without_npudoctor(run_cli, tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "npudoctor.py").write_text("raise ImportError('not installed here')")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/without exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    # beside the recorder is a module of this name too; the script gets its own
    (tmp_path / "timeline.py").write_text("MINE = True")
    (tmp_path / "train.py").write_text(
        "import torch, timeline\nassert timeline.MINE\nwhile True: torch.zeros(1)\n"
    )
    done = run_cli("profile", *SHORT, "--python", python, "train.py", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "trace.json").is_file()


def test_an_interpreter_that_is_none(run_cli, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "text").write_text("words")
    for python in ("no-such-python", tmp_path / "text"):
        done = run_cli("profile", "--python", python, "train.py", cwd=tmp_path)
        assert (done.returncode, "cannot import torch" in done.stderr) == (2, True), done.stderr


def test_the_last_words_of_the_script_are_shown(run_cli, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nsys.exit('no data folder')\n")
    done = run_cli("profile", "train.py", cwd=tmp_path)
    assert "no data folder" in done.stderr


def test_an_installed_recorder_is_not_a_library_call_of_the_script(tmp_path: Path) -> None:
    from npudoctor.profile import recorder

    installed = tmp_path / "site-packages" / "recorder.py"
    installed.parent.mkdir()
    source = Path(recorder.__file__).read_text(encoding="utf-8")
    installed.write_text(f"{source}\n\ndef call(function): return function()\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("installed_recorder", installed)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.call(lambda: module._inside_library(sys._getframe())) is False
