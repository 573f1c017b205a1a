"""Put another object in the place of an attribute for as long as a simulation runs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any


def swap(stack: ExitStack, owner: Any, name: str, new: Any) -> None:
    """`owner.name` is `new` until `stack` closes; an attribute that `owner` only inherited goes again."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, new)
    if own:
        stack.callback(setattr, owner, name, before)
    else:
        stack.callback(delattr, owner, name)
