"""What a simulated NPU costs: CleanRL's continuous PPO on the plain CPU against the same on the simulation.

    python benchmarks/simulate.py                       # a PPO of that script's shape, kept here
    python benchmarks/simulate.py --cleanrl CHECKOUT    # CleanRL's own ppo_continuous_action.py
    python benchmarks/simulate.py --script FILE --script-args "..."

Sizes, wrappers and operators of the kept program are the script's: one environment, 2,048 steps,
10 epochs of 32 minibatches, two networks of 64; it does not log. A CHECKOUT is patched as
benchmarks/evidence.toml says. Both make 2,048 steps of Pendulum.
Another script chooses its device from the environment variable BENCH_DEVICE (`cpu` or `npu`).

One process, one thread: plain, simulated, plain, simulated ... after a first pair that is not
counted (imports on first use). CPU seconds (user + system), so that other load matters less. Then
peak memory, of one fresh process each.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import resource
import runpy
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PROGRAM = ROOT / "benchmarks" / "programs" / "cleanrl_shaped_ppo.py"
CLEANRL = "CleanRL ppo_continuous_action.py"
CLEANRL_ARGUMENTS = ["--env-id", "Pendulum-v1", "--num-envs", "1", "--total-timesteps", "2048"]
_DEVICE = 'torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")'


def cleanrl(checkout: Path, folder: Path) -> Path:
    """CleanRL's script in `folder`, patched as for the evidence, its device from BENCH_DEVICE."""
    from benchmarks import evidence

    project = next(p for p in evidence.projects() if p["name"] == CLEANRL)
    evidence.copy(project, checkout, folder / "copy")
    script = folder / "copy" / project["copy"][0]
    text = script.read_text(encoding="utf-8")
    if _DEVICE not in text:
        raise SystemExit(f"{script.name} chooses its device in another way: another commit?")
    script.write_text(text.replace(_DEVICE, 'torch.device(os.environ["BENCH_DEVICE"])'), encoding="utf-8")
    return script


def seconds(device: str, script: Path, arguments: list[str]) -> float:
    """CPU seconds of one run in this process."""
    import npudoctor.simulate as simulate

    os.environ["BENCH_DEVICE"] = device
    argv, sys.argv = sys.argv, [str(script), *arguments]
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            if device == "npu":
                stack.enter_context(simulate.device())
            begun = time.process_time()
            runpy.run_path(str(script), run_name="__main__")
            return time.process_time() - begun
    finally:
        sys.argv = argv


def memory(device: str, script: Path, arguments: list[str]) -> float:
    """Peak memory (MiB) of a fresh process."""
    command = [sys.executable, str(script), *arguments]
    if device == "npu":
        command = [sys.executable, "-m", "npudoctor", "simulate", "-q", str(script), *arguments]
    env = {**os.environ, "BENCH_DEVICE": device, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command} failed with status {status}")
    return usage.ru_maxrss / 1024


def measure(script: Path, arguments: list[str], rounds: int) -> None:
    """Run the rounds and print the ratios."""
    spent: dict[str, list[float]] = {"cpu": [], "npu": []}
    for number in range(rounds + 1):
        for device, times in spent.items():
            took = seconds(device, script, arguments)
            if number:
                times.append(took)
    best = {device: min(times) for device, times in spent.items()}
    ratios = [npu / cpu for cpu, npu in zip(spent["cpu"], spent["npu"])]
    print(f"{script.name}: cpu {best['cpu']:.2f} s, simulated npu {best['npu']:.2f} s: "
          f"{best['npu'] / best['cpu']:.2f} times; per round "
          f"{', '.join(f'{ratio:.2f}' for ratio in ratios)}, median {statistics.median(ratios):.2f}")
    cpu, npu = (memory(device, script, arguments) for device in ("cpu", "npu"))
    print(f"peak memory: cpu {cpu:.0f} MiB, simulated npu {npu:.0f} MiB: {npu - cpu:.0f} MiB more")


def main() -> None:
    """Measure the kept program, CleanRL's own, or any script."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cleanrl", type=Path, metavar="CHECKOUT")
    parser.add_argument("--script", type=Path, default=PROGRAM)
    parser.add_argument("--script-args", default="")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.simplefilter("ignore")
    script, arguments = options.script.resolve(), shlex.split(options.script_args)
    folder = Path(tempfile.mkdtemp(prefix="npudoctor-benchmark-"))
    try:
        if options.cleanrl is not None:
            script, arguments = cleanrl(options.cleanrl.resolve(), folder), CLEANRL_ARGUMENTS
        os.chdir(folder)
        measure(script, arguments, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
