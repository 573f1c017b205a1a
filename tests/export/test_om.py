"""From ONNX to OM and through the ACL runtime, with stand-ins for `atc` and ais_bench (no hardware)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.export.stand_in import install

COMMON = ("--exporter", "legacy", "--soc", "Ascend910B3")


def export(run_cli: Any, trained: Path, tmp_path: Path, env: dict[str, str], *more: str) -> Any:
    return run_cli("export", trained, "-o", tmp_path / "p.onnx", *COMMON, *more, env=env, cwd=tmp_path)


@pytest.mark.parametrize("sizes", [(), ("--dynamic-batch", "1,2,4,8")])
def test_converted_and_compared(trained: Path, tmp_path: Path, run_cli: Any, sizes: tuple[str, ...]) -> None:
    result = export(run_cli, trained, tmp_path, install(tmp_path / "acl"), "--json", *sizes)
    assert result.returncode == 0, result.stdout + result.stderr
    atc = json.loads(result.stdout)["extra"]["atc"]  # the runtime's greeting is not in it
    assert (atc["ran"], atc["status"], atc["om"]) == (True, 0, str(tmp_path / "p.om"))
    kinds = {c["kind"]: c for c in atc["comparisons"]}
    assert set(kinds) == {"om random", "om rollout"}
    for comparison in kinds.values():
        assert comparison["rows"] == 512
        assert 1e-5 < comparison["relative"] < 1e-2, "float16 shows and is allowed"


def test_said_in_words(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    result = export(run_cli, trained, tmp_path, install(tmp_path / "acl"))
    assert "converted for Ascend910B3 and compared with the ONNX file" in result.stdout
    assert "OM against ONNX, real observations" in result.stdout


def test_wrong_numbers(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    env = {**install(tmp_path / "acl"), "STAND_IN": "wrong"}
    result = export(run_cli, trained, tmp_path, env)
    assert result.returncode == 1
    assert "NPU603" in result.stdout
    assert "--precision_mode_v2=origin" in result.stdout


def test_atc_fails_and_explain_knows_why(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    env = {**install(tmp_path / "acl"), "STAND_IN": "refuses"}
    result = export(run_cli, trained, tmp_path, env)
    assert result.returncode == 1
    assert "NPU602" in result.stdout
    assert "E10016" in result.stdout
    assert "failed for Ascend910B3" in result.stdout
    log = tmp_path / "p.atc.log"
    assert str(log) in result.stdout.replace("\n", "")
    assert "E10016" in run_cli("explain", log).stdout


def test_a_chip_that_atc_does_not_know(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    result = run_cli(
        "export", trained, "-o", tmp_path / "p.onnx", "--exporter", "legacy", "--soc", "910B3",
        env=install(tmp_path / "acl"),
    )  # fmt: skip
    assert result.returncode == 1
    assert "E10001" in result.stdout


def test_an_om_that_does_not_load_is_a_finding(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    env = {**install(tmp_path / "acl"), "STAND_IN": "no-device"}
    result = export(run_cli, trained, tmp_path, env)
    assert result.returncode == 1
    assert "NPU604" in result.stdout
    assert "507033" in result.stdout
    assert "the OM could not be run" in result.stdout
    assert "Traceback" not in result.stderr


def test_without_a_runtime_it_says_so(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    result = export(run_cli, trained, tmp_path, install(tmp_path / "acl", runtime=False))
    assert result.returncode == 0
    assert "the OM was not run: there is no ais_bench here" in result.stdout


def test_the_language_model_benchmark_is_not_a_runtime(trained: Path, tmp_path: Path, run_cli: Any) -> None:
    env = install(tmp_path / "acl", runtime=False)
    package = tmp_path / "acl" / "lib" / "ais_bench" / "benchmark"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    result = export(run_cli, trained, tmp_path, env)
    assert "there is no ais_bench here" in result.stdout


def test_bench_measures_the_om(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from npudoctor.export import bench, source

    env = install(tmp_path / "acl")
    monkeypatch.setenv("PATH", env["PATH"])
    monkeypatch.syspath_prepend(env["PYTHONPATH"])
    made = source.resolve(str(trained))
    timings = bench.bench(made, 17, "legacy", repeats=2, compiled=False, soc="Ascend910B3")
    assert {t.batch for t in timings if t.way == "OM" and t.us} == {1, 8, 64}


@pytest.mark.parametrize(
    ("soc", "atc", "runtime", "words"),
    [
        (None, True, True, "the chip is unknown"),
        ("Ascend910B3", False, True, "no atc"),
        ("Ascend910B3", True, False, "no ais_bench"),
        ("910B3", True, True, "E10001"),
    ],
)
def test_bench_says_why_there_is_no_om(
    soc: str | None, atc: bool, runtime: bool, words: str,
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    import sys

    from npudoctor.core.blocks import cell_text
    from npudoctor.export import bench, source

    env = install(tmp_path / "acl", atc=atc, runtime=runtime)
    for name in [n for n in sys.modules if n.partition(".")[0] == "ais_bench"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("PATH", env["PATH"])
    monkeypatch.syspath_prepend(env["PYTHONPATH"])
    monkeypatch.setattr(bench, "BATCHES", (1,))
    timings = bench.bench(source.resolve(str(trained)), 17, "legacy", repeats=2, compiled=False, soc=soc)
    (om,) = (t for t in timings if t.way == "OM")
    assert om.us is None
    assert words in cell_text(om.note, "en")
