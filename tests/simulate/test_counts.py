"""What counts as a sync, by line and kind: each line of the program below names what it must cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from npudoctor import tables

pytest.importorskip("torch")
PROGRAM = '''
import numpy as np
import torch
from torch.distributions import Normal

x = torch.randn(6, device="npu")
host, pinned = torch.ones(6), torch.ones(6).pin_memory()
mask = x > 0
# one claim a line
x.sum().item()  # expect: item 1
float(x.sum())  # expect: item 1
yes = 1 if x.sum() > -1e9 else 0  # expect: bool 1
x.cpu()  # expect: cpu 1
x.cpu().numpy()  # expect: numpy 1
x.tolist()  # expect: tolist 1
str(x)  # expect: print
f"{x.sum():.2f}"  # expect: print 1
torch.npu.synchronize()  # expect: synchronize 1
torch.npu.Event().synchronize()  # expect: synchronize 1
torch.npu.empty_cache()  # expect: empty_cache 1
x[mask]  # expect: mask 1
mask.nonzero()  # expect: nonzero 1
x[[0, 1]]  # expect: host index 1
x[np.array([0, 1])]  # expect: host index 1
host.to("npu")  # expect: upload 1
host.to("npu", non_blocking=True)  # expect: upload 1
pinned.to("npu", non_blocking=True)  # expect: nothing
x + x  # expect: nothing
x[1:3].clone()  # expect: nothing
x.detach()  # expect: nothing
d = Normal(x, x.exp())  # expect: bool 2
s = d.sample()  # expect: nothing
d.log_prob(s)  # expect: bool 1
torch.tensor([1.0], device="npu")  # expect: upload 1
x.to(torch.float16)  # expect: nothing
torch.equal(x, x)  # expect: item 1
'''


@pytest.fixture(scope="module")
def simulation(run_cli: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("counts")
    (folder / "program.py").write_text(PROGRAM)
    done = run_cli("simulate", "--json", "--html", folder / "r.html", "--trace", folder / "t.json",
                   folder / "program.py")
    assert done.returncode == 0, done.stderr
    numbers: dict[str, Any] = json.loads(done.stdout)["extra"]["simulation"]
    numbers["folder"] = folder
    return numbers


def claims() -> list[tuple[int, str, str]]:
    found = []
    for number, line in enumerate(PROGRAM.splitlines(), start=1):
        code, _, expected = line.partition("  # expect: ")
        if expected:
            found.append((number, code, expected))
    return found


@pytest.mark.parametrize(("number", "code", "expected"), claims(), ids=[code for _, code, _ in claims()])
def test_line_costs_what_it_says(
    number: int, code: str, expected: str, simulation: dict[str, Any]
) -> None:
    kinds: dict[str, int] = {}
    for line in simulation["lines"]:
        if line["line"] == number:
            kinds = line["kinds"]
    if expected == "nothing":
        assert kinds == {}
    elif expected == "print":
        assert set(kinds) == {"print"}, "formatting a tensor reads it several times, all of one kind"
    else:
        kind, _, times = expected.rpartition(" ")
        assert kinds == {kind: int(times)}


def test_paths_lead_into_the_library(simulation: dict[str, Any]) -> None:
    line = next(e for e in simulation["lines"] if e["text"].startswith("d.log_prob"))
    calls = line["paths"][0]["calls"]
    assert "program.py" in calls[0]
    assert any("torch/distributions/" in call for call in calls[1:])


def test_html_and_trace_are_written(simulation: dict[str, Any]) -> None:
    page = (simulation["folder"] / "r.html").read_text(encoding="utf-8")
    assert "x.sum().item()" in page
    assert "Simulated" in page
    events = json.loads((simulation["folder"] / "t.json").read_text())["traceEvents"]
    assert {e["tid"] for e in events if e["ph"] == "X"} == {1, 2}
    assert all(e["dur"] >= 0 for e in events if e["ph"] == "X")


def test_totals_and_memory(simulation: dict[str, Any]) -> None:
    totals = simulation["totals"]
    assert totals["syncs"] == sum(totals["syncs_by_kind"].values())
    assert totals["h2d"]["times"] == 6
    memory = totals["memory"]["npu:0"]
    assert memory["peak_bytes"] > memory["now_bytes"] == 0
    assert simulation["forecast"]["simulated"] is True


def test_the_json_fits_its_schema(simulation: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((tables.DATA / "schema" / "simulate-1.json").read_text(encoding="utf-8"))
    jsonschema.validate({k: v for k, v in simulation.items() if k != "folder"}, schema)
