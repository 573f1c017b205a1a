"""An import of torch_npu that fails is put down to what made it fail, and to nothing else."""

from __future__ import annotations

import pytest

from npudoctor.check.engine import diagnose
from npudoctor.core.finding import Finding, Severity
from npudoctor.pairing.table import load
from tests.support import overlays

MISSING = "ImportError: {}: cannot open shared object file: No such file or directory"


def found(error: str, *changes: overlays.Data, base: str = "910b-host-x86-ok") -> tuple[Finding, ...]:
    failed = [
        {"kind": "compute", "imported": ["torch"], "exit": 1, "stderr": error},
        {"kind": "plain", "stderr": error},
    ]
    data = overlays.apply(overlays.machine_data(base), [*failed, *changes], base)
    return diagnose(overlays.facts(data), load()).findings


@pytest.mark.parametrize("library", ["libhccl.so", "libascendcl.so"])
def test_a_library_that_a_sourced_cann_lacks(library: str) -> None:
    first = found(MISSING.format(library))[0]
    assert first.code == "NPU033"
    assert library in first.title.render("en", first.params)
    assert [child.code for child in first.consequences if child.code == "NPU074"] == ["NPU074"]


@pytest.mark.parametrize("library", ["libascend_hal.so", "libatb.so", "libstdc++.so.6"])
def test_libraries_of_other_packages_say_nothing_about_the_toolkit(library: str) -> None:
    assert "NPU033" not in {f.code for root in found(MISSING.format(library)) for f in root.walk()}


def test_a_cuda_build_of_torch_explains_only_its_own_refusal() -> None:
    cuda = {"kind": "package", "name": "torch", "version": "2.6.0", "build": "2.6.0+cu124"}
    other = found(MISSING.format("libhccl.so"), cuda)
    assert other[0].code == "NPU033"
    (build,) = (f for f in other if f.code == "NPU062")
    assert build.severity is Severity.NOTE
    assert not build.consequences
    refused = found("RuntimeError: Two accelerators cannot be used at the same time in PyTorch", cuda)
    assert refused[0].code == "NPU062"
    assert refused[0].severity is Severity.ERROR
    assert "NPU074" in {f.code for f in refused[0].walk()}
