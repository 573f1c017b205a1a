"""The rounds over one module: what is applied, what is left, and what makes a file stay as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from npudoctor.core.finding import Safety
from npudoctor.migrate.api import Change, Edit, Message, ModuleContext, Rule, Settings, Text, change
from npudoctor.migrate.engine import migrate_source

CUDA = "import torch\nx = torch.zeros(3).cuda()\n"
MESSAGE = Message(Text("title {code}", "标题 {code}"), Text("cause", "原因"), Text("fix", "修复"))


def rule(run, nodes=(ast.Name,), safety=Safety.SAFE, code="NPU198") -> Rule:  # type: ignore[no-untyped-def]
    return Rule(code, "test", MESSAGE, safety, ("a",), nodes, run)


def rename(old: str, new: str):  # type: ignore[no-untyped-def]
    def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
        assert isinstance(node, ast.Name)
        if node.id == old:
            yield change(ctx, node, Edit(*ctx.span(node), new))

    return run


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_tabs_and_form_feeds_survive(newline: str) -> None:
    source = newline.join(
        ["import torch", "\f", "def f(x):", "\treturn x.cuda()\t# caf\u00e9 \u5f20\u91cf", "", "y = 1"]
    )
    result = migrate_source(source, "a.py")
    expected = source.replace(".cuda()", ".npu()").replace(
        "import torch" + newline, f"import torch{newline}import torch_npu  # noqa: F401{newline}", 1
    )
    assert result.text == expected


def test_columns_are_characters_not_bytes() -> None:
    result = migrate_source('import torch\nx = "\u5f20\u91cf\u5f20\u91cf", torch.zeros(3).cuda()\n', "a.py")
    assert '"\u5f20\u91cf\u5f20\u91cf", torch.zeros(3).npu()' in result.text
    place = next(f.place for f in result.applied if f.code == "NPU101")
    assert place is not None
    assert (place.line, place.column) == (2, 13)


@pytest.mark.parametrize(
    "source",
    [
        "print 'cuda'\n",
        "x = (\n# cuda\n",
        "x.cuda(async=True)\n",
        "\x00cuda",
        "def f():\n\tx\n        y  # cuda\n",
    ],
)
def test_broken_modules_are_reported_and_untouched(source: str) -> None:
    result = migrate_source(source, "a.py")
    assert result.failed
    assert result.text == source
    assert [f.code for f in result.findings] == ["NPU100"]


def test_deep_nesting_is_reported_not_a_crash() -> None:
    source = "import torch\nx = " + "+".join(["torch.zeros(1).cuda()"] * 30_000) + "\n"
    result = migrate_source(source, "a.py")
    assert result.failed or result.text.count(".npu()") == 30_000


def test_suppression_needs_the_code_and_must_be_used() -> None:
    source = (
        "import torch\n"
        "a = torch.zeros(3).cuda()  # npudoctor: ignore[NPU101]\n"
        "b = torch.zeros(3).cuda()  # npudoctor: ignore\n"
        "c = 1  # npudoctor: ignore[NPU101]\n"
        's = "# npudoctor: ignore[NPU101]"\n'
    )
    result = migrate_source(source, "a.py")
    assert "a = torch.zeros(3).cuda()" in result.text
    assert "b = torch.zeros(3).npu()" in result.text
    assert [(f.place.line, f.code) for f in result.left if f.place] == [(3, "NPU199"), (4, "NPU199")]


def test_overlapping_edits_wait_for_the_next_round() -> None:
    rules = [rule(rename("a", "ab"), code="NPU197"), rule(rename("a", "abc"), code="NPU198")]
    result = migrate_source("a\n", "a.py", rules=rules)
    assert result.text == "ab\n"
    assert dict(result.edits) == {"NPU197": 1}


def test_a_rule_that_never_settles_leaves_the_file_alone() -> None:
    def grow(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
        yield change(ctx, node, Edit(*ctx.span(node), ctx.text(node) + "a"))

    result = migrate_source("a\n", "a.py", rules=[rule(grow)])
    assert result.failed
    assert result.text == "a\n"


def test_an_edit_that_would_lose_a_comment_is_left_to_a_person() -> None:
    def flatten(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
        if "\n" in ctx.text(node):
            yield change(ctx, node, Edit(*ctx.span(node), "[a]"))

    result = migrate_source("x = [  # keep me\n    a]\n", "a.py", rules=[rule(flatten, (ast.List,))])
    assert not result.failed
    assert result.text == "x = [  # keep me\n    a]\n"
    assert [f.code for f in result.left] == ["NPU198"]


def test_a_rule_that_breaks_the_syntax_leaves_the_file_alone() -> None:
    result = migrate_source("a\n", "a.py", rules=[rule(rename("a", "a b"))])
    assert result.failed
    assert result.text == "a\n"


def test_a_rule_that_crashes_costs_one_file_not_the_run() -> None:
    def crash(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
        raise KeyError("oops")

    result = migrate_source("a\n", "a.py", rules=[rule(crash)])
    assert result.failed
    assert "KeyError" in str(result.findings[0].params)


def test_unsafe_edits_need_the_option() -> None:
    rules = [rule(rename("a", "b"), safety=Safety.UNSAFE)]
    assert migrate_source("a\n", "a.py", Settings(), rules=rules).text == "a\n"
    assert migrate_source("a\n", "a.py", Settings(unsafe=True), rules=rules).text == "b\n"


@pytest.mark.parametrize(
    ("settings", "edits"),
    [
        (Settings(), {"NPU101": 1, "NPU105": 1}),
        (Settings(select=("NPU101",)), {"NPU101": 1}),
        (Settings(ignore=("NPU1",)), {}),
        (Settings(per_file_ignores={"lib/*": ("NPU101",)}), {}),
        (Settings(per_file_ignores={"other/*": ("NPU101",)}), {"NPU101": 1, "NPU105": 1}),
    ],
)
def test_selection(settings: Settings, edits: dict[str, int]) -> None:
    assert dict(migrate_source(CUDA, "lib/a.py", settings).edits) == edits


def test_outcomes_carry_edits_of_the_text_that_came_in_and_lines_of_the_one_that_came_out() -> None:
    result = migrate_source(CUDA, "a.py")
    for outcome in result.outcomes:
        assert outcome.applied
        for one in outcome.edits:
            assert CUDA[one.start : one.end] in ("", "cuda")
    call = next(o for o in result.outcomes if o.finding.code == "NPU101")
    assert call.finding.place is not None
    assert (call.finding.place.line, call.line) == (2, 3)
    assert result.text.splitlines()[call.line - 1] == "x = torch.zeros(3).npu()"


def test_files_without_a_trigger_are_not_even_parsed() -> None:
    result = migrate_source("this is not python, but nobody asks", "a.py")
    assert not result.failed
    assert not result.changed


@pytest.mark.parametrize("style", ["npu", "portable"])
def test_the_import_follows_a_change_in_a_file_that_never_says_cuda(style: str) -> None:
    source = "import torch\n\nscaler = torch.amp.GradScaler()\n"
    result = migrate_source(source, "a.py", Settings(style=style))
    assert "import torch_npu" in result.text


def test_a_bad_list_of_cards_is_reported_as_a_value() -> None:
    source = 'import os\nimport torch\n\nenv = dict(os.environ, CUDA_VISIBLE_DEVICES="1,0")\n'
    (left,) = migrate_source(source, "a.py").left
    assert left.title.render("en", left.params) == (
        'ASCEND_RT_VISIBLE_DEVICES would not understand the value "1,0"'
    )


def test_the_import_comes_before_what_stands_behind_torch_s_on_its_line() -> None:
    result = migrate_source("import torch; n = torch.cuda.device_count()\n", "a.py")
    assert result.text == "import torch; import torch_npu; n = torch.npu.device_count()\n"


def test_a_picker_has_no_place_inside_a_line() -> None:
    source = "import torch; n = torch.cuda.device_count()\n"
    assert not migrate_source(source, "a.py", Settings(style="portable")).changed
    after = migrate_source(
        "import torch\nimport os; n = torch.cuda.device_count()\n", "a.py", Settings(style="portable")
    )
    assert after.text.startswith("import torch\n\ntry:\n")
    assert after.text.endswith("\nimport os; n = accelerator_module.device_count()\n")
