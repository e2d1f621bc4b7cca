"""The field's estimators beside the certificate, for every committed policy of Gymnasium's environments.

    python reproductions/mujoco_opinions.py --out OUT [--only hopper] [--seeds 1] [--summary]

The data has 10^4 transitions. One row per environment, policy, seed and method in `results/opinions.csv`, from which a
stopped run goes on; models are kept in OUT. The same table for the zoo is made by `zoo/opinions.py`.
"""

import argparse
import os
from pathlib import Path

# One thread per process: lanes run side by side.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
from data import transitions
from environments import ENVIRONMENTS
from opinion_table import COLUMNS, opinions, summary
from returns import recorded
from setting import Setting, default_model, initial_states
from tidy import Row, read_rows, write_rows
from units import EFFORT, with_truth

import hambo

RESULTS = Path(__file__).parent / "results" / "opinions.csv"
TRANSITIONS = 10_000


def place(row: Row) -> tuple[int, int, str, str, str]:
    number = list(ENVIRONMENTS).index(row["system"])
    return number, int(row["seed"]), str(row["policy"]).zfill(12), row["method"], row["of"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models, as for `run`")
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    models = arguments.out / "default" / "models"
    models.mkdir(parents=True, exist_ok=True)
    for seed in [] if arguments.summary else arguments.seeds:
        for name in arguments.only:
            environment = ENVIRONMENTS[name]
            setting = Setting(name, "mixed", TRANSITIONS, environment.unit_horizon, seed)
            logs = transitions(environment, "mixed", TRANSITIONS, seed)
            data = hambo.Dataset.from_arrow(logs, source_column="source")
            model, starts = default_model(setting, models), initial_states(setting)
            task = {
                "horizon": setting.horizon,
                "reward": environment.reward,
                "termination": environment.termination,
                "state_bounds": environment.state_bounds,
                "initial_states": starts,
                "seed": seed,
                "progress": False,
            }
            earned = [recorded()[environment.name, at, setting.horizon][0] for at in environment.behaviours["mixed"]]
            for policy in with_truth(environment):
                rows = read_rows(arguments.results)
                common: Row = {"system": name, "policy": str(policy), "seed": seed}
                if any(all(str(row[key]) == str(common[key]) for key in common) for row in rows):
                    continue
                common["truth"] = recorded()[environment.name, policy, setting.horizon][0]
                common["logged_truth"] = float(np.mean(earned))
                path = str(environment.policy(policy))
                rows += opinions(common, model, path, data, EFFORT.episodes, task)
                write_rows(arguments.results, rows, COLUMNS, place)
                print(name, policy, seed, flush=True)
    print(summary(read_rows(arguments.results)))


if __name__ == "__main__":
    main()
