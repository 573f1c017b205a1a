"""Random numbers: the CPU's, with the same seed."""

from __future__ import annotations

import torch
from torch import distributions
from torch.nn import functional

from tests.simulate.battery.tools import same


def check_factories_draw_the_cpu_numbers() -> None:
    for name in ("rand", "randn", "randperm"):
        torch.manual_seed(1)
        host = getattr(torch, name)(5)
        torch.manual_seed(1)
        same(host, getattr(torch, name)(5, device="npu"))


def check_distributions() -> None:
    one = torch.rand(3) + 0.1
    makers = {
        "Normal": lambda t: (t, t), "Beta": lambda t: (t, t), "Gamma": lambda t: (t, t),
        "Bernoulli": lambda t: (t / 2,), "Exponential": lambda t: (t,), "Dirichlet": lambda t: (t,),
        "Uniform": lambda t: (t, t + 1), "Laplace": lambda t: (t, t), "Categorical": lambda t: (t,),
        "StudentT": lambda t: (t,), "Poisson": lambda t: (t,),
    }
    for name, arguments in makers.items():
        drawn = []
        for values in (one, one.to("npu")):
            torch.manual_seed(2)
            distribution = getattr(distributions, name)(*arguments(values))
            sample = distribution.sample()
            drawn.append((sample, distribution.log_prob(sample)))
        same(drawn[0][0], drawn[1][0])
        same(drawn[0][1], drawn[1][1])


def check_generators() -> None:
    generator = torch.Generator(device="npu")
    generator.manual_seed(3)
    assert generator.device.type == "npu"
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    same(torch.randn(4, generator=torch.Generator().manual_seed(3)),
         torch.randn(4, device="npu", generator=generator))


def check_a_seed_of_its_own() -> None:
    torch.manual_seed(1)
    torch.npu.manual_seed(5)
    first = torch.randn(3, device="npu")
    host = torch.randn(3)
    torch.npu.manual_seed(5)
    assert torch.equal(first, torch.randn(3, device="npu"))
    torch.manual_seed(1)
    assert torch.equal(host, torch.randn(3)), "the device's own seed must not disturb the host's numbers"


def check_state_round_trip() -> None:
    state = torch.npu.get_rng_state()
    first = torch.randn(3, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(first, torch.randn(3, device="npu"))


def check_dropout() -> None:
    host = torch.randn(50, 50)
    torch.manual_seed(0)
    first = functional.dropout(host, 0.3)
    torch.manual_seed(0)
    same(first, functional.dropout(host.to("npu"), 0.3))
