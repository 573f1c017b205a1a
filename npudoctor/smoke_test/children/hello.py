"""ones + ones on the device: `hello.py DEVICE`. The sum must be 2 and must have been made there."""

from __future__ import annotations

import sys

from npudoctor.smoke_test.children.common import Clock, emit, guarded, open_device, wait


def job(args: list[str]) -> int:
    """Add on the device, copy there and back."""
    import torch

    clock = Clock()
    device = open_device(args[0])
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
    return 0


if __name__ == "__main__":
    sys.exit(guarded(job, sys.argv[1:]))
