"""Dockerfiles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate import filetypes
from npudoctor.migrate.lang.shellwords import add_command, read_commands
from npudoctor.migrate.lang.viewed import viewed
from npudoctor.migrate.view import Setting, View, Word, word_at

_INSTRUCTION = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+", re.ASCII)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_RUNS = frozenset({"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK", "SHELL"})


def view(text: str, path: str) -> View:
    """Instructions as images, settings and commands."""
    seen = View(text, path, filetypes.DOCKERFILE)
    for name, start, end in _instructions(text):
        if name == "FROM":
            _from(seen, start, end)
        elif name in ("ENV", "ARG"):
            _variables(seen, start, end, env=name == "ENV")
        elif name == "ONBUILD":
            inner = _INSTRUCTION.match(text, start, end)
            if inner and inner.group(1).upper() in _RUNS:
                _command(seen, inner.end(), end)
        elif name in _RUNS:
            _command(seen, start, end)
    return seen


def _instructions(text: str) -> Iterator[tuple[str, int, int]]:
    """`(NAME, start, end)` of the arguments of each instruction, continued lines included."""
    start = 0
    while start < len(text):
        end = _line_end(text, start)
        match = _INSTRUCTION.match(text, start, end)
        if match and not text[start:end].lstrip().startswith("#"):
            while _continues(text, start, end) and end < len(text):
                end = _line_end(text, end + 1)
            yield match.group(1).upper(), match.end(), end
        start = end + 1


def _continues(text: str, start: int, end: int) -> bool:
    """Whether the last line of `text[start:end]` goes on: a backslash, or a comment in between."""
    line = text[text.rfind("\n", start, end) + 1 if "\n" in text[start:end] else start : end].strip()
    return line.endswith("\\") or (line.startswith("#") and "\n" in text[start:end])


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _from(seen: View, start: int, end: int) -> None:
    for match in re.finditer(r"\S+", seen.text[start:end]):
        if not match.group().startswith("--"):
            word = word_at(seen.text, start + match.start(), start + match.end())
            seen.images.append(word)
            return


def _variables(seen: View, start: int, end: int, env: bool) -> None:
    """`NAME=value ...`, or the old form `NAME value`."""
    probe = View(seen.text, seen.path, seen.kind)
    read_commands(probe, start, end)
    seen.mentions.extend(probe.mentions)
    words = [word for command in probe.commands for word in command.words]
    if words and "=" not in words[0].text and len(words) > 1:
        seen.settings.append(Setting(words[0], words[1], (), env))
        return
    for word in words:
        match = _PAIR.match(word.text)
        if match:
            # An ARG gives RUN commands a variable of the same name: it counts as one of the environment.
            seen.settings.append(Setting(word.part(0, match.end(1)), word.part(match.end()), (), True))
            _base_image(seen, word.part(match.end()))


def _base_image(seen: View, value: Word) -> None:
    """`ARG BASE=nvidia/cuda:12.1.0-devel-ubuntu22.04` names an image."""
    if re.fullmatch(r"[\w./-]+/[\w.-]+:[\w.-]+", value.text):
        seen.images.append(value)


def _command(seen: View, start: int, end: int) -> None:
    body = seen.text[start:end].lstrip()
    if body.startswith("["):
        spans = [(start + m.start(1), start + m.end(1)) for m in _STRING.finditer(seen.text[start:end])]
        add_command(seen, [word_at(seen.text, a, b) for a, b in spans])
    else:
        read_commands(seen, start, end)


LANGUAGE = viewed(filetypes.DOCKERFILE, view)
