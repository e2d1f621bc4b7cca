"""Writes pendulum.csv: random steps of Gymnasium's Pendulum-v1, to compare the built-in one with.

    pip install gymnasium==1.4.0 && python pendulum.py
"""
import csv
import pathlib

import gymnasium
import numpy as np

STEPS = 1000
rng = np.random.default_rng(0)
env = gymnasium.make("Pendulum-v1")
rows, observation = [], None
for step in range(STEPS):
    if step % 200 == 0:
        observation, _ = env.reset(seed=step)
    # A fifth of the torques lie beyond the limit, which the environment clips.
    action = rng.uniform(-2.5, 2.5, size=1).astype(np.float32)
    following, reward, _, _, _ = env.step(action)
    rows.append([*observation, *action, reward, *following])
    observation = following

with open(pathlib.Path(__file__).with_name("pendulum.csv"), "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow("cos sin speed torque reward next_cos next_sin next_speed".split())
    writer.writerows([f"{value:.9g}" for value in row] for row in rows)
