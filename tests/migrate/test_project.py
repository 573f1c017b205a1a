"""Facts across files: a test moves with the default that feeds it, wherever that stands."""

from __future__ import annotations

import pickle

import pytest

from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.facts.devices import DeviceFacts
from npudoctor.migrate.project import ProjectIndex, collect_facts

GUARD = 'import torch\n\n\ndef pin(cfg):\n    return cfg.device == "cuda"\n'
FEEDS = {
    "dataclass": 'import torch\nclass Args:\n    device: str = "cuda"\n',
    "argparse": 'import torch\nparser.add_argument("--device", default="cuda:0")\n',
    "signature": 'import torch\ndef make(device="cuda"):\n    pass\n',
    "dictionary": 'import torch\nCONFIG = {"device": "cuda"}\n',
    "call": 'import torch\nconfigure(device="cuda")\n',
    "ternary": 'import torch\nargs.device = "cuda" if torch.cuda.is_available() else "cpu"\n',
}


@pytest.mark.parametrize("feed", FEEDS.values(), ids=FEEDS)
def test_a_default_in_another_module_feeds_the_test(feed: str) -> None:
    index = ProjectIndex({"conf.py": collect_facts(feed, "conf.py")})
    assert 'cfg.device == "npu"' in migrate_source(GUARD, "train.py", None, index).text


def test_a_configuration_file_feeds_the_test() -> None:
    index = ProjectIndex({}, {"conf.yaml": {"devices": DeviceFacts({"device": ("cuda",)})}})
    assert 'cfg.device == "npu"' in migrate_source(GUARD, "train.py", None, index).text


@pytest.mark.parametrize(
    "feed", ['import torch\nd = {"tag": "cuda"}\n', 'import torch\ndef f(device="cpu"): pass\n']
)
def test_nothing_feeds_the_test(feed: str) -> None:
    index = ProjectIndex({"conf.py": collect_facts(feed, "conf.py")})
    result = migrate_source(GUARD, "train.py", None, index)
    assert result.text == GUARD
    assert [f.code for f in result.left] == ["NPU106"]


def test_an_own_cuda_method_anywhere_demotes_unproved_calls() -> None:
    owner = "import torch\nclass Buffer:\n    def cuda(self):\n        return self\n"
    index = ProjectIndex({"buffer.py": collect_facts(owner, "buffer.py")})
    user = "import torch\n\n\ndef go(b):\n    torch.zeros(3).cuda()\n    return b.cuda()\n"
    result = migrate_source(user, "user.py", None, index)
    assert "torch.zeros(3).npu()" in result.text
    assert "return b.cuda()" in result.text


def test_facts_travel_between_processes() -> None:
    facts = collect_facts(FEEDS["dataclass"], "conf.py")
    assert pickle.loads(pickle.dumps(facts)) == facts


def test_broken_modules_have_no_facts() -> None:
    assert "devices" not in collect_facts("import torch\ndef (cuda", "a.py")
