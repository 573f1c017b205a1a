"""Train the reference PPO on one device: `train.py DEVICE -- options [-- options ...]`.

Several runs share one process and one opened device; each is a `run` event followed by
the events of `reference_ppo` (see its README). The first run that fails ends the child.
"""

from __future__ import annotations

import sys

from npudoctor.smoke_test.children.common import emit, guarded, open_device


def job(args: list[str]) -> int:
    """Open the device, then train once per option list."""
    device, runs = open_device(args[0]), split(args[1:])
    from reference_ppo.cli import main as train

    for number, options in enumerate(runs):
        emit("run", number=number, options=options, device=str(device))
        code = train([*options, "--device", str(device), "--jsonl", "-"])
        if code:
            return code
    emit("done", runs=len(runs))
    return 0


def split(words: list[str]) -> list[list[str]]:
    """The words between the `--` separators."""
    runs: list[list[str]] = []
    for word in words:
        if word == "--":
            runs.append([])
        else:
            runs[-1].append(word)
    return runs


if __name__ == "__main__":
    sys.exit(guarded(job, sys.argv[1:]))
