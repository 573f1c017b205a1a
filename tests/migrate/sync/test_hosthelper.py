"""The function that NPU205 adds, and other added names: nobody but the added code may see them."""

from __future__ import annotations

from npudoctor.migrate.sync.hosthelper import NAME, text_of
from tests.migrate.sync.equal import migrated

ROLLOUT = """
def collect(env, agent, obs, n):
    for step in range(n):
        value, logp = agent.act(obs)
        v, p = value.cpu().numpy(), logp.cpu().numpy()
        obs, reward, done, info = env.step(v)
    return v, p
"""


def test_a_star_import_does_not_hand_the_function_on() -> None:
    made: dict[str, object] = {}
    exec(migrated("import torch\n" + ROLLOUT), made)
    assert NAME in made
    assert NAME.startswith("_")


def test_tabs_stay_tabs() -> None:
    once = migrated(("import torch\n" + ROLLOUT).replace("    ", "\t"))
    assert text_of(NAME, "torch", tabs=True) in once
    assert "    " not in once
    assert migrated(once) == once


def test_torch_for_type_checkers_is_not_torch() -> None:
    head = "import typing\nif typing.TYPE_CHECKING:\n    import torch\n"
    assert migrated(head + ROLLOUT) == head + ROLLOUT
    both = migrated(head + "import torch as th\n" + ROLLOUT)
    assert text_of(NAME, "th") in both


def test_no_read_is_deferred_where_torch_is_for_type_checkers() -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "import torch.nn.functional as F\n"
        "if TYPE_CHECKING:\n    import torch as t\n\n\n"
        "def update(batches):\n"
        "    losses = []\n"
        "    for x in batches:\n"
        "        losses.append(F.mse_loss(x, x).item())\n"
        "    return losses\n"
    )
    assert "t.stack" not in migrated(source)


def test_sparse_tensors_take_the_old_way() -> None:
    import torch

    made: dict[str, object] = {}
    exec("import torch\n" + text_of(NAME, "torch"), made)
    sparse, dense = torch.eye(3).to_sparse(), torch.ones(2)
    one, two = made[NAME](sparse, dense)  # type: ignore[operator]
    assert torch.equal(one.to_dense(), torch.eye(3))
    assert torch.equal(two, dense)
