"""How far apart the adversaries of several attempts end, on one model of Hopper: short rounds, minutes in all.

    python reproductions/plateau.py OUT

Needs hambo, gymnasium[mujoco], onnxruntime, pyarrow. n = 10^4, T = 200, a model of seed 0, three evaluations with seeds
of their own.
"""

import json
import sys
from pathlib import Path

from data import transitions
from environments import ENVIRONMENTS

import hambo

ADVERSARY = hambo.Adversary(hidden=[64, 64], batch_size=256, episodes=200, gradient_steps=300)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    hopper = ENVIRONMENTS["hopper"]
    if (out / "model").exists():
        model = hambo.load(out / "model")
    else:
        data = hambo.Dataset.from_arrow(transitions(hopper, "mixed", 10_000, 0))
        ensemble = hambo.Ensemble(prior_temperature=hopper.prior_temperature)
        model = hambo.fit(data, ensemble, seed=0, progress=False)
        model.save(out / "model")
    starts = hopper.initial_states(10_000, seed=1_000)
    for seed in range(3):
        for variant in ("CA", "DA1"):
            path = out / f"{variant}-{seed}.json"
            if path.exists():
                continue
            result = hambo.evaluate(
                model,
                str(hopper.policy(hopper.evaluated)),
                horizon=200,
                termination=hopper.termination,
                initial_states=starts,
                variants=[variant],
                episodes=1_000,
                cost_episodes=0,
                adversary=ADVERSARY,
                seed=seed,
                progress=False,
            )
            path.write_text(json.dumps(result.to_dict()), encoding="utf-8")
            rounds = len(result.to_dict()["variants"][0]["rounds"])
            print(f"{variant}, seed {seed}: bound {result.lower_bound:.1f} after {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
