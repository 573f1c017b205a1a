"""The simulated device in a child process: PyTorch cannot forget a backend, so each test starts afresh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
PREFACE = """
import torch
torch.set_num_threads(1)
import npudoctor.simulate as simulate
"""


def run(code: str) -> str:
    """Run code in a fresh interpreter; its standard output."""
    environment = {k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    done = subprocess.run(
        [sys.executable, "-c", PREFACE + code], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_does_not_import_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, npudoctor.simulate; print('torch' in sys.modules)"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )
    assert done.stdout.strip() == "False"


def test_tensors_live_on_the_device_and_compute_like_the_cpu() -> None:
    out = run("""
with simulate.device():
    a = torch.randn(5, 7)
    b = a.to("npu")
    assert b.device == torch.device("npu", 0) and type(b) is torch.Tensor
    assert torch.equal((b @ b.T).relu().cpu(), (a @ a.T).relu())
    assert (b * 2.0 - 1).sum().item() == (a * 2.0 - 1).sum().item()
    v = b[1:3]
    v.zero_()
    assert b[1:3].abs().sum().item() == 0 and v._base is b
    print("fine")
""")
    assert out.strip() == "fine"


def test_nothing_changes_before_and_after() -> None:
    out = run("""
names = [(torch.Tensor, "pin_memory"), (torch, "Generator"), (torch, "compile"),
         (torch.autograd, "_engine_run_backward")]
before = [getattr(owner, name) for owner, name in names]
import os, subprocess, sys
environment = dict(os.environ)
with simulate.device() as recorder:
    assert torch.compile is not before[2]
    import torch_npu
    kept = torch.ones(2, device="npu")
assert [getattr(owner, name) for owner, name in names] == before
assert "torch_npu" not in sys.modules
assert dict(os.environ) == environment
child = [sys.executable, "-c", "import os; print(os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD'))"]
assert subprocess.check_output(child, text=True).strip() == "None"
recorded = sum(recorder.kernels.values())
assert (kept + 1).tolist() == [2, 2]
recorder.fold()
assert sum(recorder.kernels.values()) == recorded
print("fine")
""")
    assert out.strip() == "fine"


def test_cli_counts_syncs_by_line(run_cli: object, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nx = torch.ones(4, device='npu')\n"
        "for _ in range(3):\n    x = x + 1\n    print(x.sum().item())\n"
    )
    done = run_cli("simulate", "--json", script)  # type: ignore[operator]
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)["extra"]["simulation"]
    assert numbers["simulated"] is True
    line = next(entry for entry in numbers["lines"] if entry["line"] == 5)
    assert line["syncs"] == 3
    assert line["kinds"] == {"item": 3}
    assert line["paths"][0]["calls"][0].endswith("train.py:5 <module>")
