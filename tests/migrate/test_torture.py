"""Raw files of every encoding and shape: what may change does, every other byte stays."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from npudoctor.config import Config
from npudoctor.migrate import writer
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.tree import TreeOutcome, migrate_tree
from npudoctor.migrate.walk import walk
from tests.conftest import FIXTURES

TORTURE = FIXTURES / "torture"
UNTOUCHED = {
    "python2.py": "NPU100", "broken.py": "NPU100", "garbage.py": "NPU191", "utf16.py": "NPU191",
    "undeclared_latin1.py": "NPU191", "unknown_cookie.py": "NPU191", "nul.py": "NPU191",
}
SILENT = {"empty.py", "bom_only.py"}
ADDED = re.compile(rb"import torch_npu  # noqa: F401(\r\n|\r|\n)")


def outcome_of(root: Path) -> TreeOutcome:
    settings = Settings(ignore=("NPU2",))
    return migrate_tree(walk(root, Config()), Config(), settings, jobs=1)


@pytest.fixture(scope="module")
def outcome() -> TreeOutcome:
    return outcome_of(TORTURE)


def names(*, changed: bool) -> list[str]:
    left = set(UNTOUCHED) | SILENT
    return sorted(p.name for p in TORTURE.iterdir() if (p.name not in left) == changed)


@pytest.mark.parametrize("name", names(changed=True))
def test_only_the_idiom_changes(outcome: TreeOutcome, name: str) -> None:
    """Taking the rewrite back by plain replacement of bytes gives the original."""
    (file,) = [f for f in outcome.changed if f.entry.path == name]
    assert file.after is not None
    back = ADDED.sub(b"", file.after)
    for new, old in ((b"ASCEND_RT_VISIBLE", b"CUDA_VISIBLE"), (b"npu", b"cuda")):
        back = back.replace(new, old)
    assert back == (TORTURE / name).read_bytes()
    assert file.after != file.before


@pytest.mark.parametrize("name", sorted(UNTOUCHED))
def test_what_cannot_be_read_is_reported_and_untouched(outcome: TreeOutcome, name: str) -> None:
    (file,) = [f for f in outcome.files if f.entry.path == name]
    assert file.after is None
    (finding,) = file.result.findings
    assert finding.code == UNTOUCHED[name]
    assert finding.title.render("zh", finding.params)


def test_nothing_else_is_said(outcome: TreeOutcome) -> None:
    assert not {f.entry.path for f in outcome.files} & SILENT


def test_second_run_and_undo(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    shutil.copytree(TORTURE, root)
    before = {p.name: p.read_bytes() for p in root.iterdir()}
    first = outcome_of(root)
    items = [writer.Replacement(f.entry.path, f.before_sha256, f.after or b"") for f in first.changed]
    assert len(writer.apply(root, items).done) == len(names(changed=True))
    assert outcome_of(root).changed == ()
    writer.undo(root)
    assert {p.name: p.read_bytes() for p in root.iterdir()} == before
