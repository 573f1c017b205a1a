"""Copies, pickles, checkpoints, data loaders."""

from __future__ import annotations

import copy
import io
import pickle

import torch
from torch import nn

from tests.simulate.battery.tools import same


def _loaded(thing: object, **options: object) -> object:
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)  # type: ignore[arg-type]


def check_save_and_load() -> None:
    host = torch.randn(4, 3)
    device = host.to("npu")
    both = _loaded({"whole": device, "view": device[1:]})
    same(host, both["whole"])  # type: ignore[index]
    shared = both["view"].untyped_storage().data_ptr() == both["whole"].untyped_storage().data_ptr()  # type: ignore
    assert shared
    assert _loaded(device, map_location="cpu").device.type == "cpu"  # type: ignore[attr-defined]
    assert str(_loaded(host, map_location="npu:1").device) == "npu:1"  # type: ignore[attr-defined]
    same(host, _loaded(host, map_location=torch.device("npu")))


def check_pickle_and_deepcopy() -> None:
    host = torch.randn(4, 3)
    same(host, pickle.loads(pickle.dumps(host.to("npu"))))
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).to("npu")
    twin = copy.deepcopy(network)
    for mine, theirs in zip(network.parameters(), twin.parameters()):
        assert isinstance(theirs, nn.Parameter)
        assert mine.data_ptr() != theirs.data_ptr()
        same(mine.detach().cpu(), theirs)


def check_optimizer_state() -> None:
    network = nn.Linear(3, 2).to("npu")
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.randn(4, 3, device="npu")).sum().backward()
    optimizer.step()
    fresh = torch.optim.Adam(network.parameters())
    fresh.load_state_dict(_loaded(optimizer.state_dict(), map_location="cpu"))  # type: ignore[arg-type]
    assert {state["exp_avg"].device.type for state in fresh.state.values()} == {"npu"}


def check_data_loader_with_workers() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=1, pin_memory=True)
    sums = []
    for (batch,) in loader:
        assert batch.is_pinned()
        sums.append(batch.to("npu").sum().item())
    assert sums == [1, 5, 9, 13]
