"""Real exports: the file is whole, answers as torch does, and drives the task without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from npudoctor.core.errors import UserError
from npudoctor.export import convert, loop, source, verify
from npudoctor.export.graph import read
from tests.export.conftest import train

ROOT = Path(__file__).resolve().parent.parent.parent


def exported(path: Path, tmp_path: Path, exporter: str, *, dynamic: bool = False) -> tuple[Any, Any, Path]:
    made, out = source.resolve(str(path)), tmp_path / "policy.onnx"
    convert.to_onnx(made, out, batch=1, dynamic=dynamic, opset=17, exporter=exporter)
    verify.check_file(out)
    assert os.listdir(tmp_path) == ["policy.onnx"], "one self-contained file"
    return made, verify.caller(verify.session(out), 1), out


@pytest.mark.parametrize(
    ("which", "exporter"),
    [("trained", "legacy"), ("recurrent", "legacy"), ("discrete", "legacy"), ("recurrent", "dynamo")],
)
def test_answers_are_torchs(
    which: str, exporter: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    made, call, out = exported(request.getfixturevalue(which), tmp_path, exporter)
    for comparison in verify.compare(made, call):
        assert comparison.relative <= verify.RTOL, comparison
    graph = read(out)
    assert (graph.opset, graph.ir) == (17, 8)
    assert graph.inputs[0].dims[0] == 1


ACTING = {"Clip", "Gemm", "Mul", "Sub", "Tanh"}


@pytest.mark.parametrize(
    ("which", "more"),
    [
        ("trained", set()),
        ("recurrent", {"Add", "Concat", "Sigmoid", "Split"}),
        ("discrete", {"ArgMax", "Cast", "Gather", "LogSoftmax"}),
    ],
)
def test_only_what_acts_is_in_the_graph(
    which: str, more: set[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The operators that docs/export.md lists: the value function is left out."""
    pytest.importorskip("onnxscript")
    _, _, out = exported(request.getfixturevalue(which), tmp_path, "dynamo")
    assert {node.op for node in read(out).nodes} == ACTING | more
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    row = {"trained": "reach", "recurrent": "reach, `--recurrent`", "discrete": "CartPole-v1"}[which]
    (line,) = [text for text in page.splitlines() if text.startswith(f"| {row} |")]
    assert more <= set(line.rsplit("|", 2)[1].split())


@pytest.mark.parametrize("which", ["trained", "recurrent", "discrete"])
def test_the_graph_does_what_the_policy_does(which: str, request: pytest.FixtureRequest) -> None:
    """Against the policy of reference_ppo itself, which evaluation and training use."""
    import torch

    from npudoctor.export.policy import policy_class
    from reference_ppo import checkpoint
    from reference_ppo.config import Config
    from reference_ppo.normalize import Normalizer

    path = request.getfixturevalue(which)
    made, state = source.resolve(str(path)), checkpoint.load(path)
    settings = json.loads(state["config"])
    config = Config(**{**settings, "hidden": tuple(settings["hidden"])})
    spec = made.module.spec
    policy = policy_class(config)(spec, config.hidden, config.log_std, config.squash, config.seed)
    normalizer = Normalizer(spec.obs_dim, config.normalize_obs)
    normalizer.load(json.loads(state["host"])["normalizer"])
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(64, spec.obs_dim)).astype(np.float32)
    memory = [rng.normal(size=(64, policy.state_size)).astype(np.float32)] if policy.state_size else []
    with torch.no_grad():
        policy.theta.copy_(state["theta"])
        before = torch.from_numpy(memory[0] if memory else obs[:, :0])
        mode, after = policy.mode(torch.from_numpy(normalizer(obs)), before)
    found = made.call(obs, *memory)
    np.testing.assert_allclose(found[0], policy.to_env(mode.numpy()), rtol=0, atol=1e-5)
    if memory:
        np.testing.assert_allclose(found[1], after.numpy(), rtol=0, atol=1e-5)


def test_raw_observations_go_in(trained: Path, tmp_path: Path) -> None:
    """The statistics are part of the graph: the same network without them answers differently."""
    made, call, _ = exported(trained, tmp_path, "legacy")
    obs = made.observations(64)
    expected = made.call(*obs)[0]
    assert np.abs(call(*obs)[0] - expected).max() < 1e-5
    made.module.enabled = False
    assert np.abs(made.call(*obs)[0] - expected).max() > 0.05


def test_open_batch_takes_any_size(trained: Path, tmp_path: Path) -> None:
    made, call, out = exported(trained, tmp_path, "legacy", dynamic=True)
    assert read(out).inputs[0].dims[0] == "batch"
    for count in (1, 7, 64):
        obs = np.random.default_rng(count).standard_normal((count, 9)).astype(np.float32)
        assert np.abs(call(obs)[0] - made.call(obs)[0]).max() < 1e-5


def test_a_wrong_graph_is_noticed(trained: Path, tmp_path: Path) -> None:
    made, call, _ = exported(trained, tmp_path, "legacy")
    made.module.shift += 0.01  # torch and the file now disagree
    assert max(c.relative for c in verify.compare(made, call)) > verify.RTOL


def test_closed_loop_equals_torch(trained: Path, tmp_path: Path) -> None:
    made, call, _ = exported(trained, tmp_path, "legacy")
    closed = loop.closed_loop(made, call)
    assert closed is not None
    assert closed.difference <= closed.limit
    assert closed.torch_success is not None
    assert closed.torch_success >= 0.95
    assert closed.onnx_success == closed.torch_success
    assert (closed.changed, closed.own_changed) == (0, 0)


def test_a_half_trained_policy_is_as_unsteady_in_torch_itself(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """Its outcomes differ although no action does; torch with other last bits explains how many."""
    half = train(tmp_path_factory.mktemp("half"), "--target-success", "0.9")
    made, call, _ = exported(half, tmp_path, "legacy")
    closed = loop.closed_loop(made, call)
    assert closed is not None
    assert closed.difference <= closed.limit
    assert closed.own_changed > 0
    assert closed.changed <= closed.allowed


def test_outcomes_that_rounding_does_not_explain(trained: Path, tmp_path: Path) -> None:
    """Actions of the wrong sign."""
    made, call, _ = exported(trained, tmp_path, "legacy")
    closed = loop.closed_loop(made, lambda *arrays: tuple(-a for a in call(*arrays)))
    assert closed is not None
    assert closed.changed > closed.allowed
    assert closed.difference > closed.limit


def test_a_shaken_observation_moves_by_its_last_bit() -> None:
    seen: list[Any] = []

    def call(*arrays: Any) -> tuple[Any, ...]:
        seen.extend(arrays)
        return arrays

    obs, memory = np.full((64, 9), 0.7, np.float32), np.zeros((64, 2), np.float32)
    loop.shaken(call, 0)(obs, memory)
    steps = {float(v) for v in np.unique((seen[0] - obs) / np.spacing(np.float32(0.7)))}
    assert steps == {-1.0, 0.0, 1.0}
    assert seen[1] is memory


def test_choices_are_counted_not_subtracted() -> None:
    rows = np.arange(1000)
    near = rows.copy()
    near[0] += 5
    assert verify.difference(rows, near) == 0.001
    assert verify.LIMITS.of(rows) == verify.LIMITS.choices
    assert verify.difference(rows, near[:-1]) == float("inf")
    numbers = rows.astype(np.float32)
    assert verify.difference(numbers, near.astype(np.float32)) == 5.0
    assert verify.difference(numbers, numbers * np.nan) == float("inf")


def test_the_example_runs_without_torch(trained: Path, tmp_path: Path) -> None:
    made, _, _ = exported(trained, tmp_path, "legacy")
    script = ROOT / "examples" / "closed_loop.py"
    assert len(script.read_text().splitlines()) <= 40
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "policy.onnx")],
        env=env,
        timeout=120,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "torch imported: False" in done.stdout
    rate = loop.episodes(made, made.call).rate
    assert f"success {rate:.1%}," in done.stdout, "torch's own rate"


def test_the_command(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    out = tmp_path / "p.onnx"
    result = run_cli("export", trained, "-o", out, "--exporter", "legacy", "--soc", "Ascend910B3", "--json")
    assert result.returncode == 0, result.stderr
    extra = json.loads(result.stdout)["extra"]
    assert extra["schema"] == "npudoctor.export/1"
    assert extra["atc"]["command"][-1] == "--soc_version=Ascend910B3"
    assert extra["atc"]["ran"] is False
    assert extra["closed_loop"]["difference"] <= 1e-5
    assert out.is_file()


FUNCTION = """
import torch
def good():
    return torch.nn.Linear(4, 2), torch.zeros(1, 4)
def branch():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return x.double() if x.dim() == 2 else x
    return Branch(), torch.zeros(1, 4)
def wrong():
    return 3
def raises():
    raise RuntimeError("no weights here")
"""


def test_a_function_of_the_user(tmp_path: Path, run_cli: Any) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    common = ("-o", tmp_path / "m.onnx", "--exporter", "legacy", "--no-atc")
    assert run_cli("export", "mine:good", *common, cwd=tmp_path).returncode == 0
    result = run_cli("export", "mine:branch", *common, cwd=tmp_path)
    assert "NPU614" in result.stdout
    assert result.returncode == 0  # a warning
    for name, words in (("wrong", "returned int"), ("raises", "no weights here"), ("none", "no attribute")):
        result = run_cli("export", f"mine:{name}", *common, cwd=tmp_path)
        assert result.returncode == 2
        assert words in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "words"), [(None, "no such checkpoint"), (b"\x00garbage", "cannot be read as a checkpoint")]
)
def test_what_is_no_checkpoint(content: bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        source.resolve(str(path))
    assert words in str(caught.value)


def test_a_folder_that_is_not_there(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    result = run_cli(
        "export", trained, "-o", tmp_path / "none" / "p.onnx", "--exporter", "legacy", "--no-atc"
    )
    assert result.returncode == 2
    assert "cannot write" in result.stderr


def test_bad_range(trained: Path, run_cli: Any) -> None:
    result = run_cli("export", trained, "--dynamic-batch", "1,two")
    assert result.returncode == 2
    assert "1,two" in result.stderr


def test_bench_measures_all_ways(trained: Path) -> None:
    from npudoctor.export.bench import bench

    timings = bench(source.resolve(str(trained)), 17, "legacy", repeats=5, compiled=False)
    assert {(t.way, t.batch) for t in timings if t.us} == {
        (way, batch) for way in ("torch eager", "onnxruntime") for batch in (1, 8, 64)
    }
    assert {(t.way, t.batch) for t in timings if not t.us} == {("OM", batch) for batch in (1, 8, 64)}
