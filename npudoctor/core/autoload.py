"""PyTorch's loading of device backends by themselves, switched off for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"


@contextmanager
def off() -> Iterator[None]:
    """`import torch` inside the block, here or in a child process, loads no installed torch_npu.

    Since torch 2.5 a broken torch_npu breaks `import torch` itself. The environment is afterwards what
    it was: processes started later are not touched.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "0"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
