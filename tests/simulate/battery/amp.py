"""Autocast casts what torch_npu casts, operator by operator."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.simulate.battery.tools import fails, same

HALF, SINGLE = torch.float16, torch.float32


def check_autocast_follows_torch_npu() -> None:
    x, w = torch.randn(4, 4, device="npu"), torch.randn(4, 4, device="npu")
    with torch.autocast("npu", dtype=HALF):
        y = x @ w
        assert y.dtype == HALF
        for result in (y.exp(), y.sum(), y.softmax(-1), y.cumsum(0), y.norm(), torch.linalg.vector_norm(y),
                       functional.layer_norm(y, (4,)), functional.mse_loss(y, y), torch.addcmul(y, x, y)):
            assert result.dtype == SINGLE
        assert y.softmax(-1, dtype=HALF).dtype == HALF, "a type that the caller names stands"
        assert (y + y).dtype == HALF
        assert torch.nn.LSTM(4, 4).to("npu")(x)[0].dtype == SINGLE, "a recurrent layer is not cast"
        fails(lambda: functional.binary_cross_entropy(x.sigmoid(), x.sigmoid()), RuntimeError, "unsafe")
    assert (x @ w).dtype == SINGLE


def check_gradient_scaling_trains_like_the_cpu() -> None:
    def train(device: str) -> list[torch.Tensor]:
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        scaler = torch.amp.GradScaler(device, init_scale=2.0**30, growth_interval=2)
        for step in range(6):
            loss = model(torch.randn(5, 6).to(device)).square().mean()
            if step == 3:
                loss = loss * float("inf")  # overflow: this step is left out, the scale is halved
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        return [*model.parameters(), torch.tensor(scaler.get_scale()).to(device)]

    for host, device in zip(train("cpu"), train("npu")):
        same(host, device)
