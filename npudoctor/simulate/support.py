"""Can this process simulate at all? One clear sentence when not."""

from __future__ import annotations

import importlib.util
import sys

from npudoctor.core import autoload
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text

_NO_TORCH = Text(
    "the simulated NPU needs PyTorch in this Python ({python}), and it is not installed",
    "模拟 NPU 需要当前 Python（{python}）中安装 PyTorch，但未安装",
)
_NO_TORCH_HINT = Text(
    "install a CPU build of torch 2.10 or newer, or run npudoctor with the Python that has one",
    "请安装 2.10 及以上的 CPU 版 torch，或用已安装 torch 的 Python 运行 npudoctor",
)
_NO_HOOKS = Text(
    "torch {version} has no hooks for a device written in Python, so it cannot simulate an NPU",
    "torch {version} 不支持用 Python 编写设备后端，无法模拟 NPU",
)
_NO_HOOKS_HINT = Text(
    "the hooks came with torch 2.10; use a newer CPU build in a separate environment",
    "该接口自 torch 2.10 起提供；请在单独环境中使用更新的 CPU 版 torch",
)
_TAKEN = Text(
    "this process already has a device backend named '{name}', and PyTorch allows one per process",
    "当前进程已注册名为“{name}”的设备后端，而 PyTorch 每个进程只允许一个",
)
_TAKEN_HINT = Text(
    "start a fresh process with TORCH_DEVICE_BACKEND_AUTOLOAD=0 and without importing torch_npu",
    "请设置 TORCH_DEVICE_BACKEND_AUTOLOAD=0 并在不导入 torch_npu 的新进程中运行",
)
_INTERPRETER = Text(
    "the simulated NPU needs 64-bit CPython with the GIL; this is {python}",
    "模拟 NPU 需要带 GIL 的 64 位 CPython；当前为 {python}",
)


def require() -> None:
    """Check torch, its hooks and the interpreter.

    Raises:
        UserError: the simulation cannot run in this process; the sentence says why.
    """
    if importlib.util.find_spec("torch") is None:
        raise UserError(_NO_TORCH, _NO_TORCH_HINT, {"python": sys.executable})
    with autoload.off():
        import torch

    version = str(torch.__version__)
    accelerator = getattr(torch._C, "_acc", None)
    wanted = ("register_python_privateuseone_hook", "register_python_privateuseone_device_guard")
    if not all(hasattr(accelerator, name) for name in wanted):
        raise UserError(_NO_HOOKS, _NO_HOOKS_HINT, {"version": version})
    name = torch._C._get_privateuse1_backend_name()
    if name not in ("privateuseone", "npu") or (name == "npu" and not getattr(torch, "npu", None)):
        raise UserError(_TAKEN, _TAKEN_HINT, {"name": name})
    if name == "npu" and not getattr(torch.get_device_module("npu"), "is_simulated", False):
        raise UserError(_TAKEN, _TAKEN_HINT, {"name": name})
    from npudoctor.simulate import bridge

    if not bridge.works():
        raise UserError(_INTERPRETER, None, {"python": f"{sys.implementation.name} {sys.version.split()[0]}"})
