"""ones + ones on the device: `hello.py DEVICE`. The sum must be 2 and must have been made there."""

from __future__ import annotations

import sys
import traceback

from npudoctor.smoke_test.children.common import Clock, emit, open_device, wait


def main(name: str) -> None:
    import torch

    clock = Clock()
    device = open_device(name)
    opened = clock.seconds()
    x = torch.ones(2, 2, device=device)
    y = x + torch.ones(2, 2, device=device)
    wait(device)
    emit(
        "hello",
        device=str(y.device),
        values=y.cpu().flatten().tolist(),
        opened_s=opened,
        first_kernel_s=clock.seconds() - opened,
    )
    z = torch.randn(64, 64)
    back = z.to(device).cpu()
    emit("copy", same=bool(torch.equal(z, back)), bytes=z.numel() * z.element_size())


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BaseException as error:
        emit("failed", error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        sys.exit(1)
