"""The evidence script on a made-up project: what it copies, counts and says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from npudoctor.simulate.verify import NOT_RUN, Run, Verification

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "evidence.py"
PROGRAM = """import torch
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for step in range(STEPS):
    loss = net(torch.randn(8, 3).to(device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print("mean loss", total)
"""
PROJECT = {
    "name": "made up", "style": "one file", "folder": "made-up", "copy": ["train.py"], "steps": 4,
    "command": "python train.py", "patch": [{"file": "train.py", "old": "STEPS", "new": "4"}],
    "note": "four steps",
}


@pytest.fixture(scope="module")
def evidence() -> Any:
    spec = importlib.util.spec_from_file_location("evidence_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["evidence_script"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    (tmp_path / "checkouts" / "made-up").mkdir(parents=True)
    (tmp_path / "checkouts" / "made-up" / "train.py").write_text(PROGRAM)
    return tmp_path / "checkouts"


def run_of(status: int = 0, **totals: int) -> Run:
    simulation = {"totals": totals} if totals else None
    return Run("npu", status, "ValueError: a|b" if status else "", (), (), {}, simulation)


def test_every_listed_project_is_whole(evidence: Any) -> None:
    names = [project["name"] for project in evidence.projects()]
    assert len(names) == len(set(names)) >= 6
    for project in evidence.projects():
        assert {"style", "repository", "commit", "folder", "copy", "command"} <= project.keys()
        assert len(project["commit"]) == 40
        for name in project.get("support", ()):
            assert (evidence.SUPPORT / name).is_dir()


def test_a_patch_is_applied_to_the_copy_alone(evidence: Any, checkouts: Path, tmp_path: Path) -> None:
    evidence.copy(PROJECT, checkouts / "made-up", tmp_path / "copy")
    assert "range(4)" in (tmp_path / "copy" / "train.py").read_text()
    assert (checkouts / "made-up" / "train.py").read_text() == PROGRAM


def test_a_patch_that_does_not_fit_names_the_commit(evidence: Any, checkouts: Path, tmp_path: Path) -> None:
    project = {**PROJECT, "patch": [{"file": "train.py", "old": "no such text", "new": ""}]}
    with pytest.raises(RuntimeError, match="another commit"):
        evidence.copy(project, checkouts / "made-up", tmp_path / "copy")
    row = evidence.run(project, checkouts, tmp_path, 60)
    assert (row.original, row.migrated, row.equal) == ("not run", "not run", "not compared")
    assert any("another commit" in note for note in row.notes)


def test_a_replaced_line_counts_once_and_an_added_one_too(evidence: Any, tmp_path: Path) -> None:
    for name, text in (("a", "1\n2\n3\n"), ("b", "1\nx\n3\ny\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.py").write_text(text)
    assert evidence.changed_lines(tmp_path / "a", tmp_path / "b") == 2


def test_failures_and_differences_are_told(evidence: Any) -> None:
    row = evidence.Row("n", "s")
    evidence.told(row, Verification(run_of(1), run_of(NOT_RUN), run_of(NOT_RUN)))
    assert (row.original, row.migrated, row.equal) == (
        "failed: ValueError: a/b", "not run", "not compared")
    row = evidence.Row("n", "s")
    evidence.told(row, Verification(run_of(), run_of(), run_of(), noisy=3))
    assert row.equal == "nothing repeatable to compare (3 values differ between two runs)"
    assert evidence.per_step(run_of(syncs=6, env_steps=4), 0) == "1.50"
    assert evidence.per_step(run_of(syncs=6, env_steps=4), 3) == "2.00"
    assert evidence.per_step(run_of(syncs=6), 0) == "6 in all"
    assert evidence.per_step(run_of(1), 0) == "failed: ValueError: a/b"


@pytest.mark.slow
def test_the_whole_way(evidence: Any, checkouts: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "work").mkdir()
    row = evidence.run(PROJECT, checkouts, tmp_path / "work", 120)
    assert (row.original, row.migrated) == ("ran", "ran")
    assert row.equal.startswith("yes (1 printed, 0 logged, 2 weights)")
    # An upload and a read in each of four steps; without the sync rules both stay.
    assert float(row.before) >= float(row.after) >= 1.0
    assert float(row.before) >= 2.0
    assert "four steps" in evidence.table([row])
