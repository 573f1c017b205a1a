"""The resolver: what fits, in which order, and what mends a set that does not exist."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.pairing.solve import PARTS, Query, Solution, known_canns, solve
from npudoctor.pairing.table import WORKS, DriverRelation, Relation, load
from npudoctor.pairing.versions import base_release, vendor


def run(**parts: str) -> Solution:
    return solve(load(), Query(**parts))


def best(**parts: str) -> tuple[str, str, str]:
    first = run(**parts).candidates[0]
    return first.row.torch, first.row.torch_npu, str(first.cann)


def test_nothing_given_recommends_what_the_vendor_recommends() -> None:
    assert best() == ("2.12.0", "2.12.0", "9.1.0")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"torch": "2.7.1"}, ("2.7.1", "2.7.1.post8", "9.1.0")),
        ({"cann": "8.3.RC1"}, ("2.8.0", "2.8.0", "8.3.RC1")),
        ({"cann": "8.0.0.beta1"}, ("2.4.0", "2.4.0.post2", "8.0.0.beta1")),
        ({"torch_npu": "2.7.1.post2"}, ("2.7.1", "2.7.1.post2", "8.5.0")),
        ({"driver": "24.1.rc2.2"}, ("2.6.0", "2.6.0", "8.2.RC1")),
        ({"torch": "2.1.0", "python": "3.8"}, ("2.1.0", "2.1.0.post17", "8.3.RC1")),
        ({"driver": "23.0.3"}, ("2.1.0", "2.1.0", "7.0.0")),
    ],
)
def test_best_set(parts: dict[str, str], expected: tuple[str, str, str]) -> None:
    assert run(**parts).verdict == "fits"
    assert best(**parts) == expected


def test_new_torch_wanted_on_an_old_cann() -> None:
    """A real request: torch 2.5.1 on a host whose CANN stays 8.0.RC2."""
    found = run(torch="2.5.1", cann="8.0.RC2", python="3.10", chip="910b")
    assert found.verdict == "compatible-only"
    assert found.conflicts == (("torch", "cann"),)
    by_part = {change.parts: change.candidate for change in found.changes}
    kept_cann, kept_torch = by_part[("torch",)], by_part[("cann",)]
    assert (kept_cann.row.torch_npu, str(kept_cann.cann)) == ("2.3.1", "8.0.RC2")
    assert (kept_torch.row.torch_npu, str(kept_torch.cann)) == ("2.5.1", "8.1.RC1")
    assert all(c.relation is Relation.COMPATIBLE for c in found.candidates)


def test_the_nearest_change_is_named() -> None:
    changes = {c.parts: c.candidate for c in run(torch="2.9.0", python="3.8").changes}
    assert changes[("python",)].python == "3.10"
    assert changes[("torch",)].row.torch == "2.4.0"
    other = {c.parts: c.candidate for c in run(torch="2.9.0", torch_npu="2.7.1").changes}
    assert other[("torch",)].row.torch == "2.7.1"
    assert other[("torch_npu",)].row.torch == "2.9.0"


def test_a_torch_without_torch_npu_points_to_its_neighbour() -> None:
    found = run(torch="2.7.0")
    assert found.verdict == "no-set"
    assert found.conflicts == (("torch", "torch"),)
    assert found.changes[0].candidate.row.torch == "2.7.1"


def test_two_faults_at_once() -> None:
    found = run(torch="2.12.0", driver="24.1.0", python="3.8")
    assert set(found.conflicts) == {("torch", "python"), ("torch", "driver")}
    assert found.changes


def test_unknown_is_not_wrong() -> None:
    assert run(torch="2.99.0").verdict == "unknown"
    assert run(cann="19.0.0").unknown == ("cann",)
    silent = run(torch_npu="2.12.0.post3")
    assert silent.verdict == "undocumented"
    assert silent.undocumented[0].torch_npu == "2.12.0.post3"
    assert not silent.conflicts


def test_every_release_with_a_documented_cann_has_a_set() -> None:
    for row in load().pairs:
        found = run(torch_npu=row.torch_npu)
        if row.cann_known:
            assert found.candidates, row.torch_npu
            assert found.candidates[0].row is row


CANNS = [str(c) for c in known_canns(load())]
TORCHES = sorted({row.torch for row in load().pairs})
DRIVERS = [
    "23.0.3", "24.1.rc2.2", "24.1.0", "25.0.rc1.1", "25.2.0", "25.3.rc1", "25.5.1", "26.0.rc1", "25.7.rc1",
]
PYTHONS = ["3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]


def _maybe(values: list[str]) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(values)


@settings(max_examples=60, deadline=None)
@given(_maybe(TORCHES), _maybe(CANNS), _maybe(PYTHONS), _maybe(DRIVERS))
def test_every_set_holds_what_was_given(
    torch: str | None, cann: str | None, python: str | None, driver: str | None
) -> None:
    query = Query(torch=torch, cann=cann, python=python, driver=driver)
    found = solve(load(), query)
    for c in found.candidates:
        assert torch in (None, c.row.torch)
        assert cann is None or vendor(cann) == c.cann
        assert python in (None, c.python)
        assert not c.row.python or c.python in c.row.python
        assert load().relation(c.row, c.cann) in WORKS
        assert c.driver not in (DriverRelation.TOO_OLD, DriverRelation.INCOMPATIBLE)
        assert str(base_release(c.row.torch_npu)) == c.row.torch
    if found.verdict == "no-set":
        assert found.conflicts or len(query.given()) > 2
        for change in found.changes:
            fixed = {k: v for k, v in query.given().items() if k not in change.parts}
            again = solve(load(), Query(**{**fixed, "torch_npu": change.candidate.row.torch_npu}))
            assert again.verdict == "fits", (change, fixed)


def test_tiers_order_the_answer() -> None:
    tiers = [candidate.tier for candidate in run().candidates]
    assert len(set(tiers)) > 2
    assert tiers == sorted(tiers)


def test_parts_are_the_fields_of_a_query() -> None:
    assert set(PARTS) <= set(vars(Query()))


def test_an_unknown_part_is_in_no_set() -> None:
    found = run(python="2.7")
    assert (found.verdict, found.candidates) == ("unknown", ())


def test_pythons_that_no_table_names_are_bounded_by_the_neighbours() -> None:
    assert run(torch="2.14.0", python="3.11").candidates
    assert not run(torch="2.14.0", python="3.8").candidates
    mended = run(torch="2.1.0", cann="8.5.0", python="3.12", driver="23.0.3").changes
    assert mended
    assert all(change.candidate.python_known for change in mended)


@pytest.mark.parametrize(("line", "release"), [("8.3", "8.3.RC1"), ("8.2", "8.2.RC1"), ("9.1", "9.1.0")])
def test_a_line_of_cann_means_its_releases(line: str, release: str) -> None:
    assert str(run(cann=line).candidates[0].cann) == release


def test_a_chip_without_operators_in_an_old_cann() -> None:
    assert run(cann="8.0.0", chip="910b").candidates
    assert not run(cann="8.0.0", chip="950").candidates
    assert all(c.cann.line >= (8, 5) for c in run(chip="950").candidates)


@pytest.mark.parametrize(
    ("more", "tier"),
    [
        ({"cann": "8.3.RC1"}, 0),
        ({"cann": "8.3.RC1.alpha003"}, 1),  # the same release series
        ({"cann": "8.3.RC2"}, 1),  # tested by another project
        ({"cann": "8.2.RC2"}, 4),  # only compatible
        ({"cann": "8.3.RC1", "driver": "25.3.rc1"}, 0),
        ({"cann": "8.3.RC1", "driver": "25.2.0"}, 4),  # older than the paired one
        ({"cann": "8.2.RC2", "driver": "25.7.rc1"}, 8),  # and a driver that is not judged
    ],
)
def test_reservations_weigh_what_the_manual_says(more: dict[str, str], tier: int) -> None:
    assert run(torch_npu="2.7.1", python="3.11", **more).candidates[0].tier == tier
