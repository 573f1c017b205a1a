"""Drive the reach task with an exported policy: onnxruntime and NumPy, no torch.

python -m reference_ppo --target-success 0.9 --checkpoint policy.pt
npudoctor export policy.pt -o policy.onnx
python examples/closed_loop.py policy.onnx
"""

from __future__ import annotations

import sys

import numpy as np
import onnxruntime as ort

from reference_ppo.envs.reach import ReachEnv


def drive(path: str, episodes: int = 64, first_seed: int = 1_000_000) -> tuple[float, float]:
    """Mean return and share of successful episodes; one observation (1, 9) per call."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    env, returns, successes = ReachEnv(), [], 0
    for episode in range(episodes):
        obs, _ = env.reset(seed=first_seed + episode)
        total, done = 0.0, False
        while not done:
            # The raw observation goes in: its statistics are part of the graph.
            (action,) = session.run(None, {"obs": obs[np.newaxis]})
            obs, reward, terminated, truncated, info = env.step(action[0])
            total, done = total + reward, terminated or truncated
        returns.append(total)
        successes += info["success"]
    return float(np.mean(returns)), successes / episodes


if __name__ == "__main__":
    mean, rate = drive(sys.argv[1])
    print(f"return {mean:.2f}, success {rate:.1%}, torch imported: {'torch' in sys.modules}")
