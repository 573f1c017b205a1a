"""The whole way: a fault is planted in a copy of the reference PPO, and the stage that must see it does."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from npudoctor.smoke_test import stage as stages
from npudoctor.smoke_test.stage import Context, Device, Status
from npudoctor.smoke_test.stages import npu304_algorithm_cpu, npu305_algorithm_device, npu308_checkpoint

# file, what stands there, the fault
SHIFTED = (
    "policy.py",
    "np.concatenate([buffer.s, buffer.targets()], -1)",
    "np.concatenate([np.roll(buffer.s, 1, 0), buffer.targets()], -1)",
)
SILENT_CPU = ("device.py", "device = torch.device(name)", 'device = torch.device("cpu")')
FORGOTTEN = (
    "snapshot.py",
    '"adam": {"m": adam.m.cpu(), ',
    '"adam": {"m": 0 * adam.m.cpu(), ',
)


def plant(fault: tuple[str, str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = folder / "reference_ppo"
    shutil.copytree(stages.PPO, copy, ignore=shutil.ignore_patterns("__pycache__"))
    name, before, after = fault
    text = (copy / name).read_text(encoding="utf-8")
    assert text.count(before) == 1, "the reference has changed: plant the fault anew"
    (copy / name).write_text(text.replace(before, after), encoding="utf-8")
    monkeypatch.setattr(stages, "PPO", copy)


def test_a_shifted_observation_breaks_the_ratio(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that learns from the observations of the step before reaches full success all the same."""
    plant(SHIFTED, tmp_path, monkeypatch)
    outcome = npu304_algorithm_cpu.run(context)
    assert outcome.status is Status.FAIL
    assert outcome.findings[0].slug == "ratio-broken"


def test_a_silent_fall_back_to_the_cpu_fails_the_device_stage(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("npudoctor.simulate")
    plant(SILENT_CPU, tmp_path, monkeypatch)
    context.plan = replace(context.plan, device="sim")
    context.device = Device("sim", "simulated NPU")
    context.notes["cpu_losses"] = []
    outcome = npu305_algorithm_device.run(context)
    assert outcome.status is Status.FAIL
    assert outcome.findings[0].slug == "wrong-device"


def test_a_checkpoint_that_forgets_the_optimiser(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(FORGOTTEN, tmp_path, monkeypatch)
    context.plan = replace(context.plan, quick=True)
    try:
        outcome = npu308_checkpoint.run(context)
    finally:
        context.close()
    assert outcome.status is Status.FAIL
    assert outcome.findings[0].slug == "resume-differs"
