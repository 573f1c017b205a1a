"""Train the reference PPO on one device: `train.py DEVICE -- options [-- options ...]`.

Several runs share one process and one opened device; each is a `run` event followed by
the events of `reference_ppo` (see its README). The first run that fails ends the child.
"""

from __future__ import annotations

import sys
import traceback

from npudoctor.smoke_test.children.common import emit, open_device


def main(name: str, runs: list[list[str]]) -> int:
    device = open_device(name)
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
    try:
        sys.exit(main(sys.argv[1], split(sys.argv[2:])))
    except Exception as error:
        emit("failed", error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        sys.exit(1)
