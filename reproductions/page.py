"""The page of results, from the tables of the record.

    python reproductions/figures.py         # draws its figures
    python reproductions/page.py            # writes results/record/README.md
    python reproductions/page.py --check    # says whether it is what the tables say

What is counted, and how, stands in `protocol.md`. Needs nothing beside Python: every reader can make the page.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median, quantiles

from comparisons import beside_paper, learners
from intervals import interval, share
from taught import counted, is_certified, learned_on_long_horizons, on_long_horizons
from tidy import Row, read_rows

RECORD = Path(__file__).parent / "results" / "record"
POWER_MARGIN = 0.2
"""Share of the spread by which a threshold lies below the truth, where power is counted."""
ROUNDING = 1e-6
"""Share of the spread between a system's policies by which a bound may be above the truth: rounding."""


def units() -> dict[str, list[Row]]:
    """All evaluations by the default certificate, by part of the record; every row has `data_set` and `spread`."""
    parts = {
        "zoo": read_rows(RECORD / "zoo" / "evaluations.csv"),
        "units": read_rows(RECORD / "units.csv"),
        "learned": read_rows(RECORD / "learned.csv"),
    }
    for part, rows in parts.items():
        truths: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            row["system"] = row.get("system") or f"{row['environment']}, {int(row['rows']):,} rows"
            row["data_set"] = f"{row['system']} {row['seed']}"
            truths[row["system"]][row.get("policy", "learned")].append(float(row["truth"]))
        for row in rows:
            # Policies that a run makes itself differ between seeds.
            found = [fmean(values) for values in truths[row["system"]].values()]
            # Learned policies have no others beside them.
            row["spread"] = abs(float(row["truth"])) if part == "learned" else max(found) - min(found)
    return {part: rows for part, rows in parts.items() if rows}


def gap(row: Row) -> float:
    """From the truth to the bound, in spreads."""
    return (float(row["bound"]) - float(row["truth"])) / float(row["spread"])


def is_above(row: Row) -> bool:
    """Whether the bound is above the truth."""
    return float(row["bound"]) > float(row["truth"]) + ROUNDING * row["spread"]


def is_wrong(row: Row) -> bool:
    """Certified above the truth."""
    return is_certified(row) and is_above(row)


def spreads(values: list[float]) -> str:
    """Median, and the quantiles at 10 % and 90 %."""
    if len(values) < 2:
        return ", ".join(f"{value:.2f}" for value in values) or "none"
    tenths = quantiles(values, n=10, method="inclusive")
    return f"{median(values):.2f} [{tenths[0]:.2f}, {tenths[-1]:.2f}]"


def ranks(values: list[float]) -> list[float]:
    """From the smallest on; those that are equal share theirs."""
    return [sum(other < value for other in values) + sum(other == value for other in values) / 2 for value in values]


def correlation(first: list[float], second: list[float]) -> float:
    """Spearman's."""
    a, b = ranks(first), ranks(second)
    a, b = [x - fmean(a) for x in a], [x - fmean(b) for x in b]
    size = (sum(x * x for x in a) * sum(x * x for x in b)) ** 0.5
    return sum(x * y for x, y in zip(a, b, strict=True)) / size if size else 0.0


def by_data_set(rows: list[Row]) -> list[list[Row]]:
    """Those that share a model."""
    found = defaultdict(list)
    for row in rows:
        found[row["data_set"]].append(row)
    return list(found.values())


def gate(parts: dict[str, list[Row]]) -> list[str]:
    """How often it is wrong."""
    lines = ["| part | wrong certificates | of those certified | data sets with one | bounds above the truth "]
    lines[0] += "| abstentions |"
    lines += ["| -- | -- | -- | -- | -- | -- |"]
    everything = [row for rows in parts.values() for row in rows]
    for part, rows in [*parts.items(), ("**all**", everything)]:
        certified, sets = [row for row in rows if is_certified(row)], by_data_set(rows)
        wrong = sum(map(is_wrong, rows))
        with_one = sum(any(map(is_wrong, of_set)) for of_set in sets)
        lines.append(
            f"| {part} | {share(wrong, len(rows))} | {share(wrong, len(certified))} | {share(with_one, len(sets))} "
            f"| {share(sum(map(is_above, rows)), len(rows))} | {share(len(rows) - len(certified), len(rows))} |"
        )
    return lines


def headline(parts: dict[str, list[Row]]) -> str:
    """What README and site say of all of it, word for word."""
    rows = [row for part in parts.values() for row in part]
    certified = sum(map(is_certified, rows))
    wrong, abstained = sum(map(is_wrong, rows)), len(rows) - certified
    _, most = interval(wrong, certified)
    return (
        f"{wrong or 'none'} of {certified} certificates {'are' if wrong > 1 else 'is'} above the truth (at most "
        f"{100 * most:.1f} % with 95 % confidence), and {abstained} of {len(rows)} evaluations are INCONCLUSIVE"
    )


def kinds(rows: list[Row]) -> list[str]:
    """The zoo by kind of policy."""
    lines = ["| policies of the zoo | wrong certificates | abstentions | power |", "| -- | -- | -- | -- |"]
    for kind in dict.fromkeys(row["policy"] for row in rows):
        mine = [row for row in rows if row["policy"] == kind]
        near = [float(row["bound"]) >= float(row["truth"]) - POWER_MARGIN * row["spread"] for row in mine]
        powerful = sum(is_certified(row) and is_near for row, is_near in zip(mine, near, strict=True))
        abstained = sum(not is_certified(row) for row in mine)
        lines.append(
            f"| {kind} | {share(sum(map(is_wrong, mine)), len(mine))} | {share(abstained, len(mine))} "
            f"| {share(powerful, len(mine))} |"
        )
    return lines


def improvements(rows: list[Row]) -> list[str]:
    """What is said about being better than the logs, where nothing speaks against it."""
    compared = [row for row in rows if is_certified(row) and row.get("improvement")]
    truths = [float(row["truth"]) - float(row["logged_truth"]) for row in compared]
    lines = ["| bound on the improvement | above the true one | better than the logs, and certified as that |"]
    lines += ["| -- | -- | -- |"]
    for name, column in {
        "paired, in the same worlds": "improvement",
        "two separate bounds": "improvement_by_separate_bounds",
    }.items():
        found = [(float(row[column]), truth, row["spread"]) for row, truth in zip(compared, truths, strict=True)]
        above = sum(bound > truth + ROUNDING * spread for bound, truth, spread in found)
        better = [bound for bound, truth, _ in found if truth > 0]
        lines.append(
            f"| {name} | {share(above, len(found))} | {share(sum(bound >= 0 for bound in better), len(better))} |"
        )
    worse = sum(float(row["improvement"]) >= 0 > truth for row, truth in zip(compared, truths, strict=True))
    return [*lines, "", f"Certified as better although worse: {share(worse, len(compared))}."]


def versions() -> list[str]:
    """Which version of the software ran what."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in read_rows(RECORD / "runs.csv"):
        if row["part"] not in found[row["revision"]]:
            found[row["revision"]].append(row["part"])
    return [f"- software of {revision}: {', '.join(mine)}" for revision, mine in found.items()]


def failures(parts: dict[str, list[Row]]) -> list[str]:
    """Every wrong certificate by name."""
    wrong = [(part, row) for part, rows in parts.items() for row in rows if is_wrong(row)]
    if not wrong:
        return ["No certificate was wrong."]
    lines = ["| part | system | seed | policy | truth | bound | above it, in spreads |", "|" + " -- |" * 7]
    for part, row in wrong:
        above = (float(row["bound"]) - float(row["truth"])) / row["spread"]
        lines.append(
            f"| {part} | {row['system']} | {row['seed']} | {row.get('policy', 'learned')} "
            f"| {float(row['truth']):.4g} | {float(row['bound']):.4g} | {above:.3f} |"
        )
    return lines


def by_system(parts: dict[str, list[Row]]) -> dict[tuple[str, str], list[Row]]:
    """By part and system."""
    found = defaultdict(list)
    for part, rows in parts.items():
        for row in rows:
            found[part, row["system"]].append(row)
    return found


def mean_order(rows: list[Row]) -> float | None:
    """Spearman's correlation of bounds with truths, over data sets with several policies."""
    several = [of_set for of_set in by_data_set(rows) if len(of_set) > 2]
    orders = [
        correlation([float(row["bound"]) for row in of_set], [float(row["truth"]) for row in of_set])
        for of_set in several
    ]
    return fmean(orders) if orders else None


def systems(parts: dict[str, list[Row]]) -> list[str]:
    """System by system, the worst first."""
    lines = ["| part | system | certified | of these wrong | (bound - truth) / spread of those certified | order |"]
    lines += ["| -- | -- | -- | -- | -- | -- |"]
    table = []
    for (part, system), mine in by_system(parts).items():
        certified = [row for row in mine if is_certified(row)]
        gaps = [gap(row) for row in certified]
        order = mean_order(mine)
        cells = f"| {part} | {system} | {len(certified)} of {len(mine)} | {sum(map(is_wrong, mine))} "
        cells += f"| {spreads(gaps)} | {'none' if order is None else f'{order:.2f}'} |"
        table.append((len(certified) / len(mine), cells))
    return lines + [line for _, line in sorted(table)]


def weaknesses(parts: dict[str, list[Row]]) -> list[str]:
    """Systems by what goes badly there."""
    found = by_system(parts)

    def named(what: Callable[[list[Row]], str | None]) -> str:
        said = [(part, system, what(mine)) for (part, system), mine in found.items()]
        return ", ".join(f"{system} ({part}, {text})" for part, system, text in said if text) or "none"

    def rarely_certified(mine: list[Row]) -> str | None:
        count = sum(map(is_certified, mine))
        return f"{count} of {len(mine)}" if 2 * count < len(mine) else None

    def far_below(mine: list[Row]) -> str | None:
        gaps = [gap(row) for row in mine if is_certified(row)]
        return f"{median(gaps):.2f}" if gaps and median(gaps) < -POWER_MARGIN else None

    def above(mine: list[Row]) -> str | None:
        count = sum(map(is_above, mine))
        return f"{count} of {len(mine)}, {sum(map(is_wrong, mine))} of them certified" if count else None

    def disordered(mine: list[Row]) -> str | None:
        order = mean_order(mine)
        return None if order is None or order >= 0.5 else f"{order:.2f}"

    return [
        f"- Less than half is certified: {named(rarely_certified)}.",
        f"- What is certified is over {POWER_MARGIN:.0%} of the spread too low (median): {named(far_below)}.",
        f"- Bounds above the truth: {named(above)}.",
        f"- Bounds hardly order policies: {named(disordered)}.",
    ]


def times(parts: dict[str, list[Row]]) -> list[str]:
    """Of one thread each, on a shared machine."""
    lines = ["| part | seconds of a fit | of an evaluation |", "| -- | -- | -- |"]
    for part in ("zoo", "units"):
        if part in parts:
            fits, evaluations = (
                spreads([float(row[name]) for row in parts[part]]) for name in ("fit_seconds", "seconds")
            )
            lines.append(f"| {part} | {fits} | {evaluations} |")
    return lines


def picture(name: str, what: str) -> list[str]:
    """A figure of `figures.py` or of the zoo, if it was drawn."""
    return ["", f"![{what}]({name})"] if (RECORD / name).exists() else []


def page() -> str:
    """All of it."""
    parts = units()
    lines = [
        "# The record",
        "",
        "Made by `python reproductions/page.py` of the tables beside it, which `reproductions/record` fills as",
        "[the protocol](../../protocol.md) says. Rounds that are not finished are not waited for.",
        "",
    ]
    if not parts:
        return "\n".join([*lines, "Nothing has been run yet.", ""])
    for part, rows in parts.items():
        seeds = sorted({int(row["seed"]) for row in rows})
        lines.append(
            f"- {part}: {len(rows)} units, {len(by_data_set(rows))} data sets, seeds {seeds[0]} to {seeds[-1]}"
        )
    lines += [*versions(), "", "## How often is the gate wrong?", "", *gate(parts), "", *failures(parts)]
    if "zoo" in parts:
        lines += ["", *kinds(parts["zoo"]), ""]
        lines += ["Power: certified at the truth minus 20 % of the spread between the system's best and worst policy."]
        lines += ["", *improvements(parts["zoo"])]
    lines += picture("zoo/rates.svg", "Wrong certificates against delta, and certified share against the margin")
    lines += ["", "## How tight is it, where is it of no use, and does it order policies?", ""]
    lines += ["What is certified least stands first. Order is Spearman's correlation within a data set.", ""]
    lines += [*systems(parts), *picture("tightness.svg", "How far each bound is below the truth, system by system")]
    if "units" in parts:
        lines += picture("order.svg", "Bounds over true returns of every policy")
        lines += ["", "Filled points are certified; at the lower edge stands what is below."]
    lines += ["", "## What is it bad at?", "", *weaknesses(parts)]
    lines += ["", "## How long does it take?", "", *times(parts)]
    lines += [*picture("speed.svg", "Seconds of fits and evaluations, system by system"), ""]
    if table := beside_paper(RECORD):
        lines += [
            "## Beside the paper's variants and others",
            "",
            "Scaled bounds, medians over seeds: the truth is 1. MOPO's weight is the smallest that holds in all seeds",
            "(hindsight), or for the policies that made the data (backtest). The authors' best is the mean that they",
            "print, of their own policies.",
            "",
            *table,
            "",
        ]
    if table := counted(RECORD):
        lines += ["## Certificates of learned policies", ""]
        lines += ["By worlds of other episodes than those that taught. They are counted here alone; Pendulum's are the"]
        lines += ["part `learned` above.", "", *table, ""]
    if table := learned_on_long_horizons(RECORD):
        lines += [
            "On a long horizon, 1,000 steps. Short fits have a quarter of the default's steps and certify nothing"
        ]
        lines += ["any more; with them seed 34 was judged because it had earned little.", "", *table, ""]
    if table := on_long_horizons(RECORD):
        lines += ["## Over 1,000 steps", ""]
        lines += ["Policies that hambo did not learn, judged by the worlds that judge the learned ones by default."]
        lines += [*table, ""]
    if table := learners(RECORD / "learners.csv"):
        lines += ["## Learning from logs", "", "Scores as D4RL's, means over seeds.", "", *table, ""]
    if table := learners(RECORD / "learners_short.csv"):
        lines += ["## Learning from logs, in short", ""]
        lines += ["Scores as D4RL's. Fits and learning were cut short, see the protocol. d3rlpy's learners had as much"]
        lines += ["processor time as `logs` took; hambo's others took what they took.", ""]
        lines += [
            "A learner of hambo that found nothing better kept the copy of the logs with which it began. The paper's"
        ]
        lines += ["learners had ten times as many transitions, D4RL's own, and learned in the model."]
        lines += [""]
        lines += [*table, ""]
    return "\n".join(lines)


def main() -> None:
    """Writes it, or compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    path = RECORD / "README.md"
    if not arguments.check:
        path.write_text(page(), encoding="utf-8")
    elif path.read_text(encoding="utf-8") != page():
        sys.exit(f"{path.name} of the record is not what its tables say; run reproductions/page.py")


if __name__ == "__main__":
    main()
