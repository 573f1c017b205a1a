"""What YAML, TOML, JSON and INI share: which keys hold commands, images, requirements, variables."""

from __future__ import annotations

import re

from npudoctor.migrate.lang.shellwords import add_command, read_commands, requirement_of
from npudoctor.migrate.view import Setting, View, Word

_COMMANDS = frozenset(
    {"run", "script", "before_script", "after_script", "command", "commands", "cmd", "entrypoint",
     "args", "shell", "setup", "setup_commands", "entry"}
)
_IMAGES = frozenset({"image", "container", "base_image", "docker_image", "baseimage", "dockerimage", "from"})
_REQUIREMENTS = frozenset(
    {"dependencies", "pip", "install_requires", "requires", "requirements", "packages", "deps",
     "extras_require", "optional-dependencies", "dev-dependencies", "tests_require", "setup_requires"}
)
_ENVIRONMENTS = frozenset({"env", "environment", "environments", "env_vars", "envvars", "environ", "setenv",
                           "containerenv", "remoteenv", "variables", "pass_env", "passenv"})
# A value under one of these belongs to the key above: `device: {value: cuda}` of a sweep.
_CARRIERS = frozenset({"value", "values", "default", "defaults", "choices", "options"})
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_ASSIGNED = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=")


def add_value(view: View, path: tuple[str, ...], key: Word, value: Word, listed: bool = False) -> None:
    """Add one scalar to `view`.

    Args:
        view: the file.
        path: keys above, outermost first, without `key`.
        key: name of the value, or of the list it stands in.
        value: the scalar.
        listed: the value is an element of a list.
    """
    name = key.text.lower()
    if name in _CARRIERS and path:
        key = Word(path[-1], key.at, False, key.begin)
        path = path[:-1]
    names = {name, *(p.lower() for p in path)}
    env = bool(names & _ENVIRONMENTS) or bool(_VARIABLE.fullmatch(key.text))
    assigned = _ASSIGNED.match(value.text)
    if assigned:
        setting = Setting(value.part(0, assigned.end(1)), value.part(assigned.end()), path, True)
        view.settings.append(setting)
        return
    if listed and _VARIABLE.fullmatch(value.text) and env:
        view.mentions.append(value)
    view.settings.append(Setting(key, value, path, env))
    if name in _IMAGES:
        view.images.append(value)
    elif names & _REQUIREMENTS and listed and (found := requirement_of(value)):
        view.requirements.append(found)
    elif name in _COMMANDS and not listed:
        _command_text(view, value)


def add_list(view: View, key: str, items: list[Word]) -> None:
    """A list of scalars that is one command line (`args: ["--device", "cuda"]`)."""
    if key.lower() in _COMMANDS and items:
        add_command(view, items)


def is_command_key(key: str) -> bool:
    """Whether a block of text under `key` is shell."""
    return key.lower() in _COMMANDS


def _command_text(view: View, value: Word) -> None:
    """A command in one scalar. Only where file and value agree can words be placed."""
    start, end = value.span()
    if value.text and view.text[start:end] == value.text:
        read_commands(view, start, end)
