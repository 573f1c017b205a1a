"""Comparing numbers: the original's own noise is left out, everything else counts."""

from __future__ import annotations

import re

import numpy as np

from npudoctor.simulate.compare import compare_lines, compare_scalars, compare_weights

SPEED = re.compile(r"(?i)\bsps\b")


def test_equal_lines_have_no_difference_and_devices_do_not_matter() -> None:
    first = ["loss 0.5 on cuda:0", "SPS: 100"]
    result = compare_lines(first, first, ["loss 0.5 on npu:0", "SPS: 7"], SPEED)
    assert result.differences == ()
    assert result.compared == 1


def test_a_changed_number_is_found() -> None:
    first = ["loss 0.5"]
    (difference,) = compare_lines(first, first, ["loss 0.25"], SPEED).differences
    assert (difference.original, difference.migrated) == ("0.5", "0.25")


def test_what_the_original_does_not_repeat_is_noise() -> None:
    result = compare_lines(["took 1.5"], ["took 1.7"], ["took 9.9"], SPEED)
    assert result.differences == ()
    assert result.noisy == 1


def test_the_name_of_the_device_may_differ() -> None:
    first = ["Device set to : cpu"]
    other = ["Device set to : Ascend910B3 (simulated)"]
    assert compare_lines(first, first, other, SPEED).differences == ()


def test_a_line_about_the_device_may_be_there_on_one_device_only() -> None:
    first = ["step 1 loss 0.5", "step 2 loss 0.25"]
    other = ["training on Ascend910B3 (simulated)", *first]
    assert compare_lines(first, first, other, SPEED).differences == ()
    (difference,) = compare_lines(first, first, [*other[:2], "step 2 loss 0.75"], SPEED).differences
    assert (difference.original, difference.migrated) == ("0.25", "0.75")


def test_clocks_are_not_results() -> None:
    first = ["started 2026-01-02 10:20:30, took 0:00:05"]
    other = ["started 2026-01-03 11:21:31, took 0:01:07"]
    assert compare_lines(first, first, other, SPEED).differences == ()


def test_a_missing_line_is_found() -> None:
    first = ["a 1", "b 2"]
    assert compare_lines(first, first, ["a 1"], SPEED).differences


def test_scalars_and_weights() -> None:
    first = [("loss", "0.5", 1)]
    assert compare_scalars(first, first, [("loss", "0.5", 1)]).differences == ()
    assert compare_scalars(first, first, [("loss", "0.6", 1)]).differences
    assert compare_scalars(first, first, []).differences
    weights = {"w": np.zeros(2, np.float32)}
    assert compare_weights(weights, weights, {"w": np.zeros(2, np.float32)}).differences == ()
    assert "1" in compare_weights(weights, weights, {"w": np.ones(2, np.float32)}).differences[0].migrated


def test_scalars_of_other_tags_or_steps_are_not_compared_with_each_other() -> None:
    first = [("loss", "0.5", 1), ("kl", "0.1", 1)]
    assert compare_scalars(first, first, first).compared == 2
    for other in ([("loss", "0.5", 1), ("entropy", "0.1", 1)], [("loss", "0.5", 1), ("kl", "0.1", 2)]):
        result = compare_scalars(first, first, other)
        assert (result.compared, [d.name for d in result.differences]) == (0, ["tags and steps"])
    again = [("loss", "0.5", 1), ("kl", "0.2", 1)]
    noisy = compare_scalars(first, again, [("loss", "0.5", 1), ("kl", "9", 1)])
    assert (noisy.compared, noisy.noisy, noisy.differences) == (1, 1, ())


def test_weights_count_what_the_original_repeats() -> None:
    one, two = np.zeros(2, np.float32), np.ones(2, np.float32)
    first, again = {"w": one, "b": one}, {"w": one, "b": two}
    noisy = compare_weights(first, again, {"w": one, "b": two * 7})
    assert (noisy.compared, noisy.noisy, noisy.differences) == (1, 1, ())
    (difference,) = compare_weights(first, first, {"w": one, "b": np.zeros(3, np.float32)}).differences
    assert (difference.original, difference.migrated) == ("(2,)", "(3,)")
    missing = compare_weights(first, first, {"w": one})
    assert (missing.compared, [d.name for d in missing.differences]) == (0, ["parameters"])
    (gap,) = compare_weights({"w": one}, {"w": one}, {"w": np.array([0, -2.5], np.float32)}).differences
    assert "2.5" in gap.migrated
