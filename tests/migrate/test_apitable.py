"""The table of CUDA names: every rewrite is a plain rename to something the wheels define."""

from __future__ import annotations

import pytest

from npudoctor.migrate import apitable

RENAMED = {"torch.cuda.OutOfMemoryError", "torch.backends.cuda.cufft_plan_cache"}


def test_the_wheels_that_were_read() -> None:
    read = apitable.wheels()
    assert len(read) >= 5
    assert "2.1.0.post17" in read
    assert "2.13.0" in read


@pytest.mark.parametrize("api", apitable.apis().values(), ids=lambda a: a.name)
def test_row(api: apitable.Api) -> None:
    assert api.action in apitable.ACTIONS
    assert api.if_left in ("silent", "loud", "works", "unknown")
    assert bool(api.note[0]) == bool(api.note[1])
    assert api.present_in <= set(apitable.wheels())
    if api.action == "rewrite":
        assert api.present_in, "a name that no wheel defines must not be written"
        if api.name not in RENAMED:
            tail = api.name.split("cuda.", 1)[1]
            assert api.target in (f"torch.npu.{tail}", f"torch_npu.npu.{tail}")
    else:
        assert api.note[0], "a name that is not renamed needs words"


def test_there_is_no_single_since_version() -> None:
    api = apitable.apis()["torch.cuda.MemPool"]
    assert api.available("2.1.0.post17")
    assert not api.available("2.4.0")


def test_a_version_that_was_not_read_needs_its_whole_line() -> None:
    api = apitable.apis()["torch.cuda.ipc_collect"]
    assert api.available("2.7.1.post4")
    assert not api.available("2.1.0.post99")  # its line disagrees: post8 lacks the name
    assert not api.available("3.0.0")
    assert apitable.apis()["torch.cuda.is_available"].available("3.0.0")


def test_lookup_takes_the_longest_prefix() -> None:
    found = apitable.lookup("torch.cuda.memory.no_such_name")
    assert found is not None
    assert found.name == "torch.cuda.memory"
    assert apitable.lookup("torch.cuda._sleep") is None
    assert apitable.lookup("numba.cuda.jit") is None
