"""The default certificate and the field's estimators in the paper's settings.

    python reproductions/beside_paper.py --out OUT [--only hopper] [--sizes 10000] [--seeds 30]

One row per setting, seed and method in `results/beside_paper.csv`, from which a stopped run goes on; models are kept in
OUT. The paper's own variants in the same settings are made by `run`.
"""

import argparse
import os
from pathlib import Path
from typing import Any

# One thread per process: several run side by side.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import pyarrow
import pyarrow.compute
from data import transitions
from environments import ENVIRONMENTS
from opinion_table import COLUMNS as SAID
from opinion_table import opinions
from returns import recorded
from setting import PAPER, Setting, default_model, initial_states
from tidy import Row, read_rows, write_rows
from units import EFFORT

import hambo

RESULTS = Path(__file__).parent / "results" / "beside_paper.csv"
KEYS = ["environment", "data", "rows", "horizon", "seed"]
COLUMNS = [*KEYS, *(name for name in SAID if name not in ("system", "policy", "seed", "logged_truth"))]


def place(row: Row) -> tuple[int, str, int, int, int, str, str]:
    number = list(ENVIRONMENTS).index(row["environment"])
    return number, row["data"], *(int(row[key]) for key in KEYS[2:]), row["method"], row["of"]


def beside(setting: Setting, models: Path) -> list[Row]:
    """What every method says of the policy that the paper evaluates."""
    environment = ENVIRONMENTS[setting.environment]
    logs = transitions(environment, setting.data, setting.rows, setting.seed)
    data = hambo.Dataset.from_arrow(logs, source_column="source")
    model = default_model(setting, models)
    task = {
        "horizon": setting.horizon,
        "reward": environment.reward,
        "termination": environment.termination,
        "state_bounds": environment.state_bounds,
        "initial_states": initial_states(setting),
        "seed": setting.seed,
        "progress": False,
    }
    truth = recorded()[environment.name, environment.evaluated, setting.horizon][0]
    common = {**vars(setting), "truth": truth}
    path = str(environment.policy(environment.evaluated))
    return opinions(common, model, path, data, EFFORT.episodes, task) + of_loggers(setting, logs, common, model, task)


def of_loggers(
    setting: Setting, logs: pyarrow.Table, common: Row, model: hambo.Model, task: dict[str, Any]
) -> list[Row]:
    """What MOPO says of the policies that made the data, beside what their episodes earned, to choose a weight."""
    environment, rows = ENVIRONMENTS[setting.environment], []
    quick = hambo.BaselineSettings(members=2, steps=1)
    for checkpoint in environment.behaviours[setting.data]:
        earned = logged_return(logs, str(checkpoint), setting.horizon)
        asked = hambo.baselines(model, str(environment.policy(checkpoint)), settings=quick, **task).opinions
        for opinion in asked:
            if opinion.method == "mopo":
                limit = opinion.limits.get("student", opinion.limits.get("itself"))
                said = {"method": f"mopo of {checkpoint}", "of": opinion.of, "truth": earned}
                said |= {"estimate": opinion.estimate, "limit": limit, "abstains": False, "seconds": 0.0}
                rows.append(common | said)
    return rows


def logged_return(logs: pyarrow.Table, source: str, horizon: int) -> float:
    """What a policy's episodes earned on average within the horizon, except those that the log cuts short."""
    mine = logs.filter(pyarrow.compute.equal(logs["source"], source)).to_pandas()
    first = mine[mine["step"] < horizon].groupby("episode")
    lasts = (first["step"].max() + 1 == horizon) | first["terminated"].any()
    return float(first["reward"].sum()[lasts].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models")
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--sizes", nargs="*", type=int)
    parser.add_argument("--seeds", nargs="*", type=int, default=range(30, 35))
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    models = arguments.out / "default" / "models"
    models.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for name, data, rows, horizon in PAPER:
            setting = Setting(name, data, rows, horizon, seed)
            known = read_rows(arguments.results)
            is_done = any(all(str(row[key]) == str(vars(setting)[key]) for key in KEYS) for row in known)
            if is_done or name not in arguments.only or (arguments.sizes and rows not in arguments.sizes):
                continue
            found = [{key: row[key] for key in COLUMNS} for row in beside(setting, models)]
            # Others may have written meanwhile.
            write_rows(arguments.results, read_rows(arguments.results) + found, COLUMNS, place)
            print(setting.name, flush=True)


if __name__ == "__main__":
    main()
