"""Count environment steps, so that syncs can be given per step, and tell rollout from update.

Environments are found by their base classes (gymnasium, gym, stable-baselines3's VecEnv): the
`step` of every subclass is wrapped, also of subclasses yet to be defined, and only the outermost
call of a thread counts (wrappers call the environment they wrap). A vectorised environment
counts one step per copy.

Phases follow from marks: what happens up to the first environment step is `setup`, from then up
to the end of each environment step `rollout`, and up to the end of each backward pass `update`.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from npudoctor.simulate import live

BASES = {
    "gymnasium.core": ("Env",),
    "gymnasium.vector.vector_env": ("VectorEnv",),
    "gym.core": ("Env",),
    "gym.vector.vector_env": ("VectorEnv",),
    "stable_baselines3.common.vec_env.base_vec_env": ("VecEnv",),
}
_depth = threading.local()
_wrapped: weakref.WeakSet = weakref.WeakSet()


def install(stack: ExitStack) -> None:
    """Watch the base classes that are there, and those that get imported later."""
    for name in BASES:
        if name in sys.modules:
            watch(sys.modules[name], BASES[name])
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    stack.callback(sys.meta_path.remove, finder)


def watch(module: ModuleType, classes: Sequence[str]) -> None:
    """Wrap `step` of each named class of `module` and of all their subclasses, now and later."""
    for name in classes:
        base = getattr(module, name, None)
        if base is None or base in _wrapped:
            continue
        _wrapped.add(base)
        _hook_subclasses(base)
        for child in _descendants(base):
            wrap(child)


def wrap(cls: type) -> None:
    """Wrap the `step` that `cls` itself defines."""
    step = vars(cls).get("step")
    if step is None or getattr(step, "_npudoctor", False) or not callable(step):
        return

    @functools.wraps(step)
    def counted(self: Any, *args: Any, **kw: Any) -> Any:
        if getattr(_depth, "n", 0) or live.recorder is None:
            return step(self, *args, **kw)
        _depth.n = 1
        if not live.recorder.steps_begun:
            live.recorder.steps_begun = True
            live.recorder.mark("setup", 0)
        started = time.perf_counter()
        try:
            return step(self, *args, **kw)
        finally:
            _depth.n = 0
            _finished(self, time.perf_counter() - started)

    counted._npudoctor = True  # type: ignore[attr-defined]
    cls.step = counted  # type: ignore[attr-defined]


def _finished(env: Any, seconds: float) -> None:
    recorder = live.recorder
    if recorder is None:
        return
    copies = getattr(env, "num_envs", 1)
    recorder.mark("rollout", copies if isinstance(copies, int) else 1, seconds)


def _descendants(base: type) -> list[type]:
    found: list[type] = [base]
    child: type
    for child in base.__subclasses__():
        found.extend(_descendants(child))
    return found


def _hook_subclasses(base: Any) -> None:
    original = vars(base).get("__init_subclass__")

    def hook(cls: Any, **kw: Any) -> None:
        if original is not None:
            original.__get__(None, cls)(**kw)
        else:
            super(base, cls).__init_subclass__(**kw)
        wrap(cls)

    base.__init_subclass__ = classmethod(hook)


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the usual finders find, and calls `watch` once a module of `BASES` has run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in BASES:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, lambda module: watch(module, BASES[fullname]))
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """A loader that tells when the module is ready."""

    def __init__(self, inner: Any, then: Callable[[ModuleType], None]) -> None:
        self.inner, self.then = inner, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.inner.exec_module(module)
        self.then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
