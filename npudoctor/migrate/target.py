"""Which release of torch_npu the migration writes for, and why that one.

`--torch-npu` or the setting decides. Without it: what the project pins, else what is installed
beside npudoctor, else the default of the engine. Nothing is imported to find out.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass

from npudoctor import tables
from npudoctor.config import Config
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.migrate import filetypes
from npudoctor.migrate.settings import DEFAULT_TORCH_NPU, Settings
from npudoctor.migrate.walk import Tree, shown

_NOT_A_VERSION = Text(
    "'{version}' is not a version of torch_npu", "“{version}”不是 torch_npu 的版本号"
)
_HINT = Text(
    "write it as the package index does, for example {known}", "请按软件包索引的写法填写，例如 {known}"
)
_DECLARING = (filetypes.REQUIREMENTS, filetypes.TOML, filetypes.INI, filetypes.YAML, filetypes.DOCKERFILE)
_MAX_FILES = 40


@dataclass(frozen=True)
class Target:
    """A release and where the choice comes from (`requirements.txt: torch==2.4.0`)."""

    version: str
    origin: str = ""


def unknown_since(version: str) -> str:
    """The date of the pairing table when it holds no torch_npu `version`; empty when it does."""
    table = tables.load("pairing")
    return "" if any(row["torch_npu"] == version for row in table.rows) else table.date


def settings_for(tree: Tree, config: Config) -> tuple[Settings, Target]:
    """The engine's settings for `tree`, and the target they name."""
    target = target_for(tree, config)
    settings = Settings(
        style=config.style,
        unsafe=config.unsafe_fixes,
        select=config.select,
        ignore=config.ignore,
        torch_npu=target.version,
    )
    return settings, target


def target_for(tree: Tree, config: Config) -> Target:
    """The release to write for.

    Raises:
        UserError: the one that was asked for is not a version.
    """
    if config.torch_npu:
        return Target(_checked(config.torch_npu), "--torch-npu")
    return next(_candidates(tree), Target(DEFAULT_TORCH_NPU))


def _checked(version: str) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        Version(version)
    except InvalidVersion:
        raise UserError(_NOT_A_VERSION, _HINT, {"version": version, "known": DEFAULT_TORCH_NPU}) from None
    return version


def _candidates(tree: Tree) -> Iterator[Target]:
    from npudoctor.migrate.idioms.npu177_torch_pin import releases

    pairs = releases()
    for path, name, spec in _pins(tree):
        if name == "torch-npu" and spec.startswith("=="):
            yield Target(spec[2:].strip(), f"{shown(path)}: torch-npu{spec}")
    for path, _, spec in _pins(tree):
        paired = _paired(spec, pairs)
        if paired:
            yield Target(paired, f"{shown(path)}: torch{spec}")
    installed = _installed("torch_npu")
    if installed:
        yield Target(installed, f"installed torch_npu {installed}")
    torch = _installed("torch")
    if torch and torch in pairs:
        yield Target(pairs[torch], f"installed torch {torch}")


def _paired(spec: str, pairs: dict[str, str]) -> str:
    """torch_npu for a version part that pins torch down; empty when it pins nothing or nothing fits."""
    from npudoctor.migrate.idioms.npu177_torch_pin import allows

    fitting = [torch for torch in pairs if allows(spec, torch)]
    return pairs[fitting[0]] if fitting and len(fitting) < len(pairs) else ""


def _pins(tree: Tree) -> list[tuple[str, str, str]]:
    """`(file, name, spec)` of torch and torch-npu in the files at the top of the tree."""
    from npudoctor.migrate.lang import languages
    from npudoctor.migrate.source import SourceError
    from npudoctor.migrate.writer import read

    found = []
    for entry in [e for e in tree.entries if "/" not in e.path and e.kind in _DECLARING][:_MAX_FILES]:
        language = languages()[entry.kind]
        try:
            data = read(tree.root, entry.path)
            if b"torch" not in data or language.view is None:
                continue
            view = language.view(language.decode(data).text, entry.path)
        except (OSError, SourceError):
            continue
        found += [
            (entry.path, r.name.replace("pytorch", "torch"), r.spec)
            for r in view.requirements
            if r.name in ("torch", "pytorch", "torch-npu")
        ]
    return found


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""
