"""The tidy table, the scoreboard and the figures, from the documents of finished settings."""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from authors import AUTHORS

import hambo

CONSERVATIVE = ["CA", "DA1", "DAinf"]
NEUTRAL = ["DS", "TS1", "TSinf"]
NAMES = {name.lower(): name for name in CONSERVATIVE + NEUTRAL}
COLOURS = dict(
    zip(CONSERVATIVE + NEUTRAL, ["#b2182b", "#ef8a62", "#762a83", "#777777", "#999999", "#bbbbbb"], strict=True)
)

Rows = list[dict[str, Any]]


def scaled(value: float, truth: float) -> float:
    """So that the true return is 1, and less is less, whatever the sign."""
    return 1.0 - (truth - value) / abs(truth)


def table(folder: Path) -> Rows:
    """One row per setting and variant."""
    rows = []
    for path in sorted((folder / "settings").glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        truth = found["true_return"]["mean"]
        evaluation = found["evaluation"]
        verdict = hambo.Evaluation.from_json(json.dumps(evaluation)).verdict(evaluation["lower_bound"])
        for variant in evaluation["variants"]:
            name = NAMES[variant["variant"]]
            rows.append(
                {
                    **found["setting"],
                    "variant": name,
                    "true_return": truth,
                    "true_error": found["true_return"]["std_error"],
                    "bound": variant["lower_bound"],
                    "estimate": variant["estimate"]["mean"],
                    "std_error": variant["estimate"]["std_error"],
                    "scaled_bound": scaled(variant["lower_bound"], truth),
                    "scaled_estimate": scaled(variant["estimate"]["mean"], truth),
                    "holds": variant["lower_bound"] <= truth,
                    "converged": variant["converged"],
                    "rounds": len(variant["rounds"]),
                    "outside_data": variant["outside_data"],
                    "verdict": verdict,
                    "warnings": " ".join(warnings(evaluation["warnings"], variant["variant"])),
                    "seconds": evaluation["timings"][f"return: {name}"],
                    "fit_seconds": found["seconds"]["data and fit"],
                }
            )
    return rows


def warnings(found: list[dict[str, Any]], variant: str) -> list[str]:
    """Codes of the warnings about a variant, or about all of them."""
    return sorted({warning["code"] for warning in found if warning.get("variant", variant) == variant})


def groups(rows: Rows) -> dict[tuple[str, str, int, int], Rows]:
    found = defaultdict(list)
    for row in rows:
        found[row["environment"], row["data"], row["rows"], row["horizon"]].append(row)
    return dict(sorted(found.items()))


def least_coverage(held: int, count: int, confidence: float = 0.95) -> float:
    """Clopper and Pearson's one-sided limit: at least so many bounds hold."""
    from scipy.stats import beta

    return float(beta.ppf(1.0 - confidence, held, count - held + 1)) if held else 0.0


def scoreboard(rows: Rows) -> str:
    """Coverage, tightness and time per setting and variant, beside the authors' means."""
    lines = [
        "| environment | data | n | T | seeds | variant | bounds that hold | scaled bound, mean [least, most] "
        "| authors | neutral estimates | converged | warnings | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (environment, data, count, horizon), group in groups(rows).items():
        authors = AUTHORS.get((environment, data, count, horizon), {})
        neutral = [row["scaled_estimate"] for row in group if row["variant"] in NEUTRAL]
        spread = f"{mean(neutral):.3f} [{min(neutral):.3f}, {max(neutral):.3f}]" if neutral else ""
        for variant in CONSERVATIVE:
            mine = [row for row in group if row["variant"] == variant]
            if not mine:
                continue
            bounds = [row["scaled_bound"] for row in mine]
            held = sum(row["holds"] for row in mine)
            converged = sum(row["converged"] is not False for row in mine)
            seconds = sum(row["seconds"] for row in mine) / len(mine)
            counted = Counter(code for row in mine for code in row["warnings"].split())
            doubted = ", ".join(f"{code} {times}" for code, times in sorted(counted.items()))
            lines.append(
                f"| {environment} | {data} | {count:,} | {horizon} | {len(mine)} | {variant} "
                f"| {held} of {len(mine)} (at least {least_coverage(held, len(mine)):.0%}) "
                f"| {mean(bounds):.3f} [{min(bounds):.3f}, {max(bounds):.3f}] | {authors.get(variant, '')} "
                f"| {spread} | {converged} of {len(mine)} | {doubted} | {seconds:.0f} |"
            )
    conservative = [row for row in rows if row["variant"] in CONSERVATIVE]
    held = sum(row["holds"] for row in conservative)
    limit = least_coverage(held, len(conservative))
    evaluations = {(row["environment"], row["data"], row["rows"], row["horizon"], row["seed"]): row for row in rows}
    certified = sum(row["verdict"] == "certified" for row in evaluations.values())
    lines.append("")
    lines.append(
        f"Coverage: {held} of {len(conservative)} bounds are at or below the true return; with 95 % confidence "
        f"at least {limit:.1%}, were they independent (seeds are; results of one seed share initial states). "
        f"Of {len(evaluations)} evaluations {certified} are certified at their own bound, the others are inconclusive."
    )
    return "\n".join(lines) + "\n"


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def figure(rows: Rows, over: str, path: Path) -> None:
    """Scaled bounds and neutral estimates against the size of the data or the horizon."""
    fixed = "horizon" if over == "rows" else "rows"
    panels = defaultdict(list)
    for row in rows:
        panels[row["environment"], row["data"], row[fixed]].append(row)
    panels = {key: group for key, group in sorted(panels.items()) if len({row[over] for row in group}) > 1}
    if not panels:
        return
    figure, all_axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3.4), squeeze=False, layout="constrained")
    for axes, ((environment, data, value), group) in zip(all_axes[0], panels.items(), strict=True):
        for variant in [name for name in COLOURS if any(row["variant"] == name for row in group)]:
            key = "scaled_bound" if variant in CONSERVATIVE else "scaled_estimate"
            places = sorted({row[over] for row in group if row["variant"] == variant})
            found = [
                [row[key] for row in group if row["variant"] == variant and row[over] == place] for place in places
            ]
            axes.plot(places, list(map(mean, found)), "o-", color=COLOURS[variant], label=variant, ms=4)
            axes.fill_between(
                places, list(map(min, found)), list(map(max, found)), color=COLOURS[variant], alpha=0.15, lw=0
            )
        axes.axhline(1.0, color="black", lw=1, ls="--")
        if over == "rows":
            axes.set_xscale("log")
        named = f"T = {value}" if over == "rows" else f"n = {value:,}"
        axes.set(title=f"{environment} ({data}), {named}", xlabel="transitions" if over == "rows" else "horizon")
    all_axes[0][0].set_ylabel("return over the true return")
    all_axes[0][-1].legend(frameon=False, fontsize=8)
    figure.savefig(path)
    plt.close(figure)


def write_results(folder: Path) -> None:
    rows = table(folder)
    if not rows:
        return
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = scoreboard(rows)
    (folder / "scoreboard.md").write_text(text, encoding="utf-8")
    figure(rows, "rows", folder / "over_n.svg")
    figure(rows, "horizon", folder / "over_T.svg")
    print(text)
