"""Fill a page of data/templates; one sentence where jinja2, which does it, is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text

FOLDER = Path(__file__).parent.parent / "data" / "templates"
_MISSING = Text("an HTML page needs the package jinja2", "生成 HTML 页面需要软件包 jinja2")
_INSTALL = Text(
    "python -m pip install jinja2, or install npudoctor[report]",
    "请执行 python -m pip install jinja2，或安装 npudoctor[report]",
)


def require() -> None:
    """Say before the work starts what would stop the page after it.

    Raises:
        UserError: jinja2 is not installed.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise UserError(_MISSING, _INSTALL) from None


def fill(name: str, **values: Any) -> str:
    """The template `name` (a file of FOLDER) as text; every value is escaped, and none may be missing.

    Raises:
        UserError: jinja2 is not installed.
    """
    require()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string((FOLDER / name).read_text(encoding="utf-8")).render(**values)
