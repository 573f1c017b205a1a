"""How device values and the names that hold them are recognised outside Python."""

from __future__ import annotations

import re

VALUE = re.compile(r"cuda(:\d+)?")
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
