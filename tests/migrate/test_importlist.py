"""A name leaves an import list; everything else of the statement stays as it was."""

from __future__ import annotations

import pytest

from npudoctor.migrate.importlist import without


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from torch import cuda, nn", "from torch import nn"),
        ("from torch import nn, cuda", "from torch import nn"),
        ("from torch import nn,cuda , optim", "from torch import nn,optim"),
        ("from torch import (nn, cuda)", "from torch import (nn)"),
        ("from torch import (nn, cuda,)", "from torch import (nn,)"),
        (
            "from torch import (\n    cuda,\n    nn,  # layers\n    optim,\n)",
            "from torch import (\n    nn,  # layers\n    optim,\n)",
        ),
        ("from torch import nn as n, cuda as c", "from torch import nn as n"),
    ],
)
def test_without(before: str, after: str) -> None:
    assert without(before, "cuda") == after


REFUSED = ["import torch", "from torch import *", "from torch import cuda", "x = 1"]


@pytest.mark.parametrize("statement", REFUSED)
def test_refused(statement: str) -> None:
    with pytest.raises(ValueError, match=r"import list|cannot be taken out"):
        without(statement, "cuda")
