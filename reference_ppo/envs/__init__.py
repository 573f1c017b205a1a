"""Environments: the built-in reach task, and any gymnasium environment with Box or Discrete actions."""

from __future__ import annotations

from reference_ppo.envs.make import Spec, final_observations, make_envs, register

__all__ = ["Spec", "final_observations", "make_envs", "register"]
