"""Train stable-baselines3's PPO for a few hundred steps; its `auto` device is what gets migrated."""

from stable_baselines3 import PPO

model = PPO(
    "MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, device="auto", seed=1, verbose=1,
)
model.learn(total_timesteps=256)
