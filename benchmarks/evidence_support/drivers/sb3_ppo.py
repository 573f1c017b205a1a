"""Train stable-baselines3's PPO for a few hundred steps; its `auto` device is what gets migrated."""

from stable_baselines3 import PPO

model = PPO(
<<<<<<< HEAD
    "MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, device="auto", seed=1, verbose=1,
=======
    "MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=1, device="auto", verbose=1
>>>>>>> main
)
model.learn(total_timesteps=256)
