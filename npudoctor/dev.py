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
from npudoctor.commands import explain
from npudoctor.core.text import Text, catalogue
from npudoctor.core.unit_words import about, bare
from npudoctor.migrate import problems, result
from npudoctor.symptoms.rows import Symptom, all_symptoms

ROOT = Path(__file__).resolve().parent.parent
# package of units -> title of its group
GROUPS = {
    "npudoctor.check.checks": "check",
    "npudoctor.migrate.rules": "migrate",
    "npudoctor.migrate.idioms": "migrate: other files",
    "npudoctor.smoke_test.stages": "smoke-test",
    "npudoctor.simulate.rules": "simulate",
    "npudoctor.profile.bounds": "profile",
    "npudoctor.export.rules": "export",
}
_NAME = re.compile(r"npu(\d{3})_(\w+)")


@dataclass(frozen=True)
class Page:
    """One code: the command that says it, its description in Markdown, and its messages."""

    code: str
    slug: str
    group: str
    body: str
    texts: tuple[Text, ...]

    def render(self) -> str:
        """The Markdown of the page: what it is, its examples, its messages in both languages."""
        parts = [f"# {self.code} {self.slug}", "", f"Command: `npudoctor {self.group.partition(':')[0]}`", ""]
        parts += [self.body, "", "## Messages", "", "| English | 中文 |", "|---|---|"]
        parts += [f"| {_cell(text.en)} | {_cell(text.zh)} |" for text in map(bare, self.texts)]
        return "\n".join(parts) + "\n"


def import_everything() -> None:
    """Import every module of npudoctor, so that the catalogue is whole."""
    for module in pkgutil.walk_packages(npudoctor.__path__, "npudoctor."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def pages() -> list[Page]:
    """Every code, in order: units, what commands say besides, and symptoms."""
    import_everything()
    by_module: dict[str, list[Text]] = {}
    for module, text in catalogue():
        by_module.setdefault(module, []).append(text)
    found = [*_units(by_module), *_about_files(), *_said(), *map(_symptom, all_symptoms())]
    return sorted(found, key=lambda p: p.code)


def _units(by_module: dict[str, list[Text]]) -> Iterator[Page]:
    for package_name, group in GROUPS.items():
        package = importlib.import_module(package_name)
        for info in pkgutil.iter_modules(package.__path__):
            match = _NAME.fullmatch(info.name)
            if match:
                code, slug = f"NPU{match[1]}", match[2].replace("_", "-")
                module = importlib.import_module(f"{package_name}.{info.name}")
                texts = tuple(by_module.get(module.__name__, ()))
                yield Page(code, slug, group, _body(code, module), texts)


def _body(code: str, module: ModuleType) -> str:
    """The page that is also the unit's test, where there is one, else the unit's own description."""
    markdown = next(iter(sorted((ROOT / "fixtures").glob(f"*/{code}_*.md"))), None)
    if markdown is None:
        return "\n".join([(module.__doc__ or "").strip(), "", about(module).render("zh")])
    return _fences(markdown.read_text(encoding="utf-8").partition("\n")[2].strip())


def _about_files() -> Iterator[Page]:
    """What `migrate` says about whole files."""
    single = {code: (slug, (message,)) for code, (slug, message) in problems.UNITS.items()}
    for code, (slug, said) in {**single, **result.PAGES}.items():
        texts = tuple(text for m in said for text in (m.title, m.cause, m.fix))
        yield Page(code, slug, "migrate: whole files", "About a file as a whole. 关于整个文件。", texts)


def _said() -> Iterator[Page]:
    """What commands say besides their units."""
    for command, module in explain.SAID.items():
        for code, said in importlib.import_module(module).SAID.items():
            sources = "\n".join(f"Source: <{address}>" for address in said.sources)
            yield Page(code, said.slug, command, sources, tuple(text for _, text in said.texts))


def _symptom(row: Symptom) -> Page:
    examples = "\n".join(["```text", *row.examples, "```"])
    sources = "\n".join(f"- <{address}>" for address in row.sources)
    body = f"{examples}\n\nSources ({row.strength}):\n\n{sources}"
    texts = (row.title, row.cause, row.fix, *(t for c in row.candidates for t in (c.cause, c.test, c.fix)))
    return Page(row.code, row.id, f"explain: {row.area}", body, texts)


def write_docs(folder: Path) -> int:
    """Write an index and one page per code; returns the number of pages."""
    made = pages()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("NPU*.md"):
        old.unlink()
    index = ["# Findings", "", "Generated from the code. Codes are stable and never used again.", ""]
    for group in dict.fromkeys(page.group for page in made):
        index += ["", f"## {group}", "", "| code | fault | first message | 中文 |", "|---|---|---|---|"]
        for page in (page for page in made if page.group == group):
            (folder / f"{page.code}.md").write_text(page.render(), encoding="utf-8")
            first = bare(page.texts[0])
            index.append(
                f"| [{page.code}]({page.code}.md) | {page.slug} | {_cell(first.en)} | {_cell(first.zh)} |"
            )
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return len(made)


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
