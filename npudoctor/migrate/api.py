"""What a migration rule may import: rules, changes, edits, settings and the module context.

Spans are half-open `[start, end)` offsets in characters of the module's text, never bytes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional, Union

from npudoctor.core.finding import Safety, Severity
from npudoctor.core.text import Text
from npudoctor.migrate.apitable import Api
from npudoctor.migrate.apitable import lookup as lookup_api
from npudoctor.migrate.calls import argument, has_spread, is_true, keyword_of, string_of
from npudoctor.migrate.compare import carrier, is_device, is_fed, lists_both, other_side, other_side_of
from npudoctor.migrate.context import ModuleContext
from npudoctor.migrate.dual import is_dual
from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.literals import Literal
from npudoctor.migrate.names import Binding, Scope
from npudoctor.migrate.places import name_of_place
from npudoctor.migrate.positions import Role, name_of_target, option_name, outermost, role_of
from npudoctor.migrate.project import Fact, ProjectIndex
from npudoctor.migrate.settings import STYLES, Settings
from npudoctor.migrate.style import can_pick, device_literal
from npudoctor.migrate.torchnames import (
    import_places,
    imports_npu,
    is_chain_end,
    is_torch_project,
    literals,
    module_node,
    resolved_api,
    top_import_place,
    torch_path,
    uses_accelerator,
    uses_npu,
    uses_simulator,
)
from npudoctor.migrate.vocabulary import (
    ACCELERATOR_WORDS,
    BACKEND,
    DEVICE,
    FOREIGN_ROOTS,
    Vocabulary,
    is_device_name,
    is_simulator_name,
)

__all__ = [
    "ACCELERATOR_WORDS",
    "BACKEND",
    "DEVICE",
    "FOREIGN_ROOTS",
    "STYLES",
    "Api",
    "Binding",
    "Change",
    "Edit",
    "Fact",
    "Kind",
    "Literal",
    "Message",
    "ModuleContext",
    "ProjectIndex",
    "Role",
    "Rule",
    "Safety",
    "Scope",
    "Settings",
    "Severity",
    "Text",
    "Vocabulary",
    "argument",
    "can_pick",
    "carrier",
    "change",
    "device_literal",
    "edit",
    "has_spread",
    "import_places",
    "imports_npu",
    "is_chain_end",
    "is_device",
    "is_device_name",
    "is_dual",
    "is_fed",
    "is_simulator_name",
    "is_torch_project",
    "is_true",
    "keyword_of",
    "lists_both",
    "literals",
    "lookup_api",
    "module_node",
    "name_of_place",
    "name_of_target",
    "option_name",
    "other_side",
    "other_side_of",
    "outermost",
    "resolved_api",
    "role_of",
    "string_of",
    "top_import_place",
    "torch_path",
    "uses_accelerator",
    "uses_npu",
    "uses_simulator",
]


@dataclass(frozen=True)
class Edit:
    """Replace `text[start:end]` by `text`.

    Edits of one non-empty `group` within one file are applied together or not at all.
    """

    start: int
    end: int
    text: str
    group: str = ""


@dataclass(frozen=True)
class Message:
    """The words of a finding: what was seen, why it matters, what to do.

    All three may use the same named parameters, filled from `Change.params`;
    `{code}` of the user's program is passed as a parameter, never pasted into a template.
    """

    title: Text
    cause: Text
    fix: Text
    severity: Severity = Severity.NOTE
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One finding of a rule: where, the parameters of its message, and the edits that mend it.

    Attributes:
        start, end: span of the finding.
        edits: empty for a report without a rewrite.
        safety: None means the rule's own safety. A change without edits is always MANUAL.
        message: None means the rule's own message.
    """

    start: int
    end: int
    params: Mapping[str, object] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    safety: Safety | None = None
    message: Message | None = None
    severity: Severity | None = None


@dataclass(frozen=True)
class Rule:
    """One migration rule.

    Attributes:
        code, slug: stable names; the slug names the fault, never the cure.
        message: the words of its findings, unless a change brings its own.
        safety: what applying its edits may change.
        triggers: literals; a file that holds none of them is never parsed for this rule.
            A tuple of literals asks for all of them. It must be cheap and complete, not exact.
        nodes: `ast` node types that `run` wants to see.
        run: called once per such node; yields changes and performs no I/O.
        applies: whether the rule has anything to say under these settings.
        follows: changes that follow from those chosen in a round (`(code, change)` pairs),
            made together with them; without it they would be found one round later.
        also_dual: run in files that already choose between CUDA and NPU themselves
            (such files are left alone by every other rule).
    """

    code: str
    slug: str
    message: Message
    safety: Safety
    triggers: tuple[Union[str, tuple[str, ...]], ...]
    nodes: tuple[type[ast.AST], ...]
    run: Callable[[ast.AST, ModuleContext], Iterable[Change]]
    applies: Callable[[Settings], bool] = lambda settings: True
    follows: Optional[Callable[[ModuleContext, Sequence[tuple[str, Change]]], Iterable[Change]]] = None
    also_dual: bool = False

    @property
    def title(self) -> Text:
        """The fault in one line."""
        return self.message.title


def edit(ctx: ModuleContext, node: ast.AST, text: str, group: str = "") -> Edit:
    """Replace the whole of `node` by `text`."""
    start, end = ctx.span(node)
    return Edit(start, end, text, group)


def change(
    ctx: ModuleContext,
    node: ast.AST,
    *edits: Edit,
    message: Message | None = None,
    safety: Safety | None = None,
    severity: Severity | None = None,
    **params: object,
) -> Change:
    """A `Change` at `node`; the parameter `code` is filled with the node's first line."""
    start, end = ctx.span(node)
    first = ctx.source[start:end].splitlines()[0] if end > start else ""
    full = {"code": first if len(first) <= 80 else first[:77] + "...", **params}
    return Change(start, end, full, edits, safety, message, severity)
