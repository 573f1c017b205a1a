"""Views, in-place operators, indexing, autograd: values equal the CPU's, memory is shared as there."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.simulate.battery.tools import fails, same


def check_views_share_memory() -> None:
    device = torch.randn(4, 3).to("npu")
    view = device[1:3]
    view.zero_()
    assert device[1:3].abs().sum().item() == 0
    assert view._base is device
    device.data[0] = 9
    assert device.detach()[0, 0].item() == 9
    assert device.t().is_contiguous() is False
    assert device.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()


def check_indexing() -> None:
    host = torch.randn(5, 4)
    device = host.to("npu")
    same(host[[0, 2]], device[[0, 2]])
    same(host[np.array([1, 2])], device[np.array([1, 2])])
    same(host[host > 0], device[device > 0])
    same(host[:, None, 1:3], device[:, None, 1:3])
    for tensor in (host, device):
        tensor[1] = 3.0
        tensor[tensor > 0] = -1.0
        tensor[[0, 1], [1, 2]] = 5.0
        tensor[:, 0] += 2
    device[2] = torch.ones(4)
    host[2] = torch.ones(4)
    same(host, device)


def check_out_and_resize() -> None:
    host = torch.randn(4, 3)
    device, out = host.to("npu"), torch.empty(0, device="npu")
    torch.add(device, device, out=out)
    same(host + host, out)
    wide = torch.zeros(8, 3, device="npu")
    torch.mul(device, 2, out=wide[:4])
    same(host * 2, wide[:4])
    assert torch.ones(4, device="npu").resize_(10).shape == (10,)


def check_joining_and_products() -> None:
    host = torch.randn(4, 3)
    device = host.to("npu")
    same(torch.stack([host, host], 1), torch.stack([device, device], 1))
    same(torch.where(host > 0, host, 0.0), torch.where(device > 0, device, 0.0))
    same(torch.einsum("ij,kj->ik", host, host), torch.einsum("ij,kj->ik", device, device))
    same(host.flatten().sort()[0], device.flatten().sort()[0])
    same(torch.fft.ifft(host), torch.fft.ifft(device))
    square = host.t() @ host + torch.eye(3)
    same(torch.linalg.cholesky(square), torch.linalg.cholesky(square.to("npu")))


def check_gradients() -> None:
    host = torch.randn(4, 3)

    def twice(tensor: torch.Tensor) -> torch.Tensor:
        (first,) = torch.autograd.grad((tensor**3).sum(), tensor, create_graph=True)
        return torch.autograd.grad(first.sum(), tensor)[0]

    same(twice(host.clone().requires_grad_()), twice(host.to("npu").requires_grad_()))
    leaf = torch.ones(3, device="npu", requires_grad=True)
    fails(lambda: leaf.add_(1), RuntimeError, "a leaf Variable that requires grad")
    checkpoint(lambda t: (t * 2).relu(), leaf, use_reentrant=False).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.device.type == "npu"


def check_custom_function_and_transforms() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return x * 2

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return g * 2

    host = torch.randn(4, 3)
    x = host.to("npu").requires_grad_()
    Double.apply(x).sum().backward()
    assert x.grad.sum().item() == 24
    same(host.sum(1) * 2, torch.func.vmap(lambda t: t.sum() * 2)(host.to("npu")))


def check_reading_values() -> None:
    host = torch.randn(3)
    device = host.to("npu")
    assert device.tolist() == host.tolist()
    assert "npu:0" in repr(device)
    assert f"{device.sum():.3f}" == f"{host.sum():.3f}"
    assert float(device.sum()) == float(host.sum())
    assert [1, 2, 3][torch.tensor(1, device="npu")] == 2
    assert type(device) is torch.Tensor


def check_networks() -> None:
    torch.manual_seed(0)
    image = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2), nn.ReLU(), nn.BatchNorm2d(8), nn.MaxPool2d(2))
    cases = (
        (image, torch.randn(2, 4, 20, 20)), (nn.LSTM(3, 5, 2), torch.randn(6, 2, 3)),
        (nn.GRU(3, 5), torch.randn(6, 2, 3)), (nn.LSTMCell(3, 4), torch.randn(2, 3)),
        (nn.TransformerEncoderLayer(16, 2, dropout=0.0, batch_first=True), torch.randn(2, 5, 16)),
    )
    for network, data in cases:
        twin = copy.deepcopy(network).to("npu")
        outputs = [net(x) for net, x in ((network, data), (twin, data.to("npu")))]
        first, second = (out[0] if isinstance(out, tuple) else out for out in outputs)
        same(first, second)
        first.sum().backward()
        second.sum().backward()
        for mine, theirs in zip(network.parameters(), twin.parameters()):
            same(mine.grad, theirs.grad)


def check_packed_sequences() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 3).to("npu"), [5, 3])
    out, _ = nn.LSTM(3, 4).to("npu")(packed)
    assert nn.utils.rnn.pad_packed_sequence(out)[0].device.type == "npu"
