"""Command line: options to Config, events to the log sinks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from reference_ppo.config import Config
from reference_ppo.errors import UsageError

if TYPE_CHECKING:
    from reference_ppo.train import Trainer

Sink = Callable[[dict[str, Any]], None]

OK, FAULTY, USAGE, INTERRUPTED = 0, 1, 2, 130


def parser() -> argparse.ArgumentParser:
    """Options named as the fields of Config, and where the output goes."""
    p = argparse.ArgumentParser("python -m reference_ppo", description="Train PPO on one device.")
    d = Config()
    text = {"env": str, "reward": str, "device": str, "update": str}
    whole = (
        "num_envs",
        "seed",
        "threads",
        "total_steps",
        "rollout_steps",
        "minibatch",
        "epochs",
        "eval_every",
        "eval_episodes",
    )
    real = (
        "lr",
        "clip",
        "gamma",
        "lam",
        "value_coef",
        "entropy_coef",
        "max_grad_norm",
        "log_std",
        "target_success",
        "max_seconds",
    )
    for name, kind in [*text.items(), *((n, int) for n in whole), *((n, float) for n in real)]:
        p.add_argument("--" + name.replace("_", "-"), type=kind, default=getattr(d, name))
    for name in ("workers", "overlap", "recurrent", "squash"):
        p.add_argument("--" + name, action="store_true")
    for name in ("normalize_obs", "normalize_advantage", "stop_on_fault", "quick_tanh", "host_inference"):
        p.add_argument("--no-" + name.replace("_", "-"), dest=name, action="store_false")
    p.add_argument(
        "--compile", dest="update", action="store_const", const="compiled", help="= --update compiled"
    )
    p.add_argument("--jsonl", metavar="FILE", help="one JSON object per event; - for standard output")
    p.add_argument(
        "--log-dir", type=Path, metavar="DIR", help="progress.csv, and TensorBoard files if installed"
    )
    p.add_argument(
        "--report", type=Path, metavar="FILE.html", help="curves, time and a trajectory on one page"
    )
    p.add_argument("--checkpoint", type=Path, metavar="FILE", help="written after every update")
    p.add_argument("--resume", type=Path, metavar="FILE", help="continue from a checkpoint")
    p.add_argument("--quiet", action="store_true", help="no lines for people")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 trained, 1 stopped by a fault in the numbers, 2 usage or no such device, 130 Ctrl-C."""
    options = parser().parse_args(argv)
    # Before NumPy is loaded: its matrix library would use every core, and threads that wait for a busy core
    # make products of this size ten times slower.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(options.threads))
    try:
        known = {f.name for f in fields(Config)}
        config = Config(**{k: v for k, v in vars(options).items() if k in known})
    except UsageError as error:
        return refuse(options, str(error))
    try:
        return train(config, options)
    except (UsageError, OSError) as error:
        return refuse(options, str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def refuse(options: argparse.Namespace, sentence: str) -> int:
    """One clear sentence, for people and for programs."""
    print(f"reference_ppo: {sentence}", file=sys.stderr)
    if options.jsonl == "-":
        print(json.dumps({"event": "end", "reason": "error", "error": sentence}), flush=True)
    return USAGE


def train(config: Config, options: argparse.Namespace) -> int:
    """Run the trainer and hand each event to the sinks."""
    from reference_ppo import checkpoint, snapshot
    from reference_ppo.device import local_device, open_device
    from reference_ppo.train import Trainer
    from reference_ppo.world import World

    with ExitStack() as stack:
        config = replace(config, device=local_device(config.device))
        distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
        world = World.join(open_device(config.device)) if distributed else None
        if world is not None:
            stack.callback(world.leave)
        trainer = Trainer(config, world)
        stack.callback(trainer.close)
        if options.resume:
            snapshot.restore(trainer, checkpoint.load(checkpoint.of_rank(options.resume, trainer.world.rank)))
        sinks = open_sinks(options, stack, trainer) if trainer.world.rank == 0 else []
        event: dict[str, Any] = {}
        for event in trainer.run():
            for sink in sinks:
                sink(event)
            if options.checkpoint and event["event"] == "update":
                checkpoint.save(
                    checkpoint.of_rank(options.checkpoint, trainer.world.rank), snapshot.take(trainer)
                )
        trainer.world.finish()
    return FAULTY if event["reason"] == "fault" else OK


def open_sinks(options: argparse.Namespace, stack: ExitStack, trainer: Trainer) -> list[Sink]:
    """Where the events go."""
    from reference_ppo import logs, progress, report

    sinks: list[Sink] = []
    if options.jsonl == "-":
        sinks.append(partial(write_line, sys.stdout))
    elif options.jsonl:
        sinks.append(partial(write_line, stack.enter_context(open_text(options.jsonl))))
    closing: list[Any] = []
    if not options.quiet and options.jsonl != "-":
        closing.append(progress.display())
    if options.log_dir:
        closing.append(logs.CsvLog(options.log_dir))
        if logs.TensorBoardLog.available():
            closing.append(logs.TensorBoardLog(options.log_dir))
    if options.report:
        closing.append(report.Report(options.report, trainer))
    for sink in closing:
        stack.callback(sink.close)
    return [*sinks, *closing]


def open_text(path: str) -> TextIO:
    """A text file for writing; the caller closes it."""
    return open(path, "w", encoding="utf-8")


def write_line(out: TextIO, event: dict[str, Any]) -> None:
    """One JSON object, flushed at once."""
    print(json.dumps(finite(event)), file=out, flush=True)


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, float) and value - value != 0.0:
        return None
    return value
