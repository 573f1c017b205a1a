"""Two passes over a tree: what one file says about another, settings by path, files left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from npudoctor.config import Config
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.tree import TreeOutcome, migrate_tree
from npudoctor.migrate.walk import walk

GUARD = "import torch\n\n\ndef wait(cfg):\n    if cfg.device == \"cuda\":\n        torch.cuda.synchronize()\n"
DRAIN = (
    "import torch\n\n\ndef learn(net, batches):\n    losses = []\n    for batch in batches:\n"
    "        loss = net(batch).pow(2).mean()\n        losses.append(loss.item())\n    return sum(losses)\n"
)


def run(root: Path, config: Config = Config(), **chosen: object) -> TreeOutcome:  # noqa: B008
    return migrate_tree(walk(root, config), config, Settings(**chosen), jobs=1)  # type: ignore[arg-type]


def after(outcome: TreeOutcome, path: str) -> str:
    return next(f.after.decode() for f in outcome.changed if f.entry.path == path and f.after)


FEEDS = {
    "c.yaml": "train:\n  device: cuda\n",
    "c.toml": "device = 'cuda'\n",
    "c.json": '{"device": "cuda"}',
    "c.cfg": "[a]\ndevice = cuda\n",
    "run.sh": "python train.py --device cuda\n",
    "Dockerfile": 'CMD ["python", "train.py", "--device", "cuda"]\n',
    "d.py": "device = 'cuda'\nimport torch\n",
}


@pytest.mark.parametrize(("name", "text"), FEEDS.items(), ids=FEEDS)
def test_a_comparison_moves_with_what_feeds_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "a.py").write_text(GUARD)
    assert 'cfg.device == "cuda"' in after(run(tmp_path), "a.py")
    (tmp_path / name).write_text(text)
    outcome = run(tmp_path)
    assert 'cfg.device == "npu"' in after(outcome, "a.py")
    assert "npu" in after(outcome, name)


def test_a_setting_that_stays_feeds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GUARD)
    (tmp_path / "c.yaml").write_text("device: cuda\n")
    config = Config(per_file_ignores={"c.yaml": ("NPU173",)})
    outcome = run(tmp_path, config)
    assert 'cfg.device == "cuda"' in after(outcome, "a.py")
    assert [f.entry.path for f in outcome.changed] == ["a.py"]


def test_where_no_device_is_used_nothing_waits_for_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DRAIN)
    assert run(tmp_path).files == ()
    (tmp_path / "b.py").write_text("import torch\nnet = torch.nn.Linear(1, 1).cuda()\n")
    (file,) = [f for f in run(tmp_path).files if f.entry.path == "a.py"]
    assert any(finding.code.startswith("NPU2") for finding in file.result.findings)


def test_a_generated_file_is_left_to_its_source(tmp_path: Path) -> None:
    (tmp_path / "gen.yaml").write_text("# This file is auto-generated, DO NOT EDIT\ndevice: cuda\n")
    (tmp_path / "x_pb.py").write_text("# Made by x. DO NOT EDIT!\nimport torch\nx = torch.zeros(1).cuda()\n")
    (tmp_path / "talk.py").write_text("import torch\ns = 'do not edit'\nx = torch.zeros(1).cuda()\n")
    outcome = run(tmp_path)
    assert [f.entry.path for f in outcome.changed] == ["talk.py"]
    assert [f.result.findings[0].code for f in outcome.files if f.after is None] == ["NPU197", "NPU197"]


def test_cuda_sources_links_and_large_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "out.py").write_text("x = 1\n")
    (tmp_path / "tree" / "k.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "tree" / "link.py").symlink_to(tmp_path / "out.py")
    (tmp_path / "tree" / "big.yaml").write_bytes(b"a: 1\n" * (1 << 19))
    found = {f.entry.path: f.result.findings[0].code for f in run(tmp_path / "tree").files}
    assert found == {"k.cu": "NPU196", "link.py": "NPU193", "big.yaml": "NPU192"}


def test_workers_and_order_do_not_matter(tmp_path: Path) -> None:
    for i in range(40):
        (tmp_path / f"m{i}.py").write_text(f"import torch\nx{i} = torch.zeros({i}).cuda()\n")
    tree = walk(tmp_path, Config())
    one, three = (migrate_tree(tree, Config(), Settings(), jobs).changed for jobs in (1, 3))
    assert [(f.entry.path, f.after) for f in one] == [(f.entry.path, f.after) for f in three]
    assert len(one) == 40
