"""Bring the simulated device into a process, and take it out again.

PyTorch cannot forget a backend, so registering happens once per process; recording, the
stand-in modules and the patches of Python functions come and go with each activation.
"""

from __future__ import annotations

import itertools
import sys
import threading
from contextlib import ExitStack
from typing import Any

from npudoctor.core import autoload
from npudoctor.simulate import limits
from npudoctor.simulate.options import Options
from npudoctor.simulate.support import require

_lock = threading.Lock()
_registered: list[Any] = []  # the torch.npu module, once there is one
_active: list[tuple[Any, ExitStack]] = []


def activate(options: Options) -> Any:
    """Make `npu` a device of this process and start recording; returns the `Recorder`.

    Raises:
        UserError: torch is missing, too old, or has another backend (see `support.require`).
    """
    limits.family_of(options.chip)
    require()
    from npudoctor.simulate import collective, devices, envsteps, live, npu_module, patches, spawned, standin
    from npudoctor.simulate.recorder import Recorder

    with _lock:
        limits.choose(options.chip, options.strict)
        npu = _register()
        devices.count = options.device_count
        npu_module.properties.name = f"{options.chip} (simulated)"
        stack = ExitStack()
        stack.enter_context(autoload.off())  # for children of the program, such as spawned workers
        recorder = Recorder(options.window)
        for name, module in standin.build(npu).items():
            stack.callback(_restore_module, name, sys.modules.get(name))
            sys.modules[name] = module
        patches.apply(stack)
        collective.apply(stack)
        envsteps.install(stack)
        spawned.install(stack, options)
        stack.callback(setattr, live, "recorder", live.recorder)
        live.recorder = recorder
        _active.append((recorder, stack))
    return recorder


def deactivate() -> None:
    """Undo the last `activate`; tensors of the device live on, nothing is recorded any more."""
    with _lock:
        if _active:
            recorder, stack = _active.pop()
            stack.close()
            recorder.fold()


def _device_guard() -> Any:
    """PyTorch asks this object for its device type on every operator, so the answer is a C callable."""
    import torch
    from torch.utils import backend_registration

    answer = itertools.repeat(torch._C._autograd.DeviceType.PrivateUse1).__next__
    return type("Guard", (backend_registration._DummyDeviceGuard,), {"type_": staticmethod(answer)})()


def _restore_module(name: str, before: Any) -> None:
    if before is None:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = before


def _register() -> Any:
    if _registered:
        return _registered[0]
    import torch
    from torch.utils import backend_registration

    from npudoctor.simulate import devices, npu_module, register, special

    torch.utils.rename_privateuse1_backend("npu")
    torch.utils.generate_methods_for_privateuse1_backend()
    npu = npu_module.build()
    torch._register_device_module("npu", npu)
    torch._C._acc.register_python_privateuseone_hook(backend_registration._DummyPrivateUse1Hook())
    torch._C._acc.register_python_privateuseone_device_guard(_device_guard())
    register.install(devices.resolve, special.table())
    _registered.append(npu)
    return npu
