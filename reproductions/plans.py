"""Does `hambo plan` tell what work will cost? Its answer beside the time that the same work then takes.

    python reproductions/plans.py [--only 1 3] --folder OUT

Five jobs of unlike widths, lengths and settings, with logs and policies of the benchmark, none of which the rules of
plans were made on. Nothing else should run meanwhile. One row per job in `results/plans.csv`.
"""

import argparse
import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
from data import block, transitions
from environments import ENVIRONMENTS
from tidy import Row, read_rows, write_rows

RESULTS = Path(__file__).parent / "results" / "plans.csv"
COLUMNS = ["job", "environment", "rows", "horizon", "settings", "planning", "fit_planned", "fit", "fit_ratio"]
COLUMNS += ["evaluation_planned", "evaluation", "evaluation_ratio"]
COMMAND = os.environ.get("HAMBO_COMMAND", "hambo")


@dataclass(frozen=True)
class Job:
    environment: str
    rows: int
    horizon: int
    settings: str
    """As on the command line."""


JOBS = [
    Job("hopper", 20_000, 200, "--quick"),
    Job("halfcheetah", 10_000, 100, "--set evaluation.episodes=500"),
    Job("pendulum", 50_000, 100, "--set model.ensemble.hidden=[64,64,64]"),
    Job("hopper", 5_000, 50, ""),
    Job("pendulum", 2_000, 300, "--set model.ensemble.members=5 --set evaluation.episodes=3000"),
]


def timed(words: str) -> float:
    begun = time.perf_counter()
    subprocess.run([COMMAND, *words.split()], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measured(number: int, job: Job, folder: Path) -> Row:
    environment = ENVIRONMENTS[job.environment]
    logs = transitions(environment, "mixed", job.rows, seed=3)
    file, model = folder / f"{number}.parquet", folder / f"model{number}"
    pyarrow.parquet.write_table(logs, file)
    states, actions = block(logs, "obs").shape[1], block(logs, "action").shape[1]
    policy = environment.policy(environment.evaluated)
    widths = f"--rows {job.rows} --states {states} --actions {actions} --horizon {job.horizon}"
    episode = job.rows // len(set(logs["episode"].to_pylist()))
    plan = f"plan {widths} --episode-steps {episode} --policy {policy} --json {folder / 'plan.json'} {job.settings}"
    planning = timed(plan)
    planned = json.loads((folder / "plan.json").read_text())
    fit = timed(f"fit {file} --out {model} {job.settings}")
    evaluation = timed(f"evaluate --model {model} --policy {policy} --horizon {job.horizon} {job.settings}")
    row: Row = {"job": number, "environment": job.environment, "rows": job.rows, "horizon": job.horizon}
    row |= {"settings": job.settings, "planning": round(planning, 1)}
    for name, seconds in [("fit", fit), ("evaluation", evaluation)]:
        ratio = round(planned[name] / seconds, 2)
        row |= {f"{name}_planned": round(planned[name], 1), name: round(seconds, 1), f"{name}_ratio": ratio}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", type=int, default=range(1, len(JOBS) + 1))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for number in arguments.only:
        row = measured(number, JOBS[number - 1], arguments.folder)
        rows = [one for one in read_rows(arguments.results) if int(one["job"]) != number]
        write_rows(arguments.results, [*rows, row], COLUMNS, lambda one: int(one["job"]))
        print(row, flush=True)


if __name__ == "__main__":
    main()
