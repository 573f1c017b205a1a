"""`import gym` is gymnasium under its old name, with the calls of today."""

from __future__ import annotations

import sys
import types

import gymnasium
import gymnasium.spaces.box
import gymnasium.wrappers

_clip = types.ModuleType("gym.wrappers.clip_action")
_clip.ClipAction = gymnasium.wrappers.ClipAction  # type: ignore[attr-defined]
sys.modules.update({
    "gym": gymnasium, "gym.spaces": gymnasium.spaces, "gym.spaces.box": gymnasium.spaces.box,
    "gym.wrappers": gymnasium.wrappers, "gym.wrappers.clip_action": _clip,
})
