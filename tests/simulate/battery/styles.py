"""Programs in many styles: each gives the CPU's bits on the device."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch import distributions, nn
from torch.nn import functional

from tests.simulate.battery.tools import same


def flat(value: Any) -> list[torch.Tensor]:
    """Every tensor of nested results."""
    if isinstance(value, torch.Tensor):
        return [value.detach()]
    items = value.values() if isinstance(value, dict) else value
    return [tensor for item in items for tensor in flat(item)]


def alike(program: Callable[[str], Any]) -> None:
    """`program(device)` gives the same tensors on both."""
    results = []
    for device in ("cpu", "npu"):
        torch.manual_seed(0)
        results.append(flat(program(device)))
    assert len(results[0]) == len(results[1]) > 0
    for host, device in zip(*results):
        same(host, device if device.device.type == "npu" else device.to("npu"))


def check_functional_transforms() -> None:
    def program(d: str) -> Any:
        w, x = torch.randn(3, 2).to(d), torch.randn(4, 3).to(d)
        v = torch.randn(4).to(d)

        def loss(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x @ w).pow(2).sum()

        return [torch.func.grad(loss)(w, x), torch.func.jacrev(lambda v: v.sin() * v.sum())(v),
                torch.func.jacfwd(lambda v: v.exp() * v)(v), torch.func.hessian(lambda v: (v**3).sum())(v),
                torch.vmap(lambda a: a.sort()[0])(x), torch.vmap(torch.func.grad(loss), (None, 0))(w, x)]

    alike(program)


def check_an_ensemble_under_vmap() -> None:
    def program(d: str) -> Any:
        models = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(d) for _ in range(3)]
        parameters, buffers = torch.func.stack_module_state(models)
        base = copy.deepcopy(models[0])

        def one(p: Any, b: Any, x: torch.Tensor) -> Any:
            return torch.func.functional_call(base, (p, b), (x,))

        return torch.vmap(one, (0, 0, None))(parameters, buffers, torch.randn(7, 3).to(d))

    alike(program)


def check_custom_functions_hooks_and_double_backward() -> None:
    class Ramp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return gradient * (x > 0)

    def program(d: str) -> Any:
        x = torch.randn(5).to(d).requires_grad_()
        x.register_hook(lambda g: g * 3)
        Ramp.apply(x).sum().backward()
        y = torch.randn(5).to(d).requires_grad_()
        (first,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
        first.pow(2).sum().backward()
        return [x.grad, y.grad]

    alike(program)


def check_writing_through_views() -> None:
    def program(d: str) -> Any:
        x = torch.zeros(4, 5).to(d)
        x[1:3].add_(1)
        x.t()[0].mul_(3)
        x[:, ::2].fill_(7)
        x.view(-1)[3] = 9
        x.diagonal().zero_()
        x.T.copy_(torch.arange(20.0).view(5, 4).to(d) + x.T)
        y = torch.randn(4).to(d).requires_grad_()
        z = y * 2
        z[1:] *= 3
        z[0] = 5
        z.sum().backward()
        return [x, x.unfold(1, 2, 1), y.grad]

    alike(program)


def check_copies_pickles_and_files() -> None:
    def program(d: str) -> Any:
        model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).to(d)
        optimizer = torch.optim.Adam(model.parameters())
        twin = copy.deepcopy(model)
        model(torch.randn(5, 3).to(d)).pow(2).sum().backward()
        optimizer.step()
        again = pickle.loads(pickle.dumps(optimizer))
        file = io.BytesIO()
        torch.save([model, torch.arange(4.0).to(d)[1:3]], file)
        file.seek(0)
        stored = torch.load(file, weights_only=False)
        state = [v for s in again.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
        return [*twin.parameters(), *model.buffers(), *stored[0].parameters(), stored[1], *state]

    alike(program)


def check_every_distribution() -> None:
    def program(d: str) -> Any:
        p, a = torch.tensor([0.2, 0.3, 0.5]).to(d), (torch.rand(4) + 0.5).to(d)
        half, five, m = torch.tensor(0.5).to(d), torch.tensor(5.0).to(d), (torch.eye(3) * 2 + 0.1).to(d)
        zero = torch.zeros(3).to(d)
        many = [getattr(distributions, name)(a, a + 1) for name in (
            "Normal", "Beta", "Gamma", "Laplace", "LogNormal", "Uniform", "Gumbel", "Cauchy", "Weibull",
            "VonMises", "Kumaraswamy", "Pareto", "FisherSnedecor", "InverseGamma")]
        many += [getattr(distributions, name)(a) for name in (
            "Dirichlet", "Exponential", "Poisson", "HalfNormal", "HalfCauchy", "StudentT", "Chi2")]
        many += [getattr(distributions, name)(p) for name in (
            "Categorical", "Bernoulli", "Geometric", "OneHotCategorical", "ContinuousBernoulli")]
        many += [distributions.MultivariateNormal(zero, m), distributions.RelaxedBernoulli(half, p),
                 distributions.RelaxedOneHotCategorical(half, p), distributions.Multinomial(5, p),
                 distributions.Binomial(five, p), distributions.NegativeBinomial(five, p),
                 distributions.Independent(distributions.Normal(a, a), 1),
                 distributions.TransformedDistribution(distributions.Normal(a, a),
                                                       [distributions.TanhTransform(cache_size=1)]),
                 distributions.MixtureSameFamily(distributions.Categorical(p), distributions.Normal(p, p)),
                 distributions.LKJCholesky(3, half), distributions.Wishart(five, m)]
        found = []
        for one in many:
            sample = one.sample((2,))
            found += [sample, one.log_prob(sample)]
        return found

    alike(program)


def check_recurrent_layers_and_attention() -> None:
    def program(d: str) -> Any:
        found: list[Any] = []
        for cls in (nn.LSTM, nn.GRU, nn.RNN):
            layer = cls(3, 4, num_layers=2, bidirectional=True).to(d)
            x = torch.randn(5, 2, 3).to(d).requires_grad_()
            layer(x)[0].sum().backward()
            found += [x.grad, *(p.grad for p in layer.parameters())]
        packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 3, 3).to(d), torch.tensor([5, 3, 2]))
        found += [nn.utils.rnn.pad_packed_sequence(nn.LSTM(3, 4).to(d)(packed)[0])[0]]
        attention = nn.MultiheadAttention(8, 2, batch_first=True).to(d)
        x = torch.randn(2, 5, 8).to(d)
        q = torch.randn(2, 2, 5, 4).to(d)
        return [*found, *attention(x, x, x), nn.TransformerEncoderLayer(8, 2, 16).to(d)(x),
                functional.scaled_dot_product_attention(q, q, q, is_causal=True)]

    alike(program)


def check_scripts_traces_and_graphs() -> None:
    def program(d: str) -> Any:
        model, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(d), torch.randn(4, 3).to(d)
        traced = torch.jit.trace(model, x)
        file = io.BytesIO()
        torch.jit.save(traced, file)
        file.seek(0)
        compiled = torch.compile(model, fullgraph=True) if d == "npu" else model
        return [traced(x), torch.jit.load(file, map_location=d)(x), torch.fx.symbolic_trace(model)(x),
                torch.export.export(model, (x,)).module()(x), compiled(x)]

    alike(program)


def check_optimizers() -> None:
    def program(d: str) -> Any:
        found: list[Any] = []
        # Left to itself PyTorch loops over the parameters on the CPU and not on accelerators, and for
        # some optimizers the two differ in the last bit.
        loops = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "RAdam", "NAdam", "ASGD")
        cases: list[tuple[str, dict[str, Any]]] = [(n, {"foreach": f}) for n in loops for f in (True, False)]
        cases += [("Adam", {}), ("AdamW", {}), ("Adam", {"amsgrad": True, "foreach": True}),
                  ("Adam", {"fused": True}), ("LBFGS", {})]
        for name, options in cases:
            model = nn.Linear(4, 3).to(d)
            optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01, **options)
            x = torch.randn(6, 4).to(d)

            def loss(model: Any = model, optimizer: Any = optimizer, x: Any = x) -> torch.Tensor:
                optimizer.zero_grad()
                value: torch.Tensor = model(x).pow(2).mean()
                value.backward()
                return value

            for _ in range(3):
                optimizer.step(loss)
            found += model.parameters()
        return found

    alike(program)


def check_generators_draw_what_the_host_s_draw() -> None:
    def program(d: str) -> Any:
        generator = torch.Generator(device=d).manual_seed(7)
        state = generator.get_state()
        found = [torch.rand(4, generator=generator, device=d),
                 torch.randperm(8, generator=generator, device=d),
                 torch.randint(0, 9, (5,), generator=generator, device=d)]
        generator.set_state(state)
        ones = torch.ones(5).to(d)
        return [*found, torch.multinomial(ones, 3, generator=generator),
                torch.empty(3, device=d).normal_(generator=generator),
                torch.bernoulli(ones / 2, generator=generator)]

    alike(program)
