"""Portable style: the result runs where there is no torch_npu, and picks the NPU where there is one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.settings import Settings

pytest.importorskip("torch")

SOURCE = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.zeros(3, device=device)
if torch.cuda.is_available():
    torch.cuda.empty_cache()
if device.type == "cuda":
    print("on", torch.cuda.device_count())
print("device", x.device.type)
"""
# Stands in for torch and torch_npu: enough of both to see which one is asked.
FAKE_TORCH = """
import sys, types

class Device:
    def __init__(self, name): self.type = str(name).split(":")[0]

def module(name, available):
    m = types.ModuleType("torch." + name)
    m.is_available = lambda: available
    m.empty_cache = lambda: print("empty", name)
    m.device_count = lambda: name
    return m

def device(name): return Device(name)
class Tensor:
    def __init__(self, device): self.device = device
def zeros(n, device=None): return Tensor(device)
cuda = module("cuda", CUDA)
"""
FAKE_NPU = "import torch\ntorch.npu = torch.module('npu', AVAILABLE)\n"


def run(source: str, folder: Path) -> str:
    script = folder / "program.py"
    script.write_text(source)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def migrated() -> str:
    result = migrate_source(SOURCE, "a.py", Settings(style="portable", ignore=("NPU2",)))
    assert result.changed
    again = migrate_source(result.text, "a.py", Settings(style="portable", ignore=("NPU2",)))
    assert again.text == result.text
    return result.text


def test_real_torch_without_torch_npu_behaves_as_before(migrated: str, tmp_path: Path) -> None:
    assert run(migrated, tmp_path) == run(SOURCE, tmp_path)


@pytest.mark.parametrize(
    ("cuda", "npu", "expected"),
    [
        (True, None, "empty cuda\non cuda\ndevice cuda\n"),
        (False, None, "device cpu\n"),
        (False, True, "empty npu\non npu\ndevice npu\n"),
        (True, True, "empty npu\non npu\ndevice npu\n"),
        (True, False, "empty cuda\non cuda\ndevice cuda\n"),
        (False, False, "device cpu\n"),
    ],
)
def test_choice(migrated: str, tmp_path: Path, cuda: bool, npu: bool | None, expected: str) -> None:
    (tmp_path / "torch.py").write_text(FAKE_TORCH.replace("CUDA", str(cuda)))
    if npu is not None:
        (tmp_path / "torch_npu.py").write_text(FAKE_NPU.replace("AVAILABLE", str(npu)))
    else:
        (tmp_path / "torch_npu.py").write_text("raise ImportError('libhccl.so: cannot open')\n")
    assert run(migrated, tmp_path) == expected
