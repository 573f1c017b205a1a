"""Distributions without validation give the same numbers; the table's counts are what torch does."""

from __future__ import annotations

import pytest
import torch

from npudoctor.migrate.sync.validation import checks
from tests.migrate.sync.equal import CountReads, bits, migrated, outcome

P = torch.tensor([0.2, 0.3, 0.5])
V = torch.tensor([1.0, 2.0, 3.0])
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "Normal": (V, V),
    "Categorical": (P,),
    "Bernoulli": (P,),
    "Beta": (V, V),
    "Gamma": (V, V),
    "Dirichlet": (V,),
    "MultivariateNormal": (V, torch.eye(3)),
    "Laplace": (V, V),
    "LogNormal": (V, V),
    "Exponential": (V,),
    "Poisson": (V,),
    "StudentT": (V, V, V),
    "Uniform": (-V, V),
    "OneHotCategorical": (P,),
    "RelaxedOneHotCategorical": (torch.tensor(1.0), P),
    "RelaxedBernoulli": (torch.tensor(1.0), P),
    "Geometric": (P,),
    "Cauchy": (V, V),
    "HalfNormal": (V,),
    "Gumbel": (V, V),
    "VonMises": (V, V),
    "Kumaraswamy": (V, V),
    "LowRankMultivariateNormal": (V, torch.ones(3, 1), V),
    "ContinuousBernoulli": (P,),
    "Multinomial": (3, P),
    "NegativeBinomial": (torch.tensor(3.0), P),
}


def build(name: str, **options: bool) -> torch.distributions.Distribution:
    made: torch.distributions.Distribution = getattr(torch.distributions, name)(*ARGUMENTS[name], **options)
    return made


@pytest.mark.parametrize("name", sorted(checks()))
def test_counts_of_the_table(name: str) -> None:
    with CountReads() as counter:
        made = build(name)
        construct = counter.reads
    sample = made.sample()
    with CountReads() as counter:
        made.log_prob(sample)
    assert (construct, counter.reads) == (checks()[name].construct, checks()[name].log_prob)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(checks()))
def test_same_bits_without_validation(name: str, seed: int) -> None:
    torch.manual_seed(seed)
    on = build(name)
    first = on.sample()
    torch.manual_seed(seed)
    off = build(name, validate_args=False)
    assert bits(off.sample()) == bits(first)
    assert bits(off.log_prob(first)) == bits(on.log_prob(first))


PROGRAM = """
import torch
from torch.distributions import Normal


def program(seed, bad):
    torch.manual_seed(seed)
    net = torch.nn.Linear(3, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    batches = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(4)]
    if bad:
        batches[1][0][0, 0] = float("nan")
    for x, a in batches:
        loss = -Normal(net(x), 1.0).log_prob(a).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return list(net.parameters())
"""


TERM = "-Normal(net(x), 1.0).log_prob(a).mean()"
NAMED = f"        loss = {TERM}\n        opt.zero_grad()\n        loss.backward()\n"
ZERO = "        opt.zero_grad()\n"
FORMS = {
    "named": NAMED,
    "unnamed": f"{ZERO}        ({TERM} * 2 + 1).backward()\n",
    "over lines": f"{ZERO}        (\n            {TERM}\n            - 1\n        ).backward()\n",
    "two": f"{ZERO}        v = net(x).mean()\n        v.backward()\n        ({TERM}).backward()\n",
    "reduced": f"{ZERO}        (-Normal(net(x), 1.0).log_prob(a)).mean().backward()\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_program_keeps_its_numbers_and_still_raises_on_nan(seed: int, form: str) -> None:
    source = PROGRAM.replace(NAMED, FORMS[form])
    after = migrated(source, unsafe=True)
    assert "validate_args=False" in after
    expected, reads_before = outcome(source, seed, False)
    actual, reads_after = outcome(after, seed, False)
    assert actual == expected
    assert reads_before >= 12
    assert reads_after == 1
    assert outcome(source, seed, True)[0][0] == ("raised", "ValueError")
    assert outcome(after, seed, True)[0][0] == ("raised", "ValueError")


@pytest.mark.parametrize("kept", ["retain_graph=True", "create_graph=True", "**options"])
def test_a_loss_whose_graph_is_kept_gets_no_name(kept: str) -> None:
    unnamed = PROGRAM.replace(NAMED, f"{ZERO}        ({TERM}).backward({kept})\n")
    assert migrated(unnamed, unsafe=True) == unnamed  # the graph would live through the next forward
    named = PROGRAM.replace(NAMED, NAMED.replace("backward()", f"backward({kept})"))
    assert "validate_args=False" in migrated(named, unsafe=True)


def test_no_name_is_added_where_names_are_looked_at() -> None:
    source = PROGRAM.replace(NAMED, FORMS["unnamed"]).replace(
        "return list", "print(locals())\n    return list"
    )
    assert migrated(source, unsafe=True) == source


def test_nothing_happens_without_permission() -> None:
    assert migrated(PROGRAM) == PROGRAM
