"""Portable style: one program for an NPU, for CUDA, and for a machine that has neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.settings import Settings
from tests.conftest import ROOT

torch = pytest.importorskip("torch")

PORTABLE = Settings(style="portable", ignore=("NPU2",))
# -- which device: against stand-ins for torch and torch_npu, enough of both to see which one is asked ----
CHOICE = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.zeros(3, device=device)
if torch.cuda.is_available():
    torch.cuda.empty_cache()
if device.type == "cuda":
    print("on", torch.cuda.device_count())
print("device", x.device.type, torch.zeros(3, device="cuda").device.type)
"""
FAKE_TORCH = """
import sys, types

class Device:
    def __init__(self, name): self.type = str(name).split(":")[0]

def module(name, available):
    m = types.ModuleType("torch." + name)
    m.is_available = lambda: available
    m.empty_cache = lambda: print("empty", name)
    m.device_count = lambda: available and {"cuda": 2, "npu": 8}[name]
    return m

def device(name): return Device(name)
class Tensor:
    def __init__(self, device): self.device = Device(getattr(device, "type", device))
def zeros(n, device=None): return Tensor(device)
cuda = module("cuda", CUDA)
"""
FAKE_NPU = "import torch\ntorch.npu = torch.module('npu', AVAILABLE)\n"
# What was written before the picker had a third answer.
OLD_PICKER = """import torch

try:
    import torch_npu  # noqa: F401

    accelerator_type = "npu" if torch.npu.is_available() else "cuda"
except ImportError:
    accelerator_type = "cuda"
accelerator_module = getattr(torch, accelerator_type)

x = torch.zeros(3).to(accelerator_type)
print((x.device.type == accelerator_type), accelerator_module.device_count())
"""
NPU, CUDA, NEITHER = (
    "empty npu\non 8\ndevice npu npu\n",
    "empty cuda\non 2\ndevice cuda cuda\n",
    "device cpu cpu\n",
)


def migrated(source: str) -> str:
    result = migrate_source(source, "a.py", PORTABLE)
    assert result.changed
    assert not result.failed
    again = migrate_source(result.text, "a.py", PORTABLE)
    assert again.text == result.text
    return result.text


def run(source: str, folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    script.write_text(source)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *before, str(script)]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False
    )


def output(source: str, folder: Path, *before: str) -> str:
    done = run(source, folder, *before)
    assert done.returncode == 0, done.stderr
    return done.stdout


def simulated(source: str, folder: Path) -> list[str]:
    """The program's own lines on the simulated NPU."""
    done = run(source, folder, "-m", "npudoctor", "simulate")
    assert "Traceback" not in done.stderr + done.stdout, done.stderr + done.stdout
    return done.stdout.split("host-device syncs")[0].splitlines()


@pytest.mark.parametrize(
    ("cuda", "npu", "expected"),
    [
        (True, None, CUDA),
        (False, None, NEITHER),
        (False, True, NPU),
        (True, True, NPU),
        (True, False, CUDA),
        (False, False, NEITHER),
    ],
)
def test_choice(tmp_path: Path, cuda: bool, npu: bool | None, expected: str) -> None:
    (tmp_path / "torch.py").write_text(FAKE_TORCH.replace("CUDA", str(cuda)))
    if npu is not None:
        (tmp_path / "torch_npu.py").write_text(FAKE_NPU.replace("AVAILABLE", str(npu)))
    else:
        (tmp_path / "torch_npu.py").write_text("raise ImportError('libhccl.so: cannot open')\n")
    assert output(migrated(CHOICE), tmp_path) == expected


def test_a_picker_of_an_earlier_release_is_ours() -> None:
    result = migrate_source(OLD_PICKER, "a.py", PORTABLE)
    assert not result.changed
    assert not result.findings


def test_a_picker_of_an_earlier_release_serves_new_code() -> None:
    result = migrate_source(OLD_PICKER + "y = x.cuda()\n", "a.py", PORTABLE)
    assert result.text == OLD_PICKER + "y = x.to(accelerator_type)\n"


# -- real programs, run on torch's CPU and on the simulated NPU ------------------------------------------
GUARDED = """import argparse
import contextlib
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
parser.add_argument("--no-cuda", action="store_true")
args = parser.parse_args()
args.cuda = not args.no_cuda and torch.cuda.is_available()
if args.device == "auto":
    args.device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(3)
torch.cuda.manual_seed_all(3)
device = torch.device(args.device)
net = torch.nn.Linear(4, 2).to(device)
scaler = torch.amp.GradScaler("cuda")
context = torch.autocast("cuda", dtype=torch.bfloat16) if args.cuda else contextlib.nullcontext()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    with context:
        loss = net(torch.full((5, 4), 0.3 + step, device=device)).pow(2).mean()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        checked = (net(torch.ones(1, 4, device=device))).dtype
    with torch.random.fork_rng(devices=[]):
        torch.rand(3)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    torch.cuda.empty_cache()
print("loss", loss.item(), scaler.is_enabled(), checked)
branches = [
    device.type == "cuda", "cuda" in str(device), device.type.startswith("cuda"), loss.is_cuda,
    device == torch.device("cuda"), loss.device.type != "cuda", args.cuda,
    getattr(torch, "cuda").is_available(), torch.cuda.is_available(), torch.cuda.memory_allocated() > 0,
]
print("branches", branches, torch.cuda.device_count() > 0)
if device.type != "cuda":
    print("type", isinstance(loss, torch.cuda.FloatTensor))
if device.type == "cuda":
    print("card", torch.cuda.get_device_name(0)[:6], torch.cuda.current_device())
"""
BARE = """import torch

torch.manual_seed(1)
torch.cuda.manual_seed(1)
net = torch.nn.Linear(4, 2).cuda()
x = torch.ones(5, 4).cuda(0) + torch.zeros(5, 4, device="cuda:0").to("cuda")
torch.cuda.synchronize()
torch.cuda.set_device(0)
torch.cuda.reset_peak_memory_stats()
device, other = torch.device("cuda:0"), torch.device("cuda", 0)
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt", map_location=device))
net.load_state_dict(torch.load("net.pt", map_location=other))
net.load_state_dict(torch.load("net.pt", map_location=torch.device("cuda:%d" % 0)))
assert net.weight.device == torch.device("cuda:0")
net.load_state_dict(torch.load("net.pt", map_location="cuda"))
net.load_state_dict(torch.load("net.pt", map_location={"cuda:1": "cuda:0"}))
net.load_state_dict(torch.load("net.pt", map_location="cuda:0"))
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    y = net(x.to(device)).detach()
torch.cuda.current_stream().wait_stream(side)
y = y + torch.cuda.FloatTensor([1.0, 2.0]).to(other)
generator = torch.Generator(device="cuda").manual_seed(0)
z = torch.rand(3, generator=generator, device="cuda")
torch.cuda.empty_cache()
print(y.sum().item(), z.shape, torch.cuda.max_memory_allocated() >= 0, y.is_cuda)
try:
    where = torch.cuda.current_device()
except (AssertionError, RuntimeError):
    where = "nowhere"
print(where)
"""
PROCESS_GROUP = """import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
store = dist.HashStore()
dist.init_process_group("nccl", store=store, rank=0, world_size=1)
net = DDP(torch.nn.Linear(2, 1, bias=False).cuda(rank), device_ids=[rank], output_device=rank)
net(torch.ones(3, 2, device=f"cuda:{rank}")).sum().backward()
total = torch.ones(1, device="cuda")
dist.all_reduce(total)
print(dist.get_backend(), net.module.weight.grad.tolist(), total.item())
dist.destroy_process_group()
"""
BRANCHES = "branches [False, False, False, False, False, True, False, False, False, False] False\ntype False"


def test_what_ran_on_the_cpu_gives_the_same_there(tmp_path: Path) -> None:
    before = output(GUARDED, tmp_path)
    assert output(migrated(GUARDED), tmp_path) == before
    assert BRANCHES in before


@pytest.mark.parametrize("argument", ["cpu"])
def test_a_device_may_be_chosen(tmp_path: Path, argument: str) -> None:
    text = migrated(GUARDED).replace("parse_args()", f"parse_args(['--device', '{argument}'])")
    assert BRANCHES in output(text, tmp_path)


def test_what_only_placed_tensors_on_a_card_runs_on_the_cpu(tmp_path: Path) -> None:
    assert run(BARE, tmp_path).returncode != 0
    lines = output(migrated(BARE), tmp_path).splitlines()
    assert lines[0].endswith("torch.Size([3]) True False")
    assert lines[1] == "nowhere"


def test_a_process_group_takes_gloo_and_no_device_on_the_cpu(tmp_path: Path) -> None:
    assert run(PROCESS_GROUP, tmp_path).returncode != 0
    assert output(migrated(PROCESS_GROUP), tmp_path) == "gloo [[3.0, 3.0]] 1.0\n"


def test_on_the_simulated_npu_the_branches_of_a_card_are_taken(tmp_path: Path) -> None:
    lines = simulated(migrated(GUARDED), tmp_path)
    assert "branches [True, True, True, True, True, False, True, True, True, True] True" in lines
    assert "card Ascend 0" in lines


def test_on_the_simulated_npu_what_placed_tensors_places_them_there(tmp_path: Path) -> None:
    lines = simulated(migrated(BARE), tmp_path)
    assert lines[0].endswith("torch.Size([3]) True True")
    assert lines[1] == "0"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("source", [GUARDED, BARE, PROCESS_GROUP])
def test_with_cuda_nothing_changes(tmp_path: Path, source: str) -> None:
    shown = {}
    for name, text in (("before", source), ("after", migrated(source))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(text)
        command = [sys.executable, "a.py"]
        done = subprocess.run(
            command, cwd=tmp_path / name, capture_output=True, text=True, timeout=240, check=False
        )
        shown[name] = (done.returncode, done.stdout)
    assert shown["before"] == shown["after"]
    assert shown["before"][0] == 0


def test_a_relative_import_of_that_name_is_not_torch() -> None:
    source = (
        "from .torch import helper\n\n\ndef go(x):\n    import torch\n\n    return torch.zeros(3).cuda()\n"
    )
    assert not migrate_source(source, "a.py", PORTABLE).changed
    both = migrate_source(
        "from .torch import helper\nimport torch\n\nx = torch.zeros(3).cuda()\n", "a.py", PORTABLE
    )
    assert both.text.endswith("x = torch.zeros(3).to(accelerator_type)\n")


def test_what_the_picker_chose_is_told_of_as_in_the_other_style() -> None:
    source = (
        "import torch\n\n\ndef run(env, net, device):\n    scaler = torch.cuda.amp.GradScaler()\n"
        "    for step in range(128):\n        env.step(1)\n        torch.cuda.synchronize()\n"
        "        torch.cuda.empty_cache()\n    for batch in range(4):\n        net(batch).backward()\n"
        "        scaler.step(net)\n    return torch.cuda.get_device_properties(0).major\n"
    )
    codes = {}
    for style in ("npu", "portable"):
        left = migrate_source(source, "a.py", Settings(style=style)).left
        codes[style] = [(f.code, f.place.line if f.place else 0) for f in left]
    assert codes["portable"] == codes["npu"]
    assert {code for code, _ in codes["npu"]} >= {"NPU212", "NPU214", "NPU131"}


def test_a_stub_gets_no_picker_and_no_import() -> None:
    source = 'import torch\n\ndef f(device: str = "cuda") -> torch.Tensor: ...\n'
    result = migrate_source(source, "a.pyi", PORTABLE)
    assert not result.changed
    assert [f.code for f in result.left].count("NPU102") == 1
    assert migrate_source(source, "a.pyi").text == source.replace("cuda", "npu")


def test_what_follows_is_set_apart_from_the_picker() -> None:
    text = migrated("import torch\nx = torch.zeros(3).cuda()\n")
    assert text.endswith("there is none\n\nx = torch.zeros(3).to(accelerator_type)\n")
