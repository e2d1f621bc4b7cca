"""Policies as units: every committed policy, judged by the default certificate on the data sets of five seeds.

    python reproductions/units.py --out OUT [--only hopper] [--rows 10000] [--seeds 0 1]

One policy per environment says nothing about how often a bound is wrong. Goes on from `results/units.csv`, and keeps
its models in OUT. Everything is as by default, except 1,000 episodes per world; the logs name the checkpoint that
acted.
"""

import argparse
import json
import os
import time
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, stdev

# One thread per process: there are more units than cores.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

from environments import ENVIRONMENTS, Checkpoint, Environment
from lanes import lanes
from returns import recorded
from scipy.stats import beta
from setting import FULL, Setting, default_model, initial_states, judged
from tidy import Row, read_rows, write_rows

import hambo

EFFORT = replace(FULL, episodes=1_000)
COLUMNS = [
    *("environment", "rows", "horizon", "policy", "seed", "truth", "truth_error", "bound", "verdict", "reasons"),
    *("warnings", "members", "second_opinion", "outside_data", "at_limits", "noise", "factor", "offset", "unresolved"),
    *("replay", "fit_seconds", "seconds"),
]


def with_truth(environment: Environment) -> list[Checkpoint]:
    """Policies to judge: those whose true return is recorded."""
    all_of_them = environment.policies()
    known = [policy for policy in all_of_them if (environment.name, policy, environment.unit_horizon) in recorded()]
    for policy in set(all_of_them) - set(known):
        print(f"{environment.name}, {policy}: left out, its true return is not recorded; run returns.py")
    return known


def unit_setting(name: str, rows: int, seed: int) -> Setting:
    return Setting(name, "mixed", rows, ENVIRONMENTS[name].unit_horizon, seed)


def fit(setting: Setting, models: Path) -> float:
    """Leaves the model in `models`, and returns how many seconds that took."""
    begun = time.monotonic()
    default_model(setting, models)
    return time.monotonic() - begun


def judge(setting: Setting, policy: Checkpoint, models: Path) -> Row:
    """One row, except the time of the fit."""
    model, starts = default_model(setting, models), initial_states(setting)
    begun = time.monotonic()
    evaluation = judged(model, setting, policy, starts, EFFORT, [])
    unit = {key: vars(setting)[key] for key in ("environment", "rows", "horizon", "seed")} | {"policy": policy}
    truth, error = recorded()[ENVIRONMENTS[setting.environment].name, policy, setting.horizon]
    unit |= {"truth": truth, "truth_error": error, "seconds": round(time.monotonic() - begun, 1)}
    return unit | said(evaluation)


def said(evaluation: hambo.Evaluation) -> Row:
    """What the default certificate says."""
    document = evaluation.to_dict()
    [worlds] = [variant for variant in document["variants"] if variant["variant"] == "worlds"]
    limit = worlds["worlds"]
    replay = limit["replay"]
    assert evaluation.lower_bound is not None
    return {
        "bound": evaluation.lower_bound,
        "verdict": evaluation.verdict(evaluation.lower_bound),
        "reasons": " ".join(sorted({warning["code"] for warning in document["warnings"] if warning["disqualifies"]})),
        "warnings": " ".join(sorted({warning.code for warning in evaluation.warnings})),
        "members": json.dumps([member["mean"] for member in worlds["members"]]),
        "second_opinion": None if evaluation.second_opinion is None else evaluation.second_opinion.mean,
        "outside_data": worlds["outside_data"],
        "at_limits": worlds["at_limits"],
        "factor": limit["factor"],
        **{name: replay[name] for name in ("noise", "offset", "unresolved")},
        "replay": json.dumps(replay["tried"]),
    }


def made_data(row: Row) -> bool:
    return str(row["policy"]) in map(str, ENVIRONMENTS[row["environment"]].behaviours["mixed"])


def scaled(row: Row) -> float:
    """The bound where the true return is 1, as on the scoreboard."""
    truth = float(row["truth"])
    return 1 - (truth - float(row["bound"])) / abs(truth)


def wrong(row: Row) -> bool:
    return row["verdict"] == "certified" and float(row["bound"]) > float(row["truth"])


def place(row: Row) -> tuple[int, int, str, str, int]:
    policy = str(row["policy"])
    number = list(ENVIRONMENTS).index(row["environment"])
    return number, int(row["rows"]), policy.zfill(8), policy, int(row["seed"])


def share(count: int, of: int) -> str:
    """With its 95 % Clopper-Pearson interval."""
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return f"{count} of {of} [{low:.0%}, {high:.0%}]"


def report(rows: list[Row]) -> str:
    """One line per policy and size, in units of the spread between the environment's policies."""
    lines = [
        "# Policies as units",
        "",
        "The default certificate, over the data sets of several seeds. Differences are in units of the spread",
        "between the best and the worst policy of the environment; z = (truth - mean of the worlds) / their",
        "standard deviation. Medians, and [least, most] over the seeds. * its mean, with exploration, made the",
        "data. Made by `units.py`.",
        "",
        "| environment | n | policy | truth | (bound - truth) / spread | z | bounds above the truth | certified "
        "| of them wrong | noise | factor | steps off the data |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for unit in sorted({place(row)[:4] for row in rows}):
        found = [row for row in rows if place(row)[:4] == unit]
        first = found[0]
        truths = [float(row["truth"]) for row in rows if row["environment"] == first["environment"]]
        spread, truth = max(truths) - min(truths), float(first["truth"])
        apart = [(float(row["bound"]) - truth) / spread for row in found]
        certified = sum(row["verdict"] == "certified" for row in found)
        noises = "/".join(f"{float(row['noise']):g}" for row in found)
        factor, away = (median(float(row[name]) for row in found) for name in ("factor", "outside_data"))
        lines.append(
            f"| {first['environment']} | {int(first['rows']):,} | {first['policy']}{'*' * made_data(first)} "
            f"| {truth:.1f} | {ranged(apart)} | {ranged(list(map(z, found)))} "
            f"| {sum(gap > 0 for gap in apart)} of {len(found)} | {certified} | {sum(map(wrong, found))} "
            f"| {noises} | {factor:.1f} | {away:.0%} |"
        )
    lines += ["", "## In all", ""]
    lines += ["| environment | n | evaluations | bounds above the truth | certified | of them wrong "]
    lines[-1] += (
        "| policies with a wrong certificate | root mean square of z | scaled bound of the scoreboard's policy |"
    )
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for name, size in sorted({(place(row)[0], int(row["rows"])) for row in rows}):
        environment = list(ENVIRONMENTS)[name]
        lines.append(summary([row for row in rows if row["environment"] == environment and int(row["rows"]) == size]))
    return "\n".join(lines) + "\n"


def summary(rows: list[Row]) -> str:
    """One environment and size."""
    first = rows[0]
    policies = {row["policy"] for row in rows}
    fooled = {row["policy"] for row in rows if wrong(row)}
    above = sum(float(row["bound"]) > float(row["truth"]) for row in rows)
    certified = [row for row in rows if row["verdict"] == "certified"]
    evaluated = str(ENVIRONMENTS[first["environment"]].evaluated)
    bounds = [scaled(row) for row in rows if str(row["policy"]) == evaluated]
    mean = f"{fmean(bounds):.2f} [{min(bounds):.2f}, {max(bounds):.2f}]" if bounds else ""
    return (
        f"| {first['environment']} | {int(first['rows']):,} | {len(rows)} | {above} | {len(certified)} "
        f"| {share(sum(map(wrong, certified)), len(certified)) if certified else '0 of 0'} "
        f"| {share(len(fooled), len(policies))} | {fmean(z(row) ** 2 for row in rows) ** 0.5:.1f} | {mean} |"
    )


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
    parser.add_argument("--rows", nargs="*", type=int, help="sizes of the data; all recorded ones by default")
    parser.add_argument("--seeds", nargs="*", type=int, default=range(5))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--on", help="'ray', or the address of a Ray cluster, in place of processes here")
    arguments = parser.parse_args()
    models, table = arguments.out / "default" / "models", arguments.results / "units.csv"
    models.mkdir(parents=True, exist_ok=True)
    done = {(row["environment"], int(row["rows"]), row["policy"], int(row["seed"])) for row in read_rows(table)}
    missing = {}
    for seed in arguments.seeds:
        for name in arguments.only:
            for rows in arguments.rows or ENVIRONMENTS[name].unit_rows:
                known = with_truth(ENVIRONMENTS[name])
                policies = [policy for policy in known if (name, rows, str(policy), seed) not in done]
                if policies:
                    missing[unit_setting(name, rows, seed)] = policies
    with lanes(arguments.processes, arguments.on) as pool:
        fits = {pool.submit(fit, setting, models): setting for setting in missing}
        fitted = {fits[job]: job.result() for job in as_completed(fits)}
        jobs = {
            pool.submit(judge, setting, policy, models): (setting, policy)
            for setting, policies in missing.items()
            for policy in policies
        }
        for job in as_completed(jobs):
            setting, policy = jobs[job]
            row = job.result() | {"fit_seconds": round(fitted[setting], 1)}
            # Read again, because another run may have written meanwhile.
            write_rows(table, [*read_rows(table), row], COLUMNS, place)
            print(setting.name, policy, flush=True)
    text = report(sorted(read_rows(table), key=place))
    (arguments.results / "units.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
