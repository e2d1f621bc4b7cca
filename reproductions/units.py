"""Policies as units: every committed policy that made no data, judged by the models of five data sets.

    python reproductions/units.py --out OUT [--only hopper] [--seeds 0 1]

One policy per environment says nothing about how often a bound is wrong. Goes on from `results/units.csv`, uses the
models that `run` left in OUT, and keeps its own there. DAinf alone: the adversaries of CA and DA1 would take a day.
"""

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median, stdev

# One thread per process: there are more units than cores.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

from environments import ENVIRONMENTS, Checkpoint, Environment
from returns import recorded
from setting import FULL, Setting, fitted_model, initial_states, judged
from tidy import Row, read_rows, write_rows

COLUMNS = [
    *("environment", "rows", "horizon", "policy", "seed", "truth", "truth_error", "bound", "verdict", "warnings"),
    *("members", "neutral", "second_opinion", "outside_data", "seconds"),
]


def made_no_data(environment: Environment) -> list[Checkpoint]:
    """Policies to judge: those that made no data and whose true return is recorded."""
    others = [policy for policy in environment.policies() if policy not in environment.behaviours["mixed"]]
    known = [policy for policy in others if (environment.name, policy, environment.unit_horizon) in recorded()]
    for policy in set(others) - set(known):
        print(f"{environment.name}, {policy}: left out, its true return is not recorded; run returns.py")
    return known


def setting_of(name: str, seed: int) -> Setting:
    environment = ENVIRONMENTS[name]
    return Setting(name, "mixed", environment.unit_rows, environment.unit_horizon, seed)


def judge_all(name: str, seed: int, policies: list[Checkpoint], models: Path) -> list[Row]:
    """One row per policy, by one model."""
    environment, setting = ENVIRONMENTS[name], setting_of(name, seed)
    model, starts = fitted_model(setting, FULL, models), initial_states(setting)
    rows = []
    for policy in policies:
        begun = time.monotonic()
        found = judged(model, setting, policy, starts, FULL, ["DAinf", "DS"], accept_weaker=["variants"])
        document = {variant["variant"]: variant for variant in found.to_dict()["variants"]}
        truth, error = recorded()[environment.name, policy, setting.horizon]
        rows.append(
            {
                **{"environment": name, "rows": setting.rows, "horizon": setting.horizon, "policy": policy},
                **{"seed": seed, "truth": truth, "truth_error": error, "bound": found.lower_bound},
                "verdict": found.verdict(found.lower_bound),
                "warnings": " ".join(sorted({warning.code for warning in found.warnings})),
                "members": json.dumps([member["mean"] for member in document["dainf"]["members"]]),
                "neutral": document["ds"]["estimate"]["mean"],
                "second_opinion": None if found.second_opinion is None else found.second_opinion.mean,
                "outside_data": document["dainf"]["outside_data"],
                "seconds": round(time.monotonic() - begun, 1),
            }
        )
    return rows


def place(row: Row) -> tuple[int, str, str, int]:
    policy = str(row["policy"])
    return list(ENVIRONMENTS).index(row["environment"]), policy.zfill(8), policy, int(row["seed"])


def report(rows: list[Row]) -> str:
    """One line per policy, in units of the spread between the environment's policies."""
    lines = [
        "# Policies as units",
        "",
        "DAinf alone, over the data sets of several seeds. Differences are in units of the spread between the",
        "best and the worst policy of the environment; z = (truth - mean of the members) / their standard",
        "deviation. Medians, and [least, most] over the seeds. Made by `units.py`.",
        "",
        "| environment | policy | truth | (bound - truth) / spread | z | bounds above the truth | of them certified "
        "| certified | steps off the data |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    above_all = wrong_all = 0
    policies = wrong_policies = 0
    for name in ENVIRONMENTS:
        mine = [row for row in rows if row["environment"] == name]
        truths = {row["policy"]: float(row["truth"]) for row in mine}
        spread = max(truths.values(), default=1.0) - min(truths.values(), default=0.0)
        for policy, truth in truths.items():
            found = [row for row in mine if row["policy"] == policy]
            scaled = [(float(row["bound"]) - truth) / spread for row in found]
            above = [float(row["bound"]) > truth for row in found]
            certified = [row["verdict"] == "certified" for row in found]
            wrong = sum(high and sure for high, sure in zip(above, certified, strict=True))
            away = [float(row["outside_data"]) for row in found]
            lines.append(
                f"| {name} | {policy} | {truth:.1f} | {ranged(scaled)} | {ranged(list(map(z, found)))} "
                f"| {sum(above)} of {len(found)} | {wrong} | {sum(certified)} | {median(away):.0%} |"
            )
            above_all, wrong_all = above_all + sum(above), wrong_all + wrong
            policies, wrong_policies = policies + 1, wrong_policies + (wrong > 0)
    lines += [
        "",
        f"{policies} policies, {len(rows)} evaluations. Bounds above the truth: {above_all}; of these",
        f"certified: {wrong_all}.",
        f"Policies with a wrong certificate on at least one data set: {wrong_policies}.",
    ]
    return "\n".join(lines) + "\n"


def z(row: Row) -> float:
    members = json.loads(row["members"])
    return (float(row["truth"]) - fmean(members)) / stdev(members)


def ranged(values: list[float]) -> str:
    return f"{median(values):+.2f} [{min(values):+.2f}, {max(values):+.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models, as for `run`")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=range(5))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    models, table = arguments.out / "full" / "models", arguments.results / "units.csv"
    models.mkdir(parents=True, exist_ok=True)
    rows = read_rows(table)
    done = {(row["environment"], row["policy"], int(row["seed"])) for row in rows}
    missing = {}
    for seed in arguments.seeds:
        for name in arguments.only:
            policies = [policy for policy in made_no_data(ENVIRONMENTS[name]) if (name, str(policy), seed) not in done]
            if policies:
                missing[name, seed] = policies
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        jobs = {pool.submit(judge_all, *unit, policies, models): unit for unit, policies in missing.items()}
        for job in as_completed(jobs):
            # Read again, because another run may have written meanwhile.
            write_rows(table, read_rows(table) + job.result(), COLUMNS, place)
            print(*jobs[job], flush=True)
    text = report(sorted(read_rows(table), key=place))
    (arguments.results / "units.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
