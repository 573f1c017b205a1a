"""Vendor codes: table, look-up in every spelling, word search."""

from __future__ import annotations

import pytest

from npudoctor.symptoms.codes import all_codes, looks_like_code, rows_for, search, symptoms_for
from npudoctor.symptoms.rows import all_symptoms


def test_table_covers_the_families() -> None:
    families = [row.family for row in all_codes().values()]
    assert families.count("ACL") >= 161
    assert families.count("DCMI") == 19
    assert {"CANN", "torch_npu"} <= set(families)


@pytest.mark.parametrize(
    "code", ["507008", "-8005", "8005", "ei0006", "EZ9999", "ERR99999", "0x7020014", "NPU9001"]
)
def test_spellings_of_codes(code: str) -> None:
    assert looks_like_code(code)


@pytest.mark.parametrize("text", ["train.log", "reward", "5.1", "E1", ""])
def test_other_words_are_no_codes(text: str) -> None:
    assert not looks_like_code(text)


@pytest.mark.parametrize(
    ("code", "symptom"),
    [
        ("507008", "chip-version-unreadable"), ("EI0006", "hccl-timeout"), ("-8005", "dcmi-8005"),
        ("8005", "dcmi-8005"), ("EJ0001", "hccl-hccp-busy"), ("507033", "device-start-failed"),
        ("ERR99999", "exit-hook"), ("EH9999", "inner-error"), ("507018", "ai-cpu-operator-failed"),
    ],
)
def test_codes_lead_to_symptoms(code: str, symptom: str) -> None:
    assert symptom in {s.id for s in symptoms_for(code)}
    assert rows_for(code), "and the table has their meaning"


@pytest.mark.parametrize("code", ["-8005", "EJ0001", "507033"])
def test_ambiguous_codes_have_several_causes_with_tests(code: str) -> None:
    (symptom,) = symptoms_for(code)
    assert len(symptom.candidates) >= 3
    tests = {c.test.en for c in symptom.candidates}
    assert len(tests) == len(symptom.candidates)


def test_every_code_of_a_symptom_is_known() -> None:
    unknown = {c for s in all_symptoms() for c in s.codes if not rows_for(c)}
    assert unknown <= {"161002", "561103", "507057"}, "codes outside the published header"


@pytest.mark.parametrize(
    ("words", "symptom"),
    [
        ("slow inference", "slow-inference"), ("推理慢", "slow-inference"), ("reward flat", "reward-flat"),
        ("loss fine but reward flat", "reward-flat"), ("NaN", "nan-in-training"),
        ("out of memory", "npu-out-of-memory"),
        ("Device not ready", "device-not-ready"), ("is_available False", "is-available-false"),
        ("import failure", "torch-npu-not-installed"), ("rollout buffer", "npu-out-of-memory"),
    ],
)
def test_words_find_the_seven_common_troubles(words: str, symptom: str) -> None:
    assert search(words)[0].id == symptom


def test_no_words_find_nothing() -> None:
    assert search("") == ()
    assert search("xyzzy") == ()
