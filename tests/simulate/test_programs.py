"""Whole programs: the reference PPO bit for bit, the pytest plugin, environments that cannot simulate."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]

REFERENCE = """
import runpy
runpy.run_module("reference_ppo", run_name="__main__")
"""


def tensors(state: Any, name: str = "") -> dict[str, Any]:
    """Every tensor of a nested checkpoint, by path."""
    if isinstance(state, torch.Tensor):
        return {name: state}
    items: Any = ()
    if isinstance(state, (dict, list)):
        items = state.items() if isinstance(state, dict) else enumerate(state)
    return {key: value for part, inner in items for key, value in tensors(inner, f"{name}/{part}").items()}


@pytest.mark.slow
def test_the_reference_ppo_gives_the_cpu_numbers_bit_for_bit(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "ref.py").write_text(REFERENCE)
    options = ["--num-envs", "4", "--total-steps", "1024", "--rollout-steps", "512",
               "--threads", "1", "--no-quick-tanh", "--no-host-inference",
               "--minibatch", "128", "--max-seconds", "100", "--quiet",
               "--update", "plain", "--eval-every", "1000000"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    cpu = subprocess.run(
        [sys.executable, "ref.py", *options, "--device", "cpu", "--checkpoint", "cpu.pt"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False,
    )
    assert cpu.returncode == 0, cpu.stderr
    done = run_cli("simulate", "-q", "ref.py", *options, "--device", "npu", "--checkpoint", "npu.pt",
                   cwd=tmp_path, env={"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    first, second = (tensors(torch.load(tmp_path / f"{n}.pt", map_location="cpu", weights_only=True))
                     for n in ("cpu", "npu"))
    assert first.keys() == second.keys()
    assert "/theta" in first
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def test_pytest_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import torch\n"
        "def test_step(npu_recorder):\n"
        "    x = torch.ones(3, device='npu')\n"
        "    npu_recorder.fold()\n"
        "    assert not npu_recorder.syncs\n"
        "    assert x.sum().item() == 3\n"
    )
    plugin = ["-p", "npudoctor.simulate.pytest_plugin"]
    base = [sys.executable, "-m", "pytest", "-q", *plugin, "test_it.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    on, off = ("1 passed", "simulated NPU", "test_it.py:6"), ("1 skipped",)
    for extra, words in ((["--npu-sim"], on), ([], off)):
        done = subprocess.run(
            [*base, *extra], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert all(word in done.stdout for word in words), done.stdout


def test_a_torch_without_the_hooks_is_one_sentence(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("__version__ = '2.1.0'\nclass _C: pass\n")
    (tmp_path / "x.py").write_text("")
    done = run_cli("simulate", tmp_path / "x.py", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2, done.stderr
    # run_cli puts the project first; the stub still wins over the installed torch.
    assert "torch 2.1.0 has no hooks" in done.stderr
    assert "Traceback" not in done.stderr


def test_usage_errors_are_one_sentence(run_cli: Callable[..., Any]) -> None:
    me = __file__
    for arguments in (["simulate"], ["simulate", "no/such.py"], ["simulate", "--chip", "h100", me],
                      ["simulate", "-m", "no_such_module_here"], ["simulate", "--latency", "no.json", me]):
        done = run_cli(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_failing_program_exits_with_1_and_shows_its_own_traceback(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text("import torch\nx = torch.ones(2, device='npu')\nx + torch.ones(2)\n")
    done = run_cli("simulate", tmp_path / "bad.py")
    assert done.returncode == 1
    assert "Expected all tensors to be on the same device" in done.stderr
    assert "runpy" not in done.stderr
    assert "NPU401" in done.stdout


@pytest.mark.skipif(not torch.cuda.is_available(), reason="compares with CUDA's own sync warnings")
def test_syncs_of_reads_equal_those_cuda_reports(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    import json

    body = "x = torch.randn(8, device=d)\nfor _ in range(5):\n    x.sum().item()\n    (x > 0).nonzero()\n"
    (tmp_path / "npu.py").write_text(f"import torch\nd = 'npu'\n{body}")
    (tmp_path / "gpu.py").write_text(
        "import torch, warnings\nd = 'cuda'\ntorch.cuda.init()\ntorch.cuda.set_sync_debug_mode('warn')\n"
        "with warnings.catch_warnings(record=True) as seen:\n    warnings.simplefilter('always')\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + "print(sum('synchroniz' in str(w.message) for w in seen))\n"
    )
    gpu = subprocess.run([sys.executable, "gpu.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    sim = run_cli("simulate", "--json", tmp_path / "npu.py")
    assert json.loads(sim.stdout)["extra"]["simulation"]["totals"]["syncs"] == int(gpu.stdout)


def test_a_spawned_process_simulates_and_a_forked_one_is_refused(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "many.py").write_text(
        "import torch, multiprocessing as mp\n"
        "def work(queue):\n"
        "    try:\n        queue.put(str(torch.ones(3, device='npu:1').sum().item()))\n"
        "    except RuntimeError as error:\n        queue.put(str(error))\n"
        "if __name__ == '__main__':\n"
        "    torch.ones(1, device='npu')\n"
        "    for method in ('spawn', 'fork'):\n"
        "        context = mp.get_context(method)\n        queue = context.Queue()\n"
        "        child = context.Process(target=work, args=(queue,))\n        child.start()\n"
        "        print(method, queue.get(timeout=100))\n        child.join()\n"
    )
    done = run_cli("simulate", "--json", "--devices", 2, tmp_path / "many.py")
    assert done.returncode == 0, done.stderr
    assert "spawn 3.0\n" in done.stderr
    assert "fork Cannot re-initialize NPU in forked subprocess" in done.stderr
    import json

    assert json.loads(done.stdout)["extra"]["simulation"]["notes"] == {"spawned process": 1}


def test_a_program_that_does_not_parse_is_named_with_its_line(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    import json

    (tmp_path / "train.py").write_text("import torch\ndef f(:\n", encoding="utf-8")
    done = run_cli("simulate", "--json", tmp_path / "train.py")
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["code"] == "NPU401"
    assert finding["place"]["path"].endswith("train.py")
    assert finding["place"]["line"] == 2
    assert "runpy" not in done.stderr
