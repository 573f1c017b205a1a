"""What people reported after moving code by hand or with a shim, as small programs of our own.

Each entry: source, lines that must change and what they must then hold, lines that must stay,
findings by line, and words a reader has to find in them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.settings import Settings


@dataclass(frozen=True)
class Story:
    name: str
    source: str
    becomes: dict[int, str] = field(default_factory=dict)
    stays: tuple[int, ...] = ()
    finds: dict[int, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()


STORIES = [
    Story(
        "the ternary silently trains on the CPU",
        'import torch\n\ndev = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "net = torch.nn.Linear(4, 2).to(dev)\n",
        {3: '"npu" if torch.npu.is_available() else "cpu"'}, (4,), {3: "NPU103"}, ("raises nothing",),
    ),
    Story(
        "the shim is left in",
        "import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n\n"
        'w = torch.ones(2, device="cuda")\n\n\n@torch.jit.script\ndef f(x: torch.Tensor):\n    return x\n',
        {5: 'device="npu"'}, (3, 8, 9), {3: "NPU126"}, ("is_available", "jit"),
    ),
    Story(
        "the backend's name is compared",
        'import torch.distributed as dist\n\n\ndef go(backend="nccl"):\n'
        '    assert backend in ["gloo", "nccl"]\n    dist.init_process_group(backend)\n'
        '    text = "nccl is a library"\n    return dist.get_backend() == "nccl", text\n',
        {4: "hccl", 5: "hccl", 8: "hccl"}, (6, 7),
    ),
    Story(
        "the process group gets a number",
        "import os\n\nimport torch\nimport torch.distributed as dist\n\n"
        'r = int(os.environ["LOCAL_RANK"])\ntorch.cuda.set_device(r)\n'
        'dist.init_process_group("nccl", device_id=r)\n',
        {7: "torch.npu.set_device(r)", 8: '"hccl", device_id=torch.device("npu", r)'}, (6,), {8: "NPU116"},
        ("torch.device",),
    ),
    Story(
        "a worker never selects its device",
        "import torch\nimport torch.distributed as dist\n\n\ndef work(rank, net):\n"
        '    dist.init_process_group("nccl", rank=rank)\n    net = net.to(f"cuda:{rank}")\n'
        "    return torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])\n",
        {6: "hccl", 7: 'f"npu:{rank}"'}, (8,), {6: "NPU116"}, ("torch.npu.set_device",),
    ),
    Story(
        "capability and properties",
        "import torch\n\na, b = torch.cuda.get_device_capability()\n"
        "p = torch.cuda.get_device_properties(0)\n"
        "print(p.name, p.total_memory, p.multi_processor_count, p.major)\n"
        "free, total = torch.cuda.mem_get_info()\n",
        {4: "torch.npu.get_device_properties", 6: "torch.npu.mem_get_info"}, (3, 5),
        {3: "NPU103", 5: "NPU131"},
        ("None", "multi_processor_count", "major"),
    ),
    Story(
        "NumPy's float64",
        'import numpy as np\nimport torch\n\nd = torch.device("cuda")\no = np.ones((8, 4))\n'
        "x = torch.from_numpy(o).to(d)\ny = torch.tensor(o, dtype=torch.float64, device=d)\n"
        "z = torch.as_tensor(o, dtype=torch.float32, device=d)\nb = torch.cuda.DoubleTensor(8)\n",
        {4: '"npu"'}, (6, 7, 8, 9), {6: "NPU120", 7: "NPU120", 9: "NPU120"}, ("float32",),
    ),
    Story(
        "a loader pins for CUDA",
        "from torchdata.stateful_dataloader import StatefulDataLoader as Loader\nimport torch\n\n"
        "a = Loader([], pin_memory=True)\nfor (x,) in a:\n    x = x.to('cuda', non_blocking=True)\n",
        {4: 'pin_memory_device="npu"', 6: "'npu', non_blocking=True"}, (5,), {4: "NPU114"},
    ),
    Story(
        "libraries built for CUDA",
        "import torch\n\ntry:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n"
        "import bitsandbytes\nimport pynvml\nfrom transformers import AutoModel\n\n"
        'n = AutoModel.from_pretrained("t", attn_implementation="flash_attention_2", device_map="cuda")\n',
        {11: 'device_map="npu"'}, (3, 4, 7, 8), {4: "NPU123", 7: "NPU123", 8: "NPU123", 11: "NPU132"},
        ("scaled_dot_product_attention", "npu-smi", "sdpa", "flash_attention_2"),
    ),
    Story(
        "cuDNN, channels_last and DataParallel",
        "import torch\nfrom torch import nn\n\ntorch.backends.cudnn.benchmark = True\n"
        "torch.backends.cuda.matmul.allow_tf32 = True\nn = nn.DataParallel(nn.Conv2d(3, 8, 3)).cuda()\n"
        "n = n.to(memory_format=torch.channels_last)\n",
        {6: ".npu()"}, (4, 5, 7), {4: "NPU119", 5: "NPU119", 6: "NPU117", 7: "NPU118"},
        ("DistributedDataParallel", "contiguous"),
    ),
    Story(
        "Ray waits for GPUs",
        "import ray\n\nray.init(num_gpus=4)\n\n\n@ray.remote(num_gpus=1)\nclass Actor:\n"
        "    def __init__(self):\n"
        "        import torch\n\n        self.n = torch.nn.Linear(2, 2).cuda()\n",
        {11: ".npu()"}, (3, 6), {3: "NPU129", 6: "NPU129"}, ("NPU",),
    ),
    Story(
        "a forked worker",
        "import multiprocessing as mp\n\nimport torch\n\nwarm = torch.zeros(1, device='cuda')\n"
        'c = mp.get_context("fork")\n',
        {5: "'npu'"}, (6,), {6: "NPU125"}, ("spawn", "re-initialize"),
    ),
    Story(
        "a simulator that needs an NVIDIA GPU",
        "import isaacgym\nfrom isaacgym import gymapi\nimport torch\n\np = gymapi.SimParams()\n"
        'p.use_gpu_pipeline = True\nsim_device = "cuda:0"\nrl_device = "cuda:0"\n',
        {8: '"npu:0"'}, (6, 7), {1: "NPU123", 2: "NPU123", 6: "NPU124", 7: "NPU124"},
        ("Isaac", "NVIDIA", "separate", "CPU"),
    ),
    Story(
        "compile and graphs",
        "import torch\n\n\ndef make(net):\n    s = torch.compile(net.cuda(), mode='reduce-overhead')\n"
        "    g = torch.cuda.CUDAGraph()\n    with torch.cuda.graph(g):\n"
        "        o = net(torch.zeros(8, 4, device='cuda'))\n    return s, o\n",
        {5: "net.npu()", 8: "device='npu'"}, (6, 7), {5: "NPU121", 6: "NPU103", 7: "NPU103"},
        ("triton-ascend", "eager", "NPUGraph"),
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.name)
def test_story(story: Story) -> None:
    result = migrate_source(story.source, "a.py", Settings(ignore=("NPU2",)))
    old, new = story.source.splitlines(), result.text.splitlines()
    added = [line for line in new if "import torch_npu" in line and line not in old]
    assert len(added) <= 1
    new = [line for line in new if line not in added]
    assert len(old) == len(new)
    for number, text in story.becomes.items():
        assert text in new[number - 1]
    for number in story.stays:
        assert new[number - 1] == old[number - 1]
    found = {(f.place.line, f.code) for f in result.findings if f.place}
    assert {(line, code) for line, code in story.finds.items()} <= found
    said = " ".join(
        text.render("en", f.params)
        for f in result.findings
        for text in (f.title, f.cause, *(x.note for x in f.fixes))
    )
    assert [word for word in story.words if word not in said] == []


def test_nothing_is_said_about_float32() -> None:
    source = next(s.source for s in STORIES if s.name == "NumPy's float64")
    result = migrate_source(source, "a.py", Settings(ignore=("NPU2",)))
    assert 8 not in {f.place.line for f in result.left if f.place}
