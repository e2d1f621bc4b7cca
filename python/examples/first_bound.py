"""A first bound: logs of a mediocre controller, and how a better one will do at the very least.

Takes minutes; `--quick` takes seconds and proves little.
"""

import sys

import hambo
from hambo.tasks import SwingUp, simulate

quick = "--quick" in sys.argv

# Your own logs: hambo.Dataset.open("logs.parquet"), from_minari, from_arrays, ...
data = simulate("pendulum", SwingUp.weak(), episodes=10 if quick else 50, horizon=50 if quick else 200)
print(data)

settings = hambo.Ensemble(hidden=[16], max_steps=50) if quick else hambo.Ensemble()
model = hambo.fit(data, settings, seed=0)
print(model)

result = hambo.evaluate(
    model,
    SwingUp(),  # any callable observations -> actions, an SB3 model, a d3rlpy algo or "policy.onnx"
    horizon=10 if quick else 100,
    episodes=100 if quick else 10_000,
)
print(result)
