"""Programs that must stay as they are, each with the reason that is told."""

from __future__ import annotations

import textwrap
import time

import pytest

from npudoctor.migrate.context import ModuleContext
from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.sync import drain, hazards
from npudoctor.migrate.sync.analysis import analyse
from tests.migrate.sync.equal import SYNC_RULES, migrated

LOOP = "for x in batches:\n    xs.append(torch.mean(x).item())\n"


def refusal_of(source: str) -> object:
    """The reason why the first list of `source` is left alone, None when it is rewritten."""
    text = "import torch\n" + textwrap.dedent(source)
    found = analyse(ModuleContext(text)).drains
    reason = found[0].refusal if found else "not a drain"
    if reason is not None:
        assert migrated(text) == text
    return reason


def in_function(body: str, head: str = "def update(batches):") -> str:
    return f"{head}\n{textwrap.indent(textwrap.dedent(body), '    ')}"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (in_function(f"xs = []\n{LOOP}return xs"), None),
        (in_function(f"xs = []\nprint(locals())\n{LOOP}"), hazards.NAMESPACE),
        (in_function(f"xs = []\nprint(vars())\n{LOOP}"), hazards.NAMESPACE),
        (in_function(f"xs = []\nprint(vars(batches))\n{LOOP}"), None),
        (in_function(f"xs = []\neval('xs')\n{LOOP}"), hazards.NAMESPACE),
        (in_function(f"xs = []\n{LOOP}breakpoint()"), hazards.NAMESPACE),
        (in_function(f"xs = []\n{LOOP}yield xs"), hazards.GENERATOR),
        (in_function(f"xs = []\n{LOOP}", "async def update(batches):"), hazards.GENERATOR),
        (in_function(f"xs = []\n{LOOP}lambda: xs"), hazards.CLOSURE),
        (in_function(f"xs = []\n{LOOP}def show():\n    nonlocal xs\n    xs = 1"), hazards.CLOSURE),
        (in_function(f"xs = []\n{LOOP}return (y for y in xs)"), hazards.CLOSURE),
        (in_function(f"xs = []\n{LOOP}return sum(y for y in xs)"), None),
        (in_function(f"xs = []\n{LOOP}return [y for y in xs], {{y for y in xs}}"), None),
        (
            in_function(
                "xs = []\nfor x in batches:\n    with suppress(ValueError):\n"
                "        xs.append(torch.mean(x).item())"
            ),
            hazards.GUARDED,
        ),
        (
            in_function(
                "xs = []\nfor x in batches:\n    with torch.no_grad():\n"
                "        xs.append(torch.mean(x).item())"
            ),
            None,
        ),
        (
            in_function(
                "xs = []\nwith suppress(ValueError):\n    for x in batches:\n"
                "        xs.append(torch.mean(x).item())\nreturn xs"
            ),
            drain.NOT_LOCAL,
        ),
        (
            in_function(
                "with suppress(ValueError):\n    xs = []\n    for x in batches:\n"
                "        xs.append(torch.mean(x).item())\nreturn xs"
            ),
            hazards.GUARDED,
        ),
        (
            in_function(
                "with suppress(ValueError):\n    xs = []\n    for x in batches:\n"
                "        xs.append(torch.mean(x).item())\n    return xs"
            ),
            None,
        ),
        (
            in_function(
                "try:\n    xs = []\n    for x in batches:\n        xs.append(torch.mean(x).item())\n"
                "finally:\n    print(xs)"
            ),
            hazards.GUARDED,
        ),
        (
            in_function(
                "xs = []\nwhile True:\n    xs.append(torch.mean(batches).item())\n"
                "    if batches:\n        break"
            ),
            hazards.UNBOUNDED,
        ),
        (in_function("xs = []\nwhile batches:\n    xs.append(torch.mean(batches.pop()).item())"), None),
        (in_function(f"xs = []\n{LOOP}else:\n    print(1)"), hazards.ELSE),
        (in_function(f"xs = []\ns = torch.npu.Stream()\n{LOOP}"), hazards.ASYNC),
        (in_function(f"xs = []\nb = batches.to('cpu', non_blocking=True)\n{LOOP}"), hazards.ASYNC),
        (in_function(f"xs = []\ngraph.replay()\n{LOOP}"), hazards.ASYNC),
        ("@torch.jit.script\n" + in_function(f"xs = []\n{LOOP}"), hazards.COMPILED),
        ("@torch.compile\n" + in_function(f"xs = []\n{LOOP}"), hazards.COMPILED),
        (in_function(f"xs = []\n{LOOP}") + "\nfast = torch.compile(update)\n", hazards.COMPILED),
        ("@torch.no_grad()\n" + in_function(f"xs = []\n{LOOP}"), None),
        (
            in_function(
                "xs = []\nfor i, x in enumerate(batches):\n    xs.append(torch.mean(x.to(f'npu:{i}')).item())"
            ),
            hazards.DEVICES,
        ),
        (
            in_function(
                "xs = []\nfor i, x in enumerate(batches):\n    xs.append(torch.mean(x.to(devices[i])).item())"
            ),
            hazards.DEVICES,
        ),
        (in_function(f"xs: list[float] = []\n{LOOP}"), drain.ANNOTATED),
        (in_function(f"xs = ys = []\n{LOOP}"), drain.NOT_LOCAL),
        (in_function(f"xs, ys = [], []\n{LOOP}"), None),
        (in_function(f"xs = []\nys = xs\n{LOOP}"), drain.NOT_LOCAL),
        (in_function(f"xs = []\nif batches:\n    xs = [1.0]\n{LOOP}"), drain.NOT_LOCAL),
        (in_function(f"xs = list()\n{LOOP}"), drain.NOT_LOCAL),
        (in_function(f"global xs\nxs = []\n{LOOP}"), hazards.CLOSURE),
        (
            in_function("xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\n    del xs[0]"),
            drain.READ_INSIDE,
        ),
        (
            in_function("xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\n    xs = []"),
            drain.READ_INSIDE,
        ),
        (
            in_function(
                "xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\n    print(len(xs))"
            ),
            None,
        ),
        (
            in_function("xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\n    print(xs)"),
            drain.READ_INSIDE,
        ),
        (
            in_function(
                "xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\n    add = xs.append"
            ),
            drain.READ_INSIDE,
        ),
        (
            in_function("xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\n    return xs"),
            drain.READ_INSIDE,
        ),
        (in_function("xs = []\nfor x in batches:\n    xs.append(x.mean().item())"), drain.NOT_TENSOR),
        (in_function("xs = []\nfor x in batches:\n    xs.append(torch.tensor(x).sum().item())"), drain.DTYPE),
        (in_function("xs = []\nfor x in batches:\n    xs.append(float((torch.mean(x) > 0)))"), drain.DTYPE),
        (in_function("xs = []\nfor x in batches:\n    xs.append((torch.mean(x) > 0).item())"), None),
        (in_function(f"xs = []\n{LOOP}", "def update(batches, torch):"), drain.NOT_TENSOR),
        (
            "class A:\n    xs = []\n    for x in range(3):\n        xs.append(torch.mean(x).item())\n",
            drain.NOT_LOCAL,
        ),
        (f"batches = []\nxs = []\n{LOOP}", None),
        (f"batches = []\nxs = []\n{LOOP}\ndef later():\n    return xs\n", hazards.CLOSURE),
    ],
)
def test_reason(source: str, reason: object) -> None:
    assert refusal_of(source) is reason


@pytest.mark.parametrize(
    "source",
    [
        "from torch import mean\nxs = []\nfor x in y:\n    xs.append(mean(x).item())\n",
        "import numpy as np\nimport torch\nxs = []\nfor x in y:\n    xs.append(np.mean(x).item())\n",
        "import pandas as pd\nimport torch\nxs = []\nfor x in y:\n    xs.append(x.abs().mean().item())\n",
        "import torch\nxs = []\nfor x in y:\n    xs.append(torch.mean(x).item(0))\n",
        "import torch\nxs = []\nfor x in y:\n    xs.append(round(torch.mean(x).item(), 3))\n",
        "import torch\nxs = []\nfor x in y:\n    xs.append((torch.mean(x)  # why\n        ).item())\n",
        "import torch\nxs = []\nfor x in y: xs.append(int(torch.mean(x)))\n",
        "import torch\nfrom m import xs\nfor x in y:\n    xs.append(torch.mean(x).item())\n",
    ],
)
def test_untouched(source: str) -> None:
    assert migrated(source) == source


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "source",
    [
        "import torch\nxs = []\nfor x in y:\n\txs.append(torch.mean(x).item())",
        "import torch\nxs = []\nfor x in y: xs.append(torch.mean(x).item())  # one line\nprint(xs)\n",
        "import torch\nif True:\n  xs = []\n  for x in y:\n    xs.append(\n      torch.mean(x)\n"
        "      .item()\n    )\n  # end\n",
        "import torch\nt = 0\nfor x in y:\n\tt += torch.mean(x).item()\n\n\nprint(t)",
        "import torch\nxs, t = [], 0.0\nfor x in y:\n"
        "    xs.append(torch.mean(x).item()); t += torch.sum(x.exp()).item()",
    ],
)
def test_layouts_parse_and_are_stable(source: str, newline: str) -> None:
    result = migrated(source.replace("\n", newline))
    compile(result, "x.py", "exec")
    assert "stack(" in result


def test_an_ignore_comment_keeps_its_list_out() -> None:
    source = (
        "import torch\nxs, ys = [], []\nfor x in y:\n    xs.append(torch.mean(x).item())\n"
        "    ys.append(torch.mean(x).item())  # npudoctor: ignore[NPU201]\n"
    )
    result = migrate_source(source, "a.py", rules=SYNC_RULES)
    assert "ys.append(torch.mean(x).item())" in result.text
    assert "xs.append(torch.mean(x).detach())" in result.text
    assert "ys = torch.stack" not in result.text


def test_variables_that_feed_each_other_end_in_time() -> None:
    names = [f"v{i}" for i in range(8)]
    lines = [f"    {a} = {b} * {c}" for a in names for b in names[:3] for c in names[:3]]
    source = "import torch\nv0 = torch.ones(3)\nxs = []\nfor x in range(9):\n" + "\n".join(lines)
    start = time.process_time()
    migrated(source + "\n    xs.append(v3.mean().item())\n    print(v1, v2.item(), float(v4))\n")
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "source",
    [
        "xs = []\nfor x in batches:\n    xs.append(torch.mean(x).item())\nprint(xs)\n",
        "t = 0.0\nfor x in batches:\n    t += torch.mean(x).item()\nprint(t)\n",
        "a = torch.zeros(3, device=device).mean()\nb = a.exp()\nprint(a.item(), b.item())\n",
    ],
)
def test_what_a_rewrite_leaves_is_not_reported(source: str) -> None:
    """Neither in the run that wrote it nor in the next, however hot the place is."""
    loop = textwrap.indent(source, "            ")
    text = (
        "import torch\n\n\ndef train(env, batches, device='npu'):\n    for update in range(9):\n"
        f"        for step in range(9):\n            env.step(step)\n{loop}"
    )
    first = migrate_source(text, "program.py", rules=SYNC_RULES)
    assert first.changed
    again = migrate_source(first.text, "program.py", rules=SYNC_RULES)
    assert not again.changed
    for result in (first, again):
        assert not [f for f in result.left if "stack(" in str(f.params.get("code"))]


ENTRY = "for x in batches:\n    s['a'].append(torch.mean(x).item())\n"
TOTAL = "for i, x in enumerate(batches):\n    t += torch.mean(x).item() * {factor}\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (in_function(f"s = {{'a': []}}\n{ENTRY}return s"), None),
        (in_function(f"s = dict()\ns['a'] = []\n{ENTRY}return s"), None),
        (in_function(f"s = {{}}\ns['b'] = 1\ns['a'] = []\n{ENTRY}return s"), None),
        (in_function(f"s = {{'a': [1]}}\n{ENTRY}return s"), drain.NOT_LOCAL),
        (in_function(f"s = {{'a': [], 'a': [1]}}\n{ENTRY}return s"), drain.NOT_LOCAL),
        (in_function(f"s = r = {{'a': []}}\n{ENTRY}return s"), drain.NOT_LOCAL),
        (in_function(f"s = {{'a': []}}\nr = s\n{ENTRY}return r"), drain.NOT_LOCAL),
        (in_function(f"s = {{'a': []}}\ns['b'] = s['a']\n{ENTRY}return s"), drain.NOT_LOCAL),
        (in_function(f"s = Stats(a=[])\n{ENTRY}return s"), drain.NOT_LOCAL),
        (in_function(f"s = {{'a': []}}\n{ENTRY}    print(s['b'])\nreturn s"), None),
        (in_function(f"s = {{'a': []}}\n{ENTRY}    print(s['a'])\nreturn s"), drain.READ_INSIDE),
        (in_function(f"s = {{'a': []}}\n{ENTRY}    print(len(s))\nreturn s"), drain.READ_INSIDE),
        (in_function(f"s = {{'a': []}}\n{ENTRY}    s = {{}}\nreturn s"), drain.READ_INSIDE),
        (in_function(f"s = {{'a': []}}\n{ENTRY}return lambda: s"), hazards.CLOSURE),
        (in_function(ENTRY, "def update(batches, s):"), drain.NOT_LOCAL),
        (in_function(f"s = {{'a': []}}\n{ENTRY}else:\n    print(1)\nreturn s"), hazards.ELSE),
    ],
)
def test_entries_of_a_dictionary(source: str, reason: object) -> None:
    assert refusal_of(source) is reason


@pytest.mark.parametrize(
    ("factor", "proved"),
    [
        ("2", True),
        ("len(x)", True),
        ("x.size(0)", True),
        ("x.shape[-1]", True),
        ("x.numel()", True),
        ("i", True),
        ("(1 + len(x)) / 3", True),
        ("True", False),
        ("weight", False),
        ("self.weight", False),
        ("x.size()", False),
        ("x[0]", False),
        ("torch.sum(x)", False),
        ("torch.sum(x).item()", False),
        ("float(x[0])", False),
        ("np.mean(1)", False),
    ],
)
def test_host_numbers_beside_a_read(factor: str, proved: bool) -> None:
    source = in_function(
        f"t = 0.0\n{TOTAL.format(factor=factor)}return t", "def update(self, batches, weight):"
    )
    assert (refusal_of(source) is None) is proved


def test_what_no_plain_number_is_refused_for() -> None:
    source = in_function(f"t = 0.0\n{TOTAL.format(factor='weight')}return t", "def update(batches, weight):")
    assert refusal_of(source) is drain.NOT_NUMBER
