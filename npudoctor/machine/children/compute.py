"""Is the NPU there, and does it add? ones(8) + ones(8) must be 2 everywhere, on each visible device."""

# mypy: ignore-errors

import faulthandler
import json
import os


def say(**what):
    os.write(1, ("\nNPUDOCTOR " + json.dumps(what) + "\n").encode())


def on_device(torch, index):
    device = "npu:" + str(index)
    total = (torch.ones(8, device=device) + torch.ones(8, device=device)).cpu().tolist()
    return "ok" if total == [2.0] * 8 else "wrong: " + str(total)


def main():
    faulthandler.enable()
    import torch

    say(imported="torch", version=torch.__version__)
    import torch_npu

    say(imported="torch_npu", version=str(getattr(torch_npu, "__version__", "")))
    say(available=bool(torch.npu.is_available()))
    count = int(torch.npu.device_count())
    say(count=count)
    for index in range(count):
        try:
            result = on_device(torch, index)
        except Exception as error:
            result = type(error).__name__ + ": " + str(error)[:2000]
        say(device=index, result=result)


if __name__ == "__main__":
    main()
