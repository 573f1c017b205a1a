"""Tools of the project's own maintainers: `python -m npudoctor.dev docs|messages|picture`.

`docs FOLDER` writes one page per finding code from the units themselves; `messages` prints
the collected catalogue; `picture FILE COMMAND... [+ COMMAND...]` runs npudoctor and draws what it
printed (.ci/pictures.sh makes all of them).
Nothing here is used by the product's commands.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import npudoctor
from npudoctor.core.text import Text, catalogue
from npudoctor.core.unit_words import about

ROOT = Path(__file__).resolve().parent.parent
# package of units -> title of its group
GROUPS = {
    "npudoctor.check.checks": "check",
    "npudoctor.migrate.rules": "migrate",
    "npudoctor.migrate.idioms": "migrate: other files",
    "npudoctor.smoke_test.stages": "smoke-test",
    "npudoctor.profile.bounds": "profile",
    "npudoctor.export.rules": "export",
}
_NAME = re.compile(r"npu(\d{3})_(\w+)")


@dataclass(frozen=True)
class Page:
    """What is known of one code: its module, and its Markdown page where the unit has one."""

    code: str
    slug: str
    group: str
    module: ModuleType
    markdown: Path | None


def import_everything() -> None:
    """Import every module of npudoctor, so that the catalogue is whole."""
    for module in pkgutil.walk_packages(npudoctor.__path__, "npudoctor."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def pages() -> list[Page]:
    """Every unit of every group, by code."""
    found = []
    for package_name, group in GROUPS.items():
        package = importlib.import_module(package_name)
        for info in pkgutil.iter_modules(package.__path__):
            match = _NAME.fullmatch(info.name)
            if match:
                code, slug = f"NPU{match[1]}", match[2].replace("_", "-")
                markdown = next(iter(sorted((ROOT / "fixtures").glob(f"*/{code}_*.md"))), None)
                module = importlib.import_module(f"{package_name}.{info.name}")
                found.append(Page(code, slug, group, module, markdown))
    return sorted(found, key=lambda p: p.code)


def render(page: Page, texts: list[Text]) -> str:
    """The Markdown of one code: what it is, its examples, its messages in both languages."""
    parts = [f"# {page.code} {page.slug}", "", f"Command: `{page.group}`", ""]
    if page.markdown is not None:
        body = page.markdown.read_text(encoding="utf-8").split("\n", 1)
        parts += [_fences(body[1].strip() if len(body) > 1 else ""), ""]
    else:
        parts += [(page.module.__doc__ or "").strip(), "", about(page.module).render("zh"), ""]
    parts += ["## Messages", "", "| English | 中文 |", "|---|---|"]
    parts += [f"| {_cell(text.en)} | {_cell(text.zh)} |" for text in texts]
    return "\n".join(parts) + "\n"


def write_docs(folder: Path) -> int:
    """Write an index and one page per code; returns the number of pages."""
    import_everything()
    by_module: dict[str, list[Text]] = {}
    for module, text in catalogue():
        by_module.setdefault(module, []).append(text)
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# Findings", "", "Generated from the code. Codes are stable and never used again.", ""]
    group = ""
    for page in pages():
        if page.group != group:
            group = page.group
            index += ["", f"## {group}", "", "| code | fault | first message |", "|---|---|---|"]
        texts = by_module.get(page.module.__name__, [])
        name = f"{page.code}.md"
        (folder / name).write_text(render(page, texts), encoding="utf-8")
        index.append(f"| [{page.code}]({name}) | {page.slug} | {_cell(texts[0].en) if texts else ''} |")
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return len(pages())


def messages() -> Iterator[dict[str, str]]:
    """Every message with its module."""
    import_everything()
    for module, text in catalogue():
        yield {"module": module, "en": text.en, "zh": text.zh}


def picture(target: Path, args: list[str]) -> None:
    """Run `npudoctor ARGS`, and what follows each `+`, and draw the coloured output as an SVG terminal."""
    from rich.console import Console
    from rich.text import Text as Line

    # Results are kept only where the caller names a place for them.
    quiet = {} if "XDG_STATE_HOME" in os.environ else {"NPUDOCTOR_NO_STATE": "1"}
    env = {**os.environ, **quiet, "COLUMNS": "100", "LANG": "C.UTF-8", "FORCE_COLOR": "1"}
    console = Console(
        record=True, width=100, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    for words in _commands(args):
        done = subprocess.run(
            [sys.executable, "-m", "npudoctor", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=env,
            check=False,
        )
        console.print(Line(f"$ npudoctor {' '.join(words)}".rstrip(), style="bold"))
        console.print(Line.from_ansi(done.stdout))
    svg = console.export_svg(title="npudoctor", unique_id="npudoctor")
    # The page must not fetch fonts from elsewhere.
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    target.write_text(svg, encoding="utf-8")


def _commands(args: list[str]) -> Iterator[list[str]]:
    words: list[str] = []
    for arg in [*args, "+"]:
        if arg == "+":
            yield words
            words = []
        else:
            words.append(arg)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _fences(markdown: str) -> str:
    """Give the blocks of a rule page names that a Markdown renderer knows."""
    renamed = re.sub(r"^```(before|after|keep)\b.*$", r"*\1*\n\n```python", markdown, flags=re.MULTILINE)
    return re.sub(r"^```findings\b.*$", "*findings*\n\n```text", renamed, flags=re.MULTILINE)


def main(argv: list[str]) -> int:
    """Run one of the tools."""
    if len(argv) == 2 and argv[0] == "docs":
        print(f"{write_docs(Path(argv[1]))} pages")
        return 0
    if len(argv) > 2 and argv[0] == "picture":
        picture(Path(argv[1]), argv[2:])
        return 0
    if argv == ["messages"]:
        for row in messages():
            print(json.dumps(row, ensure_ascii=False))
        return 0
    usage = "docs FOLDER | messages | picture FILE COMMAND... [+ COMMAND...]"
    print(f"usage: python -m npudoctor.dev {usage}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
