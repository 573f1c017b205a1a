"""One module per kind of file, found by walking this package; each exposes `LANGUAGE`.

A language takes decoded text and gives a `FileResult`; it performs no I/O.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from npudoctor.migrate.engine import FileResult
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.source import Source
from npudoctor.migrate.view import View

Migrate = Callable[[str, str, Settings, ProjectIndex], FileResult]
Facts = Callable[[str, str], Mapping[str, Any]]


def _no_facts(text: str, path: str) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Language:
    """How to handle one kind of file.

    Attributes:
        kind: as named in `filetypes`.
        decode: bytes to text.
        wants: whether bytes may hold something of interest; cheap and complete.
        migrate: `(text, path, settings, project)` -> result; never raises for bad input.
        facts: `(text, path)` -> facts for the index of the project.
        indexed: whether `facts` has something to say in this kind of file.
        view: `(text, path)` -> what idioms see; None for kinds that hold Python.
    """

    kind: str
    decode: Callable[[bytes], Source]
    wants: Callable[[bytes], bool]
    migrate: Migrate
    facts: Facts = _no_facts
    indexed: bool = False
    view: Callable[[str, str], View] | None = None


@functools.cache
def languages() -> Mapping[str, Language]:
    """Every language by kind."""
    from npudoctor.core.registry import unit_modules
    from npudoctor.migrate import lang

    found = [module.LANGUAGE for module in unit_modules(lang) if hasattr(module, "LANGUAGE")]
    return {language.kind: language for language in found}


@functools.cache
def _words() -> re.Pattern[bytes]:
    """Anything an idiom starts from."""
    from npudoctor.migrate.idioms import npu178_nvidia_command as commands
    from npudoctor.migrate.idioms import npu180_cuda_package as packages

    words = {"cuda", "npu", "nvidia", "nccl", "gpu", "torch", "cublas", "cu1", "npudoctor"}
    words |= set(packages.packages()) | set(commands.TOOLS)
    spelled = sorted(re.escape(word).replace(r"\-", "[-_.]") for word in words)
    return re.compile("|".join(spelled).encode("ascii"), re.IGNORECASE)


def wanted_words(data: bytes) -> bool:
    """Whether a file that is not Python may hold an idiom."""
    return _words().search(data) is not None
