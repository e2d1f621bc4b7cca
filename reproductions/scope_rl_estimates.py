"""What SCOPE-RL makes of logged episodes, for the test that compares with it.

    python reproductions/scope_rl_estimates.py

Writes `crates/hambo/tests/fixtures/scope_rl.json`: episodes with log ratios, rewards and values, all discounted from
the start, and SCOPE-RL's own estimates. Needs scope-rl 0.2.1.
"""

import json
from pathlib import Path

import numpy as np
from scope_rl.ope import discrete

OUT = Path(__file__).parents[1] / "crates" / "hambo" / "tests" / "fixtures" / "scope_rl.json"
EPISODES, STEPS, CHOICES, DISCOUNT = 25, 7, 3, 0.9


def main() -> None:
    rng = np.random.default_rng(0)
    rows = EPISODES * STEPS
    behaviour, evaluated = (rng.dirichlet(np.full(CHOICES, 2.0), rows) for _ in range(2))
    actions = np.array([rng.choice(CHOICES, p=shares) for shares in behaviour])
    rewards, values = rng.normal(1.0, 2.0, rows), rng.normal(3.0, 2.0, (rows, CHOICES))
    own = {
        "step_per_trajectory": STEPS,
        "action": actions,
        "reward": rewards,
        "pscore": behaviour[np.arange(rows), actions],
        "evaluation_policy_action_dist": evaluated,
        "gamma": DISCOUNT,
    }
    estimators = {
        "is": discrete.TrajectoryWiseImportanceSampling(),
        "pdis": discrete.PerDecisionImportanceSampling(),
        "wis": discrete.SelfNormalizedTIS(),
        "pdwis": discrete.SelfNormalizedPDIS(),
        "dr": discrete.DoublyRobust(),
        "wdr": discrete.SelfNormalizedDR(),
    }
    discounts = DISCOUNT ** np.arange(STEPS)
    chosen = np.arange(rows), actions

    def by_episode(values: np.ndarray, weights: np.ndarray) -> list[list[float]]:
        return (values.reshape(EPISODES, STEPS) * weights).tolist()

    document = {
        "log_ratios": by_episode(np.log(evaluated[chosen] / behaviour[chosen]), np.ones(STEPS)),
        "rewards": by_episode(rewards, discounts),
        "of_pairs": by_episode(values[chosen], discounts),
        "of_states": by_episode((values * evaluated).sum(axis=1), discounts),
        "estimates": {
            name: float(estimator.estimate_policy_value(state_action_value_prediction=values, **own))
            for name, estimator in estimators.items()
        },
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document, indent=1) + "\n")
    print(document["estimates"])


if __name__ == "__main__":
    main()
