"""The function of NPU205 in notebooks: each cell has its own."""

from __future__ import annotations

import ast
import json

import pytest

from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.lang.notebook import LANGUAGE
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings

FIRST = 'import torch\nimport torch_npu\ndevice = "npu"\n'
LOOP = """def {name}(env, obs):
    for step in range(128):
        action = torch.tanh(torch.tensor(obs).to(device))
        value = action.mean(1)
        a = action.cpu().numpy()
        v = value.cpu().numpy()
        obs, r, d, info = env.step((a, v))
"""


def cells(*texts: str) -> str:
    return "".join(f"# %%\n{text}" for text in texts)


def test_the_function_stands_in_the_cell_that_uses_it() -> None:
    source = cells(FIRST, "# the rollout\n" + LOOP.format(name="act"), "print(1)\n")
    result = migrate_source(source, "a.py")
    _, first, second, third = result.text.split("# %%\n")
    assert first == FIRST
    assert third == "print(1)\n"
    assert second.startswith("def _to_host(")
    assert "\n\n\n# the rollout\ndef act(" in second
    assert "action_host, value_host = _to_host(action, value)" in second
    ast.parse(result.text)
    assert migrate_source(result.text, "a.py").text == result.text


def test_two_cells_have_one_each_and_two_uses_of_a_cell_share_one() -> None:
    both = LOOP.format(name="act") + "\n\n" + LOOP.format(name="again")
    result = migrate_source(cells(FIRST, both, LOOP.format(name="other")), "a.py")
    assert [part.count("def _to_host(") for part in result.text.split("# %%\n")] == [0, 0, 1, 1]
    assert result.text.count("= _to_host(") == 3
    assert migrate_source(result.text, "a.py").text == result.text


def test_copies_in_two_cells_are_not_joined() -> None:
    text = cells(FIRST + "x = torch.ones(3).to(device)\n", "a = x.cpu().numpy()\n", "b = x.cpu().numpy()\n")
    assert not migrate_source(text, "a.py").changed


@pytest.mark.parametrize("first", ["%%time\n", "", "import numpy\n"])
def test_in_a_notebook(first: str) -> None:
    texts = [FIRST, first + LOOP.format(name="act")]
    document = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": text.splitlines(keepends=True),
            }
            for text in texts
        ],
        "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    result = LANGUAGE.migrate(json.dumps(document, indent=1), "a.ipynb", Settings(), ProjectIndex())
    assert result.changed
    code = "".join(json.loads(result.text)["cells"][1]["source"])
    assert code.startswith(first + "def _to_host(")
    again = LANGUAGE.migrate(result.text, "a.ipynb", Settings(), ProjectIndex())
    assert again.text == result.text
