"""A repository made to break the tool: it costs a finding, never the run, and nothing outside is touched."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from npudoctor.config import Config
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.tree import TreeOutcome, migrate_tree
from npudoctor.migrate.walk import walk

GOOD = "import torch\nx = torch.zeros(1).cuda()\n"
IF = [f"{'    ' * i}if x:\n" for i in range(95)]
DEF = [f"{' ' * i}def f{i}():\n" for i in range(90)]
MANY = ["torch.zeros(1).cuda()\n"] * 100
NESTED = {
    "minus.py": "import torch\nx = " + "-" * 50_000 + "1  # cuda\n",
    "brackets.py": "import torch\nx = " + "(" * 5_000 + "1" + ")" * 5_000 + "  # cuda\n",
    "lists.py": "import torch\nx = " + "[" * 150 + "torch.zeros(1).cuda()" + "]" * 150 + "\n",
    "chain.py": "import torch\nx = torch.zeros(1)" + ".cuda()" * 3_000 + "\n",
    "sum.py": "import torch\nx = " + " + ".join(["torch.zeros(1).cuda()"] * 3_000) + "\n",
    "blocks.py": "import torch\n" + "".join(IF) + "    " * 95 + "x.cuda()\n",
    "functions.py": "import torch\n" + "".join(DEF) + " " * 90 + "x.cuda()\n",
    "else.py": "import torch\nif a: pass\n" + "elif b: x = torch.zeros(1).cuda()\n" * 3_000,
    "fstring.py": "import torch\nx = " + "f'{" * 100 + "1" + "}'" * 100 + "  # cuda\n",
    "line.py": "import torch\nx = torch.zeros(1).cuda(); y = '" + "a" * 3_000_000 + "'\n",
    "long.py": GOOD + "".join(f"v{i} = torch.zeros({i}).cuda()\n" for i in range(2_000)),
    "one_name.py": "import torch\n" + "x = torch.zeros(3).cuda()\nprint(x)  # cuda\n" * 25_000,
    "nest.ipynb": '{"cells": ' + "[" * 100_000 + "]" * 100_000 + ', "torch": "cuda"}',
    "bomb.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["import torch\n", *MANY]}] * 20}),
    "nest.json": '{"device": "cuda", "a": ' * 20_000,
    "nest.yaml": "device: cuda\na: " + "{a: " * 50_000 + "\n" + "".join(" " * i + "k:\n" for i in range(800)),
    "nest.toml": "device = 'cuda'\na = " + "[" * 50_000 + "\n",
    "quotes.sh": "export CUDA_VISIBLE_DEVICES=0\n" + "$(" * 20_000 + "'\"`" * 20_000,
    "braces.sh": "export CUDA_VISIBLE_DEVICES=0\n" + "${A:-" * 5_000,
    "Dockerfile": "FROM nvidia/cuda:1\n" + "RUN a \\\n" * 20_000,
    "requirements.txt": "torch==1.0\n" + "a" * 500_000 + "\n" + "[" * 100_000 + "\n",
}

SOUND = ["lists.py", "line.py", "long.py", "one_name.py", "nest.json", "quotes.sh", "bomb.ipynb"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> TreeOutcome:
    root = tmp_path_factory.mktemp("hostile")
    for name, text in NESTED.items():
        (root / name).write_text(text)
    (root / "good.py").write_text(GOOD)
    (root / "huge_line.py").write_bytes(b"x = '" + b"a" * (11 << 20) + b"' # cuda\n")
    started = time.monotonic()
    found = migrate_tree(walk(root, Config()), Config(), Settings(), jobs=2)
    assert time.monotonic() - started < 120
    return found


def test_a_good_file_beside_them_is_migrated(outcome: TreeOutcome) -> None:
    assert "good.py" in {f.entry.path for f in outcome.changed}


def test_each_is_changed_or_reported_or_needs_nothing(outcome: TreeOutcome) -> None:
    """What could not be analysed says so; nothing ends without a word because it crashed."""
    by_path = {f.entry.path: f for f in outcome.files}
    for name in ("minus.py", "brackets.py", "nest.ipynb", "huge_line.py"):
        codes = {finding.code for finding in by_path[name].result.findings}
        assert codes & {"NPU100", "NPU192", "NPU195", "NPU198"}, (name, codes)
    assert {f.code for f in by_path["huge_line.py"].result.findings} == {"NPU192"}


@pytest.mark.parametrize("name", SOUND)
def test_large_but_sound_files_are_migrated(outcome: TreeOutcome, name: str) -> None:
    (file,) = [f for f in outcome.changed if f.entry.path == name]
    assert file.after is not None


def test_thousands_of_files_are_walked(tmp_path: Path) -> None:
    for i in range(60):
        folder = tmp_path / f"d{i % 20}" / f"e{i}"
        folder.mkdir(parents=True)
        for j in range(50):
            (folder / f"f{j}.txt").touch()
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n/d1/e1/\n")
    (tmp_path / "d0" / "a.py").write_text(GOOD)
    started = time.monotonic()
    tree = walk(tmp_path, Config())
    assert [e.path for e in tree.entries] == ["d0/a.py"]
    assert len(tree.all_files) > 2_900
    assert time.monotonic() - started < 20
