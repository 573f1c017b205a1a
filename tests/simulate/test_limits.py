"""What the real device refuses or is not known to take: noted by default, an error with --strict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npudoctor import tables

pytest.importorskip("torch")

# Each line of a program, and the row of the table that it meets.
LINES = {
    "a @ a": "matmul-float64",
    "a * a": "float64-math",
    "a.tanh_()": "float64-math",
    "torch.nn.functional.gelu(a)": "float64-functional",
    "torch.heaviside(b, b)": "unsupported-math",
    "b.std()": "fallback-math",
    "c + c": "complex-math",
}
FINE = "b @ b; b * b; print(b); print(a); str(c); b.sum().item(); torch.nn.functional.gelu(b)"
HEAD = (
    "import torch\na = torch.ones(3, 3).double().to('npu')\nb = torch.ones(3, 3, device='npu')\n"
    "c = torch.ones(3, dtype=torch.complex64).to('npu')\n"
)


def limits(run_cli: Callable[..., Any], script: Path, *options: str) -> tuple[Any, list[dict[str, Any]]]:
    done = run_cli("simulate", "--json", *options, script)
    assert done.returncode in (0, 1), done.stderr
    return done, json.loads(done.stdout)["extra"]["simulation"]["limits"]


def test_each_line_meets_its_row_and_no_other(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(HEAD + "".join(f"{line}\n" for line in LINES) + FINE + "\n")
    done, hits = limits(run_cli, tmp_path / "p.py")
    first = len(HEAD.splitlines()) + 1
    found = {(hit["line"], hit["key"]) for hit in hits if hit["line"] >= first}
    assert found == {(first + place, key) for place, key in enumerate(LINES.values())}
    assert {hit["times"] for hit in hits if hit["line"] >= first} == {1}
    codes = [finding["code"] for finding in json.loads(done.stdout)["findings"]]
    assert codes.count("NPU406") == len({hit["key"] for hit in hits})


@pytest.mark.parametrize("line", ["a @ a", "torch.heaviside(b, b)", "c + c"])
def test_strict_stops_there(run_cli: Callable[..., Any], tmp_path: Path, line: str) -> None:
    (tmp_path / "p.py").write_text(f"{HEAD}{FINE}\n{line}\nprint('too far')\n")
    done = run_cli("simulate", "--strict", tmp_path / "p.py")
    assert done.returncode == 1
    assert "NotOnDevice" in done.stderr
    assert "too far" not in done.stdout


def test_strict_lets_a_fallback_run_and_still_exits_with_1(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "p.py").write_text("import torch\nprint(torch.ones(3, device='npu').std().item())\n")
    for options, status in (((), 0), (("--strict",), 1)):
        done = run_cli("simulate", *options, tmp_path / "p.py")
        assert (done.returncode, "0.0" in done.stdout) == (status, True), done.stderr


def test_a_chip_without_bfloat16(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("import torch\ntorch.ones(3, device='npu').bfloat16()\n")
    assert [hit["key"] for hit in limits(run_cli, tmp_path / "p.py", "--chip", "310p")[1]] == ["bfloat16"]
    assert limits(run_cli, tmp_path / "p.py", "--chip", "910b")[1] == []


def test_every_row_names_operators_that_exist() -> None:
    import torch

    from npudoctor.simulate import limits as module

    for row in tables.load("device_limits").rows:
        for name in module._operators(row):
            assert hasattr(torch.ops.aten, name.partition(".")[0]), (row["key"], name)
        for dtype in row["dtypes"].split(","):
            assert dtype == "*" or isinstance(getattr(torch, dtype), torch.dtype)
