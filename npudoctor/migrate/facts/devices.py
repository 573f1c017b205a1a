"""Where a project produces device strings, and who defines a `cuda` method."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from npudoctor.migrate.api import Fact, ModuleContext, Role, literals, name_of_place, role_of


@dataclass(frozen=True)
class DeviceFacts:
    """What one module says about devices.

    Attributes:
        produces: name that carries a device (`device`, `rl_device`) -> words it is given here
            (`cuda`, `npu`, `cpu`). Configuration files are entered in the same form.
        cuda_methods: classes that define their own `cuda` method.
    """

    produces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cuda_methods: tuple[str, ...] = ()


def summarise(ctx: ModuleContext) -> DeviceFacts:
    """The device facts of one module."""
    produces: dict[str, set[str]] = {}
    for literal in literals(ctx):
        if role_of(ctx, literal.node) is Role.PRODUCER:
            name = name_of_place(ctx, literal.node)
            if name is not None:
                produces.setdefault(name.lower(), set()).add(literal.word)
    methods = [
        owner.name
        for owner in ctx.nodes(ast.ClassDef)
        for member in owner.body
        if isinstance(member, ast.FunctionDef) and member.name == "cuda"
    ]
    words = {name: tuple(sorted(found)) for name, found in sorted(produces.items())}
    return DeviceFacts(words, tuple(methods))


FACT = Fact("devices", ("cuda", '"npu', "'npu"), summarise)
