"""One trained checkpoint and its export for all tests of this folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def train(folder: Path, *options: str) -> Path:
    path = folder / "policy.pt"
    words = [sys.executable, "-m", "reference_ppo", "--checkpoint", str(path), "--quiet", *options]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that solves the task."""
    pytest.importorskip("torch")
    return train(tmp_path_factory.mktemp("trained"), "--total-steps", "61440", "--seed", "1")


@pytest.fixture(scope="session")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy with memory, hardly trained."""
    pytest.importorskip("torch")
    return train(tmp_path_factory.mktemp("recurrent"), "--recurrent", "--total-steps", "2048")


@pytest.fixture(scope="session")
def discrete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that chooses, for another environment."""
    pytest.importorskip("torch")
    return train(tmp_path_factory.mktemp("discrete"), "--env", "CartPole-v1", "--total-steps", "2048")
