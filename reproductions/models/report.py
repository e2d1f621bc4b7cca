"""The table of `results/models.csv`, as Markdown."""

import json
from statistics import fmean, median

import numpy as np
from scipy.stats import spearmanr
from tidy import Row

NAMES = {
    "old": "hambo, before",
    "new": "hambo",
    "pets": "PETS in PyTorch",
}


def report(rows: list[Row]) -> str:
    lines = [
        "# Models of the dynamics",
        "",
        "Means over seeds, and [least, most]. Errors over steps are medians over pieces of held-out episodes,",
        "played again without noise by each network alone, in standard deviations of the logged states; *covered*",
        "is how many values lay in the 90 % interval of the networks' Student distribution. Likelihoods are those",
        "of a single network and of all of them together, per held-out row. Time is the processor's, over that of",
        "PETS on the same logs. Made by `models/run`.",
        "",
        "| environment | n | model | seeds | one step | 10 steps | 50 steps | 100 steps | covered at 10, 50, 100 "
        "| likelihood of one, of all | time |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    units = list(dict.fromkeys((row["environment"], int(row["rows"]), row["model"]) for row in rows))
    units.sort(key=lambda unit: (list(dict.fromkeys(row["environment"] for row in rows)).index(unit[0]), unit[1]))
    for name, size, model in units:
        of_it = chosen(rows, name, size, model)
        seeds = {row["seed"] for row in of_it}
        peers = {row["seed"]: row for row in chosen(rows, name, size, "pets")}
        ratios = [seconds(row) / seconds(peers[row["seed"]]) for row in of_it if row["seed"] in peers]
        errors = " | ".join(ranged([float(row[f"error_{steps}"]) for row in of_it]) for steps in (10, 50, 100))
        shares = (fmean(float(row[f"covered_{steps}"]) for row in of_it) for steps in (10, 50, 100))
        covered = ", ".join(f"{share:.0%}" for share in shares)
        likelihoods = ", ".join(
            f"{fmean(float(row[column]) for row in of_it):.1f}" for column in ("likelihood", "mixture_likelihood")
        )
        lines.append(
            f"| {name} | {size:,} | {NAMES[model]} | {len(seeds)} "
            f"| {ranged([float(row['one_step']) for row in of_it])} | {errors} "
            f"| {covered} | {likelihoods} | {f'{fmean(ratios):.2f}' if ratios else ''} |"
        )
    lines += [
        "",
        "## What their worlds say of the committed policies",
        "",
        "Errors of the mean over the networks, in units of the spread between the environment's policies, without",
        "noise and with all that was learned: median and largest over the policies, and Spearman's rank correlation",
        "with the truth. Means over seeds.",
        "",
        "| environment | n | model | without noise: median, largest, correlation | with noise |",
        "|---|---|---|---|---|",
    ]
    for name, size, model in units:
        of_it = chosen(rows, name, size, model)
        lines.append(f"| {name} | {size:,} | {NAMES[model]} | {said(of_it, 'noiseless')} | {said(of_it, 'noisy')} |")
    return "\n".join(lines) + "\n"


def chosen(rows: list[Row], name: str, size: int, model: str) -> list[Row]:
    return [row for row in rows if (row["environment"], int(row["rows"]), row["model"]) == (name, size, model)]


def seconds(row: Row) -> float:
    return float(row["processor_seconds"])


def ranged(values: list[float]) -> str:
    return f"{fmean(values):.3f} [{min(values):.3f}, {max(values):.3f}]"


def said(rows: list[Row], column: str) -> str:
    """Median and largest error, and the rank correlation."""
    found = []
    for row in rows:
        truths, means, _ = np.array(list(json.loads(row[column]).values())).T
        errors = np.abs(means - truths) / (truths.max() - truths.min())
        found.append((median(errors), errors.max(), spearmanr(truths, means).statistic))
    middle, largest, correlation = np.mean(found, axis=0)
    return f"{middle:.1%}, {largest:.0%}, {correlation:.2f}"
