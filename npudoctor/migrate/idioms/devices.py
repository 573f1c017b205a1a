"""How device values and the names that hold them are recognised outside Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from npudoctor.migrate.facts.devices import FACT, DeviceFacts
from npudoctor.migrate.view import View, Word

VALUE = re.compile(r"cuda(:\d+)?")
_WORD = re.compile(r"(cuda|npu|cpu)(:\d+)?")
_NAME = re.compile(r"(^|[_.\-/])devices?(_?(type|name|str|id))?$", re.IGNORECASE)
# What runs there is a simulator or a renderer, not torch.
_NOT_TORCH = re.compile(r"(sim|physics|physx|graphics|render|display|video|isaac)", re.IGNORECASE)


def is_device_name(name: str) -> bool:
    """Whether an option or key of this name holds a torch device (`device`, `rl_device`, `DEVICE`)."""
    return bool(_NAME.search(_snake(name))) and not _NOT_TORCH.search(name)


def is_other_device(name: str) -> bool:
    """Whether it holds the device of something that is not torch (`sim_device`)."""
    return bool(_NAME.search(_snake(name))) and bool(_NOT_TORCH.search(name))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def device_facts(view: View) -> Mapping[str, Any]:
    """What a file that is not Python says about devices, in the form of the project's index.

    A comparison such as `cfg.device == "cuda"` moves only where something is known to feed it.
    """
    if view.report_only:
        return {}
    produces: dict[str, set[str]] = {}
    for name, value in _given(view):
        match = _WORD.fullmatch(value.text)
        if match and is_device_name(name):
            last = re.split(r"[./]", name.lstrip("-+"))[-1]
            produces.setdefault(last.replace("-", "_").lower(), set()).add(match.group(1))
    if not any({"cuda", "npu"} & words for words in produces.values()):
        return {}
    words = {name: tuple(sorted(found)) for name, found in sorted(produces.items())}
    return {FACT.name: DeviceFacts(produces=words)}


def _given(view: View) -> Iterator[tuple[str, Word]]:
    """Name and value of every setting and option."""
    for setting in view.settings:
        yield setting.key.text, setting.value
    for command in view.commands:
        for word, following in zip(command.words, (*command.words[1:], None)):
            name, equals, _ = word.text.partition("=")
            if equals:
                yield name, word.part(len(name) + 1)
            elif word.text.startswith("-") and following is not None:
                yield word.text, following
