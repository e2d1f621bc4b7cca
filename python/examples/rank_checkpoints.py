"""Rank checkpoints: which of several policies has the highest lower bound?"""

import sys

import hambo
from hambo.tasks import SwingUp, simulate

quick = "--quick" in sys.argv

data = simulate("pendulum", SwingUp.weak(), episodes=10 if quick else 50, horizon=50 if quick else 200)
model = hambo.fit(data, hambo.Ensemble(hidden=[16], max_steps=50) if quick else hambo.Ensemble())

# The checkpoints of a training run: callables, SB3 models, d3rlpy algos or ONNX files.
checkpoints = {
    "after 10k steps": SwingUp(pump=0.5),
    "after 20k steps": SwingUp(pump=1.0, proportional=5.0, derivative=1.0),
    "after 30k steps": SwingUp(),
}
ranking = hambo.rank(
    model,
    checkpoints,
    horizon=10 if quick else 100,
    episodes=100 if quick else 10_000,
)
print(ranking)
print(f"deploy the policy {ranking.best}")
