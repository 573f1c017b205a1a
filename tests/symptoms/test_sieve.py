"""The sieve: learning changes the way, never the answer."""

from __future__ import annotations

import random
from pydoc_data.topics import topics

import pytest

from npudoctor.symptoms import sieve
from npudoctor.symptoms.probes import compile_probes
from npudoctor.symptoms.rows import all_symptoms

PROBES = compile_probes(all_symptoms())
EXAMPLES = [e for row in all_symptoms() for e in row.examples]


def text(seed: int) -> bytes:
    rng = random.Random(seed)
    words = " ".join(topics.values()).split()
    lines = [" ".join(rng.choices(words, k=12)) for _ in range(2000)] + EXAMPLES
    rng.shuffle(lines)
    return "\n".join(lines).encode().translate(bytes.maketrans(b"123456789", b"0" * 9))


def test_learned_and_plain_way_find_the_same_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = sieve.Sieve(PROBES)
    expected = plain.lines(text(1))
    monkeypatch.setattr(sieve, "LEARN", 0)
    learned = sieve.Sieve(PROBES)
    assert learned.lines(text(1)) == expected
    assert learned._stems
    assert len(expected) >= len({e for e in EXAMPLES if "\n" not in e}) * 0.9


def test_every_literal_is_covered_by_a_stem() -> None:
    needs = tuple(sorted({n for p in PROBES for n in p.need}))
    stems = sieve.learn(needs, text(2)[:10_000])
    covered = [need for stem, found in stems for need in found if stem in need]
    assert sorted(covered) == sorted(needs)
    assert len(stems) < len(needs) / 2


def test_first_and_last_line_count() -> None:
    some = sieve.Sieve(PROBES)
    line = b"RuntimeError: Tensors must be contiguous"
    assert set(some.lines(line)) == {line}
    assert set(some.lines(b"x\n" + line + b"\ny")) == {line}
    assert set(some.lines(line + b"\n" + b"EI0000: y")) == {line, b"EI0000: y"}
