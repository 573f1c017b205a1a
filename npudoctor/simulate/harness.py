"""The child process of `verify`: run one program on one device and leave its numbers in a folder.

    python -m npudoctor.simulate.harness MODE FOLDER script.py|-m module [arguments]

MODE is `plain` (as it is), `cpu` (what says cuda runs on the CPU), `npu` (simulated NPU) or
`cuda-as-npu` (what says cuda runs on the simulated NPU). FOLDER receives `result.json` (how it
ended, logged scalars, counts) and `weights.npz` (the final parameters of every optimizer).
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> int:
    """Run, and write what came of it; the exit status is the program's."""
    mode, folder, target = arguments[0], Path(arguments[1]), arguments[2:]
    module = target[0] == "-m"
    program, rest = (target[1], target[2:]) if module else (target[0], target[1:])
    from npudoctor.core import autoload
    from npudoctor.simulate import runner

    with ExitStack() as stack:
        stack.enter_context(autoload.off())
        recorder = _device(mode, stack)
        scalars, optimizers = _watch(stack)
        outcome = runner.run(program, rest, module=module)
        sys.stdout.flush()
        _save_weights(folder / "weights.npz", optimizers)
    result: dict[str, Any] = {
        "status": outcome.status, "error": outcome.error, "where": outcome.where, "scalars": scalars,
    }
    if recorder is not None:
        from npudoctor.simulate import summary

        result["simulation"] = summary.summarise(recorder)
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return outcome.status


def _device(mode: str, stack: ExitStack) -> Any:
    recorder = None
    if mode in ("npu", "cuda-as-npu"):
        import npudoctor.simulate as simulate

        recorder = stack.enter_context(simulate.device())
    if mode in ("cpu", "cuda-as-npu"):
        from npudoctor.simulate import cuda_shim

        cuda_shim.apply(stack, "cpu" if mode == "cpu" else "npu")
    return recorder


def _watch(stack: ExitStack) -> tuple[list[Any], list[Any]]:
    """Collect logged scalars (TensorBoard's writer) and every optimizer that is made."""
    import torch

    scalars: list[Any] = []
    optimizers: list[Any] = []
    original = torch.optim.Optimizer.__init__

    def init(self: Any, *args: Any, **kw: Any) -> None:
        original(self, *args, **kw)
        optimizers.append(self)

    torch.optim.Optimizer.__init__ = init  # type: ignore[method-assign]
    stack.callback(setattr, torch.optim.Optimizer, "__init__", original)
    _watch_writer(stack, scalars)
    return scalars, optimizers


def _watch_writer(stack: ExitStack, scalars: list[Any]) -> None:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except Exception:
        return
    original = SummaryWriter.add_scalar

    def add_scalar(
        self: Any, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kw: Any
    ) -> Any:
        # `float` reads a device tensor back just as the writer itself would.
        scalars.append([str(tag), repr(float(scalar_value)), global_step])
        return original(self, tag, scalar_value, global_step, *args, **kw)

    setattr(SummaryWriter, "add_scalar", add_scalar)  # noqa: B010 - mypy forbids the plain form
    stack.callback(setattr, SummaryWriter, "add_scalar", original)


def _save_weights(path: Path, optimizers: list[Any]) -> None:
    import numpy as np
    import torch

    arrays = {}
    for number, optimizer in enumerate(optimizers):
        tensors = [p for group in optimizer.param_groups for p in group["params"]]
        for place, tensor in enumerate(tensors):
            host = tensor.detach().cpu()
            wide = host.float() if host.dtype == torch.bfloat16 else host
            arrays[f"optimizer {number} parameter {place}"] = wide.numpy()
    np.savez(path, **arrays)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
