"""A reference implementation of Proximal Policy Optimization (PPO, arXiv:1707.06347) for CPU and Ascend NPU.

Read in this order: `config`, `envs.reach`, `policy`, `rollout`, `gae`, `ppo`, `adam`, `train`.
Symbols are the paper's: s state, a action, r reward, A advantage, R return (the value target),
V value, theta parameters, gamma discount, lambda of GAE, epsilon clip range.
Shapes: T time steps, N environments, D observation size, K action size, B minibatch size.

Importing this package imports neither torch nor gymnasium: worker processes stay small.
"""
