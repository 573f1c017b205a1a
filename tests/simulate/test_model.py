"""The cost model on hand-made events: overlap, waiting, the bound, and what-if."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.simulate import costs
from npudoctor.simulate.costs import Costs
from npudoctor.simulate.model import device_time, replay

ROUND = Costs(launch=10, sync=25, copy=20, kernel=5, memory_gb_s=1000, link_gb_s=10, tflops=100)
KERNEL, BIG = ("add", "line a", 0), ("mm", "line b", -1e10)
SYNC = ("sync", "item", "line c", ())


def test_small_kernels_are_launch_bound() -> None:
    estimate = replay([KERNEL] * 10, ROUND)
    assert estimate.total == 10 * 10 + 5
    assert estimate.bound == "launch"


def test_a_sync_waits_for_the_device_and_costs_its_round_trip() -> None:
    assert replay([KERNEL, SYNC], ROUND).total == ROUND.sync


def test_large_kernels_are_compute_bound() -> None:
    assert device_time(-1e10, ROUND) == 100
    estimate = replay([BIG] * 10, ROUND)
    assert estimate.bound == "compute"
    assert estimate.total == 10 + 10 * 100


def test_syncs_after_every_kernel_are_sync_bound() -> None:
    estimate = replay([KERNEL, SYNC, SYNC, SYNC] * 5, ROUND)
    assert estimate.bound == "sync"


def test_removing_a_sync_is_never_slower() -> None:
    events = [KERNEL, KERNEL, SYNC, BIG, SYNC, KERNEL]
    base = replay(events, ROUND)
    assert replay(events, ROUND, skip=lambda where: where == "line c").total < base.total


def test_a_blocking_copy_drains_and_a_free_one_does_not() -> None:
    blocking, free = ("h2d", 1000, "x", True), ("h2d", 1000, "x", False)
    assert replay([BIG, blocking], ROUND).total > replay([BIG, free], ROUND).total
    assert replay([BIG, blocking], ROUND, skip=lambda _: True).total == replay([BIG, free], ROUND).total


def test_more_syncs_are_never_cheaper() -> None:
    totals = [replay(([KERNEL] * 8 + [SYNC] * n) * 20, ROUND).total for n in range(4)]
    assert totals == sorted(totals)


def test_environment_time_counts() -> None:
    estimate = replay([KERNEL, ("mark", "rollout", 4, 0.001)], ROUND)
    assert estimate.env == 1000
    assert estimate.steps == 4
    assert estimate.bound == "env"


def test_every_stretch_is_charged_once_and_to_its_line() -> None:
    """The device works until 120; `line c` waits for that and reads twice, `line d` once more."""
    other = ("sync", "item", "line d", ())
    estimate = replay([BIG, KERNEL, KERNEL, SYNC, SYNC, other], ROUND)
    assert estimate.launch == 3 * ROUND.launch
    # Device: 10 + 100, then 5 and 5; the host is at 30 and waits until 120, and each read costs its way.
    extra = ROUND.sync - ROUND.launch - ROUND.kernel  # what a read costs beside a kernel
    assert estimate.by_line["line c"] == pytest.approx(estimate.wait - estimate.by_line["line d"])
    assert estimate.by_line["line d"] == pytest.approx(extra)
    assert estimate.by_line["line c"] == pytest.approx(120 - 30 + 2 * extra)
    assert estimate.total == pytest.approx(120 + 3 * extra)


def test_blocking_copies_are_charged_to_their_line() -> None:
    estimate = replay([KERNEL, ("h2d", 1_000_000, "line x", True), ("d2h", 0, "line y", True)], ROUND)
    # 1 MB at 10 GB/s is 100 us, behind the kernel that ends at 15.
    assert estimate.by_line == {"line a": ROUND.launch, "line x": 15 - 10 + 20 + 100, "line y": 20}
    assert estimate.copy == estimate.by_line["line x"] + estimate.by_line["line y"]
    assert estimate.bound == "sync"


def test_the_rollout_is_the_time_between_its_marks() -> None:
    step, update = ("mark", "rollout", 1, 1e-5), ("mark", "update", 0, 0.0)
    estimate = replay([KERNEL, step, KERNEL, step, KERNEL, KERNEL, update, KERNEL, step], ROUND)
    assert estimate.rollout == pytest.approx(3 * (10 + 10))
    assert estimate.as_dict()["per_env_step_us"] == pytest.approx(estimate.total / 3, abs=0.06)
    assert "per_env_step_us" not in replay([KERNEL], ROUND).as_dict()


def test_a_timeline_is_drawn_without_holes_on_the_host() -> None:
    drawn: list[tuple] = []
    events = [KERNEL, SYNC, ("h2d", 1000, "x", True), ("mark", "rollout", 1, 1e-5), KERNEL]
    estimate = replay(events, ROUND, trace=lambda *stretch: drawn.append(stretch))
    host = [(begin, end) for track, _, begin, end, _ in drawn if track == "host"]
    assert all(begin <= end for _, _, begin, end, _ in drawn)
    assert all(a[1] == pytest.approx(b[0]) for a, b in zip(host, host[1:]))
    assert max(end for _, _, _, end, _ in drawn) == pytest.approx(estimate.total)


def test_shipped_costs_and_files(tmp_path: Path) -> None:
    shipped = costs.default()
    assert shipped.sync > shipped.launch > 0
    assert not shipped.measured
    (tmp_path / "l.json").write_text(json.dumps({"launch": 3, "sync": 9}))
    loaded = costs.load(tmp_path / "l.json")
    assert (loaded.launch, loaded.sync, loaded.copy) == (3, 9, shipped.copy)
    assert loaded.measured


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"launch": -1}', '{"launch": "x"}', '{"launch": true}'])
def test_a_bad_latency_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "l.json").write_text(text)
    with pytest.raises(UserError):
        costs.load(tmp_path / "l.json")


@pytest.mark.parametrize("bad", ["0", "-1", "NaN", "Infinity", "true", '"x"', "1e400"])
def test_a_latency_is_a_positive_number(tmp_path: Path, bad: str) -> None:
    """Nought as a bandwidth was a division by zero, NaN a forecast of NaN."""
    path = tmp_path / "latency.json"
    path.write_text(f'{{"memory_gb_s": {bad}}}', encoding="utf-8")
    with pytest.raises(UserError) as caught:
        costs.load(path)
    assert "memory_gb_s" in str(caught.value)
