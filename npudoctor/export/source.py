"""What to export: a checkpoint of the reference PPO, or what an importable function returns."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor.core import autoload
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text

_NO_FILE = Text("no such checkpoint: {target}", "找不到检查点：{target}")
_NO_FILE_HINT = Text(
    "give the path of a checkpoint, or module:function for a function that returns a module and an example "
    "input",
    "请给出检查点路径，或用 module:function 指定一个返回模型与示例输入的函数",
)
_NOT_READ = Text(
    "{target} cannot be read as a checkpoint: {reason}", "无法将 {target} 作为检查点读取：{reason}"
)
_NO_FUNCTION = Text("{target} cannot be imported: {reason}", "无法导入 {target}：{reason}")
_BAD_RETURN = Text(
    "{target} returned {found}; a module and an example input (a tensor, or a tuple of tensors) are expected",
    "{target} 返回了 {found}；应返回一个模型与一个示例输入（张量或张量元组）",
)
_NO_TORCH = Text("torch cannot be imported: {reason}", "无法导入 torch：{reason}")
_NO_TORCH_HINT = Text("npudoctor check says why", "运行 npudoctor check 查明原因")

Array = Any


@dataclass(frozen=True)
class Source:
    """A module in evaluation mode and how to call it.

    Attributes:
        inputs: example tensors; the first dimension of each is the batch.
        observations: draws `n` real rows of every input by driving the environment with torch; None
            when there is no environment.
        settings: configuration of the checkpoint; empty for a function.
    """

    label: str
    module: Any
    inputs: tuple[Any, ...]
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    observations: Callable[[int], tuple[Array, ...]] | None = None
    settings: Mapping[str, Any] | None = None

    def call(self, *arrays: Array) -> tuple[Array, ...]:
        """Torch's answer to NumPy inputs, as NumPy arrays."""
        import torch

        with torch.no_grad():
            result = self.module(*(torch.from_numpy(a) for a in arrays))
        return tuple(r.numpy() for r in (result if isinstance(result, tuple) else (result,)))


def resolve(target: str) -> Source:
    """The source named on the command line.

    Raises:
        UserError: it does not exist, cannot be read, or is of another kind.
    """
    _import_torch()
    if not Path(target).exists() and re.fullmatch(r"[\w.]+:[\w.]+", target):
        return from_function(target)
    if not Path(target).is_file():
        raise UserError(_NO_FILE, _NO_FILE_HINT, {"target": target})
    return from_checkpoint(Path(target))


def _import_torch() -> None:
    # The export runs on the host; a broken torch_npu must not stand in its way.
    try:
        with autoload.off():
            import torch
    except (ImportError, OSError, RuntimeError) as error:
        raise UserError(_NO_TORCH, _NO_TORCH_HINT, {"reason": str(error).split("\n")[0]}) from None
    torch.set_num_threads(1)


def from_checkpoint(path: Path) -> Source:
    """The policy of a `reference_ppo` checkpoint, with its observation statistics inside.

    Raises:
        UserError: not such a checkpoint.
    """
    try:
        from reference_ppo import checkpoint

        state = checkpoint.load(path)
        return _policy_source(path, state)
    except (ValueError, OSError, KeyError, TypeError, ImportError) as error:
        reason = str(error).split("\n")[0] or type(error).__name__
        raise UserError(_NOT_READ, _NO_FILE_HINT, {"target": str(path), "reason": reason}) from None


def _policy_source(path: Path, state: Mapping[str, Any]) -> Source:
    import torch

    from npudoctor.export.policy import PolicyGraph, policy_class, real_inputs
    from reference_ppo import checkpoint
    from reference_ppo.config import Config
    from reference_ppo.envs.make import make_envs, spec_of
    from reference_ppo.normalize import Normalizer

    settings = json.loads(state["config"])
    config = Config(**{**settings, "hidden": tuple(settings["hidden"]), "workers": False, "device": "cpu"})
    envs = make_envs(config, 1)
    try:
        spec = spec_of(envs)
    finally:
        envs.close()
    policy = policy_class(config)(spec, config.hidden, config.log_std, config.squash, config.seed)
    with torch.no_grad():
        policy.theta.copy_(checkpoint.in_order(state["theta"], state["format"], policy))
    normalizer = Normalizer(spec.obs_dim, config.normalize_obs)
    normalizer.load(json.loads(state["host"])["normalizer"])
    graph = PolicyGraph(policy, normalizer).eval()
    memory = policy.state_size > 0
    example = (torch.zeros(1, spec.obs_dim), *([torch.zeros(1, policy.state_size)] if memory else []))
    source = Source(
        str(path),
        graph,
        example,
        ("obs", "state") if memory else ("obs",),
        ("action", "new_state") if memory else ("action",),
        None,
        settings,
    )
    return Source(**{**vars(source), "observations": lambda n: real_inputs(source, config, n)})


def from_function(target: str) -> Source:
    """Call `module:function`; it returns `(torch.nn.Module, example)`.

    Raises:
        UserError: it cannot be imported, raises, or returns something else.
    """
    import torch

    name, _, attribute = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        made: Any = importlib.import_module(name)
        for part in attribute.split("."):
            made = getattr(made, part)
        found = made()
    except Exception as error:  # the user's own code may raise anything
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise UserError(_NO_FUNCTION, _NO_FILE_HINT, {"target": target, "reason": reason}) from None
    module, example = found if isinstance(found, tuple) and len(found) == 2 else (None, None)
    inputs = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    if not isinstance(module, torch.nn.Module) or not all(isinstance(i, torch.Tensor) for i in inputs):
        raise UserError(_BAD_RETURN, _NO_FILE_HINT, {"target": target, "found": type(found).__name__})
    module = module.cpu().eval()
    inputs = tuple(i.detach().cpu() for i in inputs)
    with torch.no_grad():
        result = module(*inputs)
    count = len(result) if isinstance(result, (tuple, list)) else 1
    names = ("obs",) if len(inputs) == 1 else tuple(f"input{i}" for i in range(len(inputs)))
    outputs = ("action",) if count == 1 else tuple(f"output{i}" for i in range(count))
    return Source(target, module, inputs, names, outputs)
