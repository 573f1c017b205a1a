"""The ATC command, the chip's name, and a run of a stand-in for atc."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npudoctor.export import atc
from npudoctor.export.graph import Value
from npudoctor.machine.facts import Chip, Known, NpuSmi
from tests.export.test_rules import HEALTHY
from tests.support.processes import gone

PATH = Path("/models/policy.onnx")


def test_fixed_batch() -> None:
    assert atc.line(atc.command(PATH, HEALTHY, "Ascend910B3")) == (
        "atc --model=/models/policy.onnx --framework=5 --output=/models/policy --input_format=ND "
        "--input_shape=obs:1,9 --soc_version=Ascend910B3"
    )


def test_batch_ranges_and_several_inputs() -> None:
    inputs = (Value("obs", "float", ("batch", 9)), Value("state", "float", ("batch", 128)))
    words = atc.command(PATH, replace(HEALTHY, inputs=inputs, ranges=(1, 2, 4, 8)), None)
    assert "--input_shape=obs:-1,9;state:-1,128" in words
    assert "--dynamic_batch_size=1,2,4,8" in words
    assert words[-1] == "--soc_version=<soc_version>"
    assert "'--input_shape=obs:-1,9;state:-1,128'" in atc.line(words)


def smi(name: str | None, board: dict[str, str] | None = None) -> NpuSmi:
    from npudoctor.machine.facts import SmiInfo

    made = NpuSmi()
    if name is not None:
        info = object.__new__(SmiInfo)
        object.__setattr__(info, "chips", (Chip(0, 0, name, "OK"),))
        made = replace(made, info=Known(info, "npu-smi info"))
    return replace(made, board=Known(board, "npu-smi info -t board")) if board else made


@pytest.mark.parametrize(
    ("found", "soc"),
    [
        (smi("910B3"), "Ascend910B3"),
        (smi("310P3"), "Ascend310P3"),
        (smi("Ascend910"), "Ascend910"),
        (smi("Ascend910", {"Chip Name": "Ascend910", "NPU Name": "9391"}), "Ascend910_9391"),
        (smi(None), None),
    ],
)
def test_name_of_the_chip(found: NpuSmi, soc: str | None) -> None:
    assert atc.soc_of(found) == soc


def fake_atc(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "atc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_conversion_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "policy.onnx"
    fake_atc(
        tmp_path, 'for w in "$@"; do case $w in --output=*) : > "${w#--output=}.om";; esac; done', monkeypatch
    )
    done = atc.run(atc.command(model, HEALTHY, "Ascend910B3"), model)
    assert done is not None
    assert (done.code, done.om) == (0, tmp_path / "policy.om")


def test_a_conversion_that_fails_keeps_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "policy.onnx"
    fake_atc(
        tmp_path,
        "echo 'E10016: Opname [x] in --input_shape is not found in the model' >&2; exit 255",
        monkeypatch,
    )
    done = atc.run(atc.command(model, HEALTHY, "Ascend910B3"), model)
    assert done is not None
    assert (done.code, done.om) == (255, None)
    assert "E10016" in done.log[-1]


def test_no_atc_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert atc.run(["atc"], PATH) is None


def test_a_program_of_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "atc").write_bytes(b"\x7fELF of another machine")
    (tmp_path / "atc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = atc.run(["atc"], tmp_path / "policy.onnx")
    assert done is not None
    assert (done.code, done.om) == (-1, None)
    assert done.log


def test_an_older_om_is_not_taken_for_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policy.om").write_bytes(b"older")
    fake_atc(tmp_path, "exit 0", monkeypatch)
    done = atc.run(["atc"], tmp_path / "policy.onnx")
    assert done is not None
    assert (done.code, done.om) == (0, None)


def test_a_conversion_that_hangs_ends_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atc, "TIMEOUT_S", 0.5)
    fake_atc(tmp_path, "sleep 300 & echo $! > child; wait", monkeypatch)
    monkeypatch.chdir(tmp_path)
    done = atc.run(["atc"], tmp_path / "policy.onnx")
    assert done is not None
    assert (done.code, done.om) == (-1, None)
    assert gone(int((tmp_path / "child").read_text()))
