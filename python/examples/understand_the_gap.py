"""Understand the gap: why is the bound so much lower than the truth, and what would help?

On a built-in task the truth can be asked for. Without one, compare the neutral estimate with the bound.
"""

import sys

import numpy as np

import hambo
from hambo.tasks import SwingUp, simulate

quick = "--quick" in sys.argv
horizon = 10 if quick else 100

policy = SwingUp()
data = simulate("pendulum", SwingUp.weak(), episodes=10 if quick else 50, horizon=50 if quick else 200)
model = hambo.fit(data, hambo.Ensemble(hidden=[16], max_steps=50) if quick else hambo.Ensemble())
result = hambo.evaluate(
    model, policy, horizon=horizon, variants=["DAinf", "DS"] if quick else [], episodes=100 if quick else 10_000
)

truth = simulate("pendulum", policy, episodes=1000, horizon=horizon, seed=1).returns.mean()
neutral = result.neutral
assert neutral is not None and result.lower_bound is not None
print(f"truth                         {truth:10.1f}")
print(f"what the model expects        {neutral.estimate.mean:10.1f}")
print(f"the bound                     {result.lower_bound:10.1f}")
print(f"pessimism about the model     {neutral.estimate.mean - result.lower_bound:10.1f}")

# Where does the policy go that the data does not? There more data would help most.
for variant in result.variants.values():
    print(f"{variant.name}: {variant.outside_data:.0%} of the steps are outside the data")
states = np.concatenate([episode.states for variant in result.variants.values() for episode in variant.worst])
uncertainty = model.predict(states, policy(states)).epistemic_std[:, : model.state_dim].max(axis=1)
print(f"least certain among the worst episodes: state {states[uncertainty.argmax()]}")
