"""Under which name a device string is stored: what joins a default to the tests it feeds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.calls import string_of
from npudoctor.migrate.positions import name_of_target, option_name, outermost, parameter_of_default

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext


def name_of_place(ctx: ModuleContext, node: ast.expr) -> str | None:
    """The name a device string is stored under: the variable, field, parameter, option or key."""
    expr, above = outermost(ctx, node)
    if isinstance(above, (ast.List, ast.Tuple)):
        holder = ctx.parent(above)
        if isinstance(holder, (ast.For, ast.comprehension)):
            return name_of_target(holder.target)
        return string_of(holder.args[0]) if isinstance(holder, ast.Call) and holder.args else None
    if isinstance(above, ast.keyword):
        call = ctx.parent(above)
        if above.arg in ("default", "default_value") and isinstance(call, ast.Call):
            return _clean(option_name(ctx, call))
        return above.arg
    if isinstance(above, ast.Assign):
        return name_of_target(above.targets[0])
    if isinstance(above, (ast.AnnAssign, ast.NamedExpr)):
        return name_of_target(above.target)
    if isinstance(above, ast.arguments):
        return parameter_of_default(above, expr)
    if isinstance(above, ast.Dict) and expr in above.values:
        return string_of(above.keys[above.values.index(expr)])
    if isinstance(above, ast.Call) and expr in above.args and ctx.called_name(above) == "torch.device":
        return name_of_place(ctx, above)
    if isinstance(above, ast.Call) and expr in above.args and above.args:
        return string_of(above.args[0]) if isinstance(above.func, ast.Attribute) else None
    return None


def _clean(option: str | None) -> str | None:
    return option.lstrip("-").replace("-", "_") if option else None
