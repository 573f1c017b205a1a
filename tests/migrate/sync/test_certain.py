"""`float(x)` of what may be a number: Python numbers have no `.detach()`."""

from __future__ import annotations

import pytest

from tests.migrate.sync.equal import migrated, outcome

PROGRAM = """
import torch
import torch.nn.functional as F


def program(seed):
    torch.manual_seed(seed)
    xs, w = [], torch.ones(2, requires_grad=True)
    for i, x in enumerate(torch.rand(4, 2)):
        {made}
        xs.append(float(x0))
    return xs
"""


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        ("x0 = F.mse_loss(w, x)", True),
        ("x0 = 2 * F.mse_loss(w, x)", True),
        ("x0 = F.mse_loss(w, x); x0 = x0 + 1", True),
        ("x0 = F.mse_loss(w, x) if i else F.l1_loss(w, x)", True),
        ("x0 = (x * w).sum(); x0.backward()", True),
        ("x0 = 0.0\n        if i % 2: x0 = F.mse_loss(w, x)", False),
        ("x0 = F.mse_loss(w, x) if i else 0.0", False),
        ("x0 = 0.5 * (F.mse_loss(w, x) if i else 1)", False),
        ("x0 = sum(F.mse_loss(w, y) for y in [x] * i)", False),
        ("x0 = 0\n        for y in [x] * i: x0 = x0 + F.mse_loss(w, y)", False),
        ("x0 = 0\n        for y in [x] * i: x0 += F.mse_loss(w, y)", False),
        ("x0 = (lambda: x.sum() * w.sum() if i else 1.0)()\n        if i: x0.backward()", False),
    ],
)
def test_a_number_in_some_passes(made: str, changed: bool) -> None:
    source = PROGRAM.format(made=made)
    after = migrated(source)
    assert (after != source) is changed
    assert outcome(after, 1)[0] == outcome(source, 1)[0]
    assert outcome(source, 1)[0][0][0] == "list"
