"""Random programs built from the idioms people use: whatever the mix, the result holds together."""

from __future__ import annotations

import ast
import io
import tokenize

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npudoctor.migrate.engine import comments, migrate_source
from npudoctor.migrate.project import ProjectIndex, collect_facts
from npudoctor.migrate.settings import Settings

IDIOMS = [
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    "device = torch.device(f'cuda:{rank}')",
    'device = "cuda:{}".format(rank)',
    "device = 'cuda:%d' % rank",
    'device = "cuda:" + str(rank)',
    "x = x.cuda()",
    "x = x.cuda(rank, non_blocking=True)",
    "net = torch.nn.Linear(2, 2).cuda().eval()",
    "x = x.to(device)",
    "x = x.to(**kwargs)",
    "x = x.to('cuda', torch.float32)",
    'x = torch.zeros(3, device="cuda")',
    "torch.cuda.manual_seed_all(1); torch.manual_seed(1)",
    "name = torch.cuda.get_device_name(device=0)",
    "cap = torch.cuda.get_device_capability()",
    "free = th.cuda.mem_get_info()[0]",
    "with torch.cuda.amp.autocast(enabled=use_cuda): pass",
    "with torch.autocast('cuda', dtype=torch.bfloat16): pass",
    "torch.cuda.synchronize()",
    "flag = x.is_cuda and args.cuda",
    'if device.type == "cuda" or "cuda" in str(x.device): pass',
    'if kind == "cuda": pass',
    'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"',
    "dist.init_process_group('nccl', rank=rank)",
    'print(f"cuda: {x.cuda().mean():.3f} {rank!r:>{width}}")',
    "log.info('running on cuda:%d', rank)",
    'text = """cuda\n  and nccl\n"""',
    'path = "runs/cuda_ppo/model.pt"',
    "state = torch.load(path, map_location={'cuda:1': 'cuda:0'})",
    "use_cuda = args.cuda and not args.no_cuda",
    "cuda = cuda(3)",
    "self.cuda = True",
    "d = {'cuda': 1, 'device': 'cuda'}",
    "tensors = [t.cuda() for t in (x, y)]  # all on cuda",
    "opt = torch.optim.Adam(net.parameters(), lr=1e-3)",
    "torch.cuda.reset_peak_memory_stats(device)",
    "y = torch.cuda.FloatTensor([1.0]) + x.type(torch.cuda.FloatTensor)",
    'assert x.device == torch.device("cuda:0") or x.device != torch.device("cuda", rank)',
    'print(f"{x.is_cuda} {torch.cuda.current_device()}", f\'{torch.device("cuda", rank)}\')',
    'if "cuda" not in str(device) and not "cuda:0" in str(device): pass',
    'backend = "nccl" if use_cuda else "gloo"',
    'kind = "cuda" if use_cuda else None; scaler = torch.amp.GradScaler(kind)',
    "losses += [((ratio - 1).abs() > eps).float().mean()]",
]
COMMENTS = ["", "  # cuda", "  # \u4f7f\u7528 cuda:0 \u8bbe\u5907", "  # noqa", "  # type: ignore"]
HEADERS = ["if torch.cuda.is_available():", "for rank in range(2):", "def step(x, device='cuda', cuda=True):",
           "while rank:", "with open(path) as f:", "try:", "class Agent(torch.nn.Module):"]
PROLOGUE = ('"""Doc about cuda."""\nfrom __future__ import annotations\nimport os\nimport torch\n'
            "import torch as th\nimport torch.distributed as dist\n")
KNOWN = [("cuda", "npu"), ("nccl", "hccl"), ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"),
         ("is_cuda", "is_npu"), ("device", "device_name"), (".cuda(", ".npu(")]


@st.composite
def programs(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 6))):
        indent = ""
        header = draw(st.none() | st.sampled_from(HEADERS))
        if header is not None:
            lines.append(header)
            indent = draw(st.sampled_from(["    ", "\t", "  "]))
        for _ in range(draw(st.integers(1, 3))):
            comment = draw(st.sampled_from(COMMENTS))
            lines.append(indent + draw(st.sampled_from(IDIOMS)) + comment)
        if header == "try:":
            lines += ["except Exception:", "    pass"]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = PROLOGUE + "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", newline)


def tokens(text: str) -> list[str]:
    kinds = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [t.string for t in found if t.type not in kinds]


def without_import(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line.strip() != "import torch_npu  # noqa: F401")


def index(text: str) -> ProjectIndex:
    return ProjectIndex({"a.py": collect_facts(text, "a.py")})


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_npu_style(source: str) -> None:
    chosen = Settings(ignore=("NPU2",))
    result = migrate_source(source, "a.py", chosen, index(source))
    assert not result.failed, [f.params for f in result.findings]
    ast.parse(result.text)
    again = migrate_source(result.text, "a.py", chosen, index(result.text))
    assert again.text == result.text
    rest = without_import(result.text)
    assert comments(rest) == comments(source)
    before, after = tokens(source), tokens(rest)
    assert len(before) == len(after)
    for old, new in zip(before, after):
        assert old == new or any(a in old and new == old.replace(a, b) for a, b in KNOWN), (old, new)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.sampled_from(["npu", "portable"]), st.booleans())
def test_every_rule_together(source: str, style: str, unsafe: bool) -> None:
    chosen = Settings(style=style, unsafe=unsafe)
    result = migrate_source(source, "a.py", chosen, index(source))
    assert not result.failed, [f.params for f in result.findings]
    ast.parse(result.text)
    again = migrate_source(result.text, "a.py", chosen, index(result.text))
    assert again.text == result.text
    for comment in comments(source):
        assert comment in comments(result.text)
