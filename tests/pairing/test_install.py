"""Commands per architecture, images, and the ready fixes that checks use."""

from __future__ import annotations

import pytest

from npudoctor.pairing.advice import driver_set_fix, set_fix
from npudoctor.pairing.chips import all_chips, chip
from npudoctor.pairing.install import images, pip_commands, python_needs
from npudoctor.pairing.solve import Query, candidates
from npudoctor.pairing.table import Known, load


def row(version: str):
    answer = load().row_for_torch_npu(version)
    assert isinstance(answer, Known)
    return answer.value


def test_x86_wants_the_cpu_build_and_aarch64_the_plain_one() -> None:
    x86 = pip_commands(row("2.7.1.post2"), "3.11", "x86_64")
    arm = pip_commands(row("2.7.1.post2"), "3.11", "aarch64")
    assert x86[0] == (
        "python -m pip install torch==2.7.1+cpu --index-url https://download.pytorch.org/whl/cpu"
    )
    assert "+cpu" not in " ".join(arm)
    assert arm[0].startswith("python -m pip install torch==2.7.1 ")
    assert x86[-1] == arm[-1] == "python -m pip install torch_npu==2.7.1.post2"


def test_a_release_off_the_index_names_its_wheel() -> None:
    assert "./torch_npu-2.3.1-cp310-cp310-" in pip_commands(row("2.3.1"), "3.10", "aarch64")[-1]


def test_numpy_follows_the_python() -> None:
    assert "numpy<2" in python_needs("3.11")
    assert "numpy>=2.1" in python_needs("3.13")
    assert "numpy<2" not in python_needs("3.13")


def test_images_with_torch_npu_come_first() -> None:
    first = candidates(load(), Query(torch_npu="2.7.1.post4", python="3.11"))[0]
    assert images(load(), first, "a3") == (
        "quay.io/ascend/torch-npu:2.7.1.post4-a3-ubuntu22.04-py3.11",
        "quay.io/ascend/cann:9.0.0-a3-ubuntu22.04-py3.11",
    )
    assert "<chip>" in images(load(), first, None)[0]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("910B3", "910b"), ("Ascend910B2C", "910b"), ("910B", "910b"), ("Ascend910_9382", "a3"),
        ("910C", "a3"),
        ("910A", "910"), ("Ascend910ProB", "910"), ("310P3", "310p"), ("Ascend310P", "310p"), ("A2", "910b"),
        ("a3", "a3"), ("910B9", "910b"), ("Ascend950PR_9589", "950"),
    ],
)
def test_chip_names(name: str, key: str) -> None:
    found = chip(name)
    assert found is not None
    assert found.key == key


def test_unknown_chip_is_none() -> None:
    assert chip("H100") is None
    assert chip("") is None
    assert len({c.key for c in all_chips()}) == len(all_chips())


def test_those_who_cannot_change_the_driver_get_a_set_it_carries() -> None:
    advice = driver_set_fix(load(), "24.1.rc2", "aarch64")
    assert advice is not None
    text = advice.fix.note.render("en")
    assert "24.1.rc2" in text
    assert "8.2.RC1" in text
    assert "2.6.0" in text
    assert "24.1.rc2" in advice.fix.note.render("zh")
    assert advice.fix.commands[-1] == "python -m pip install torch_npu==2.6.0"
    assert driver_set_fix(load(), "1.0.3") is None


def test_set_fix_keeps_what_is_given() -> None:
    advice = set_fix(load(), Query(torch="2.6.0", cann="8.2.RC1"))
    assert advice is not None
    assert advice.candidate.row.torch_npu == "2.6.0"
    assert set_fix(load(), Query(torch="2.6.0", cann="9.1.0")) is None
