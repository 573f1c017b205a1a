"""Positions inside f-strings are exact on every Python."""

from __future__ import annotations

import ast

import pytest

from npudoctor.migrate.context import ModuleContext

SOURCES = [
    'x = f"{a}"',
    "x = f'é{name:>{width}} {other!r:^10} {z}'",
    'x = f"{{}} {d[\'k\']} {f(1, (2, 3))}"',
    "x = (f'{first}'\n     'plain {not_a_field}'  # {comment}\n     f'{second}')",
    'x = f"""\n{ a\n + b }\n"""',
    "x = rf'\\d{a}' \\\n    f'{b}'",
    "x = f'{a != b} {c=} {d = !r}'",
    "x = f'{\"cuda\" if torch.cuda.is_available() else \"cpu\"}:{rank}'",
    "x = f'{(lambda q: q)(3)} {f\"{inner}\"} {[i for i in y if i]}'",
    "print(f'Loss: {loss.item():.3f} at {x.cuda().mean():.2f}', f'{x.cuda()}')",
    "x = f'\\N{DEGREE SIGN}{t}'",
]


@pytest.mark.parametrize("source", SOURCES)
def test_span_of_every_node_in_an_fstring_is_its_text(source: str) -> None:
    ctx = ModuleContext(source)
    checked = 0
    for joined in ctx.nodes(ast.JoinedStr):
        for part in ast.walk(joined):
            if isinstance(part, ast.Name):
                assert ctx.text(part) == part.id
                checked += 1
            elif isinstance(part, ast.Attribute):
                assert ctx.text(part).endswith(part.attr)
            elif isinstance(part, ast.expr) and getattr(ctx.parent(part), "value", None) is part:
                twin = ast.parse(f"({ctx.text(part)})", mode="eval").body
                assert ast.dump(twin) == ast.dump(part)
    assert checked
