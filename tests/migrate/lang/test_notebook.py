"""Notebooks: code changes, everything else keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.migrate.engine import FileResult
from npudoctor.migrate.lang import languages
from npudoctor.migrate.lang.cells import NotebookError, code_cells, replace_code
from npudoctor.migrate.lang.magics import mask, unmask
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings


def notebook(*sources: Any, **metadata: Any) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "execution_count": i, "metadata": {"id": f"é{i}"},
         "outputs": [{"output_type": "stream", "text": ["net.cuda()\n", "device cuda\n"]}], "source": source}
        for i, source in enumerate(sources)
    ]
    markdown = {"cell_type": "markdown", "metadata": {}, "source": ["torch.cuda stays `x.cuda()`"]}
    return {"cells": [markdown, *cells], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def migrate(text: str, **chosen: Any) -> FileResult:
    settings = Settings(ignore=("NPU2",), **chosen)
    return languages()["notebook"].migrate(text, "nb.ipynb", settings, ProjectIndex())


def sources(text: str) -> list[str]:
    return ["".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "code"]


CODE = ["import torch\n", "net = torch.nn.Linear(4, 2).cuda()  # café 中"]


FORMS = [{"indent": 1}, {"indent": 2}, {"indent": "\t"}, {"indent": None}, {"separators": (",", ":")}]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("as_list", [True, False])
def test_only_code_changes_whatever_the_layout(form: dict, ascii_only: bool, as_list: bool) -> None:
    document = notebook(CODE if as_list else "".join(CODE), ["x = 1"])
    text = json.dumps(document, ensure_ascii=ascii_only, **form) + "\n"
    result = migrate(text)
    assert result.changed
    assert sources(result.text)[0] == (
        "import torch\nimport torch_npu  # noqa: F401\nnet = torch.nn.Linear(4, 2).npu()  # café 中"
    )
    expected = json.loads(text)
    expected["cells"][1]["source"] = json.loads(result.text)["cells"][1]["source"]
    assert result.text == json.dumps(expected, ensure_ascii=ascii_only, **form) + "\n"
    assert isinstance(json.loads(result.text)["cells"][1]["source"], list) == as_list
    again = migrate(result.text)
    assert (again.changed, again.text) == (False, result.text)


def test_unusual_escapes_of_untouched_text_survive() -> None:
    text = (
        r'{"cells":[{"cell_type":"code","source":["import torch\n","s = \"\u0041\/\"; x = '
        r'torch.zeros(1).cuda() # \ud83d\ude00"],"outputs":[]}],"nbformat":4}'
    )
    result = migrate(text)
    assert r'"s = \"\u0041\/\"; x = torch.zeros(1).npu() # \ud83d\ude00"' in result.text


def test_magics_and_shell_lines() -> None:
    text = json.dumps(notebook(
        ["%matplotlib inline\n", "!pip install gymnasium\n", "import torch\n", "if True:\n",
         "    !python train.py --device cuda\n", "files = !ls --device cuda\n",
         "%env CUDA_VISIBLE_DEVICES=0\n", "torch.zeros(1).cuda()\n", "torch.zeros?"],
        "%%bash\nexport CUDA_VISIBLE_DEVICES=0\n", "%%writefile train.py\nx.cuda()\n",
        "%%time\ny = torch.zeros(1).cuda()",
    ))
    code = sources(migrate(text).text)
    assert code[0] == (
        "%matplotlib inline\n!pip install gymnasium\nimport torch\nimport torch_npu  # noqa: F401\nif True:\n"
        "    !python train.py --device npu\nfiles = !ls --device npu\n"
        "%env ASCEND_RT_VISIBLE_DEVICES=0\ntorch.zeros(1).npu()\ntorch.zeros?"
    )
    assert code[1] == "%%bash\nexport ASCEND_RT_VISIBLE_DEVICES=0\n"
    assert code[2] == "%%writefile train.py\nx.cuda()\n"
    assert code[3] == "%%time\ny = torch.zeros(1).npu()"


def test_a_name_of_one_cell_is_known_in_the_next() -> None:
    text = json.dumps(notebook("import torch as th", "x = th.zeros(1).cuda()", "def broken(:\n  th.cuda.x"))
    result = migrate(text)
    assert sources(result.text)[1] == "x = th.zeros(1).npu()"
    assert sources(result.text)[2] == "def broken(:\n  th.cuda.x"
    assert [f.code for f in result.left if f.code == "NPU198"] == ["NPU198"]


def test_findings_name_the_cell_and_the_line_of_the_file() -> None:
    text = json.dumps(notebook(["a = 1\n"], ["!nvidia-smi\n", "b = 2"]), indent=1)
    (finding,) = migrate(text).left
    assert finding.place is not None
    assert finding.place.line is not None
    assert "nvidia-smi" in text.split("\n")[finding.place.line - 1]
    assert finding.evidence[0].place == "cell 3, line 1"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"cells": 1}', '{"cells": [1, {"cell_type": "code"}]}', "[" * 100000,
     '{"cells": [' + '{"a":' * 5000 + "1" + "}" * 5000 + "]}",
     '{"cells": [{"cell_type": "code", "source": ["x.cuda('],
)
def test_what_is_no_notebook_is_left_alone(text: str) -> None:
    result = migrate(text)
    assert result.text == text
    assert not result.changed


def test_other_languages_are_left_alone() -> None:
    text = json.dumps(notebook("x <- torch.zeros(1).cuda()", kernelspec={"language": "R"}))
    assert migrate(text).text == text


def test_a_notebook_of_format_three() -> None:
    cell = {"cell_type": "code", "input": ["import torch\n", "x = torch.zeros(1).cuda()"], "outputs": []}
    text = json.dumps({"worksheets": [{"cells": [cell]}], "metadata": {}, "nbformat": 3})
    assert "torch.zeros(1).npu()" in migrate(text).text


def test_a_change_outside_the_code_is_refused() -> None:
    text = json.dumps(notebook("a = 1"))
    with pytest.raises(NotebookError):
        replace_code(text, {2: "b = 1\r\x00", 99: "x"})


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=4), st.data())
def test_replacing_code_is_exact(codes: list[str], data: Any) -> None:
    as_lists = [c.splitlines(keepends=True) if data.draw(st.booleans()) else c for c in codes]
    indent = data.draw(st.sampled_from([None, 1]))
    text = json.dumps(notebook(*as_lists), ensure_ascii=data.draw(st.booleans()), indent=indent)
    found = code_cells(text)
    new = {cell.number: data.draw(st.text(max_size=40)) for cell in found}
    try:
        result = replace_code(text, new)
    except NotebookError:
        return
    for cell in code_cells(result):
        assert cell.text == new[cell.number]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(["x = 1", "!ls", "%time y", "  z", "", "a?", "b = !ls", "if x:", "    !ls"])))
def test_masking_is_undone_exactly(lines: list[str]) -> None:
    code = "\n".join(lines)
    masked = mask(code, 1)
    if masked.code is not None:
        assert masked.code.count("\n") == code.count("\n")
        assert unmask(masked.code, masked) == code


def test_a_list_of_another_cell_is_left_alone() -> None:
    """A cell may be run again, and its list then holds numbers of the first time."""
    fill = "for i in range(3):\n    xs.append(torch.rand(3).mean().item())\n"

    def changed(*cells: str) -> bool:
        text = json.dumps(notebook(*cells))
        return languages()["notebook"].migrate(text, "a.ipynb", Settings(), ProjectIndex()).changed

    assert changed("import torch\n", "xs = []\n" + fill)
    assert not changed("import torch\nxs = []\n", fill)
