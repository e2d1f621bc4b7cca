"""Certify before deploying: exit with an error unless the policy is known to be good enough and safe.

Usage: certify.py [--quick]
"""

import sys

import hambo
from hambo.tasks import SwingUp, simulate

quick = "--quick" in sys.argv
THRESHOLD = -600.0

data = simulate("pendulum", SwingUp.weak(), episodes=10 if quick else 50, horizon=50 if quick else 200)
model = hambo.fit(data, hambo.Ensemble(hidden=[16], max_steps=50) if quick else hambo.Ensemble())
result = hambo.evaluate(
    model,
    SwingUp(),
    horizon=10 if quick else 100,
    reward="pendulum",  # the true reward; without it, the learned one
    constraints={"slow enough": "7.5 - abs(state_2)"},  # a mean that should not be negative
    state_bounds="pendulum",
    episodes=100 if quick else 10_000,
)
result.save("evaluation.json")
result.report("report.html", policy="swing-up", threshold=THRESHOLD)

verdict = result.verdict(THRESHOLD)
print(f"{verdict}: at least {result.lower_bound}, needed {THRESHOLD}")
for warning in result.warnings:
    print(f"- {warning}")
sys.exit(0 if verdict == "certified" else 1)
