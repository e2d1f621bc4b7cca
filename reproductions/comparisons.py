"""The certificate beside the paper's variants and MOPO, and learners beside each other, as tables of the record's page.

Needs nothing beside Python, as the page.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, median

from authors import AUTHORS, LEARNERS
from tidy import Row, read_rows

CONSERVATIVE = ["CA", "DA1", "DAinf"]
Key = tuple[str, str, int, int]


def key(row: Row) -> Key:
    return row["environment"], row["data"], int(row["rows"]), int(row["horizon"])


def scaled(value: float, truth: float) -> float:
    """So that the true return is 1, and less is less, whatever the sign."""
    return 1.0 - (truth - value) / abs(truth)


def grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def weight(row: Row) -> float:
    """MOPO's, from "w = 0.5"."""
    return float(row["of"].removeprefix("w = "))


def by_weight(rows: list[Row]) -> dict[float, list[Row]]:
    """What MOPO says of the policy in question."""
    found = defaultdict(list)
    for row in rows:
        if row["method"] == "mopo":
            found[weight(row)].append(row)
    return dict(sorted(found.items()))


def limits(rows: list[Row]) -> list[float]:
    return [scaled(float(row["limit"]), float(row["truth"])) for row in rows]


def in_hindsight(rows: list[Row]) -> list[float]:
    """By the smallest weight that holds in all seeds; by the largest if none does."""
    found = [limits(mine) for mine in by_weight(rows).values()]
    return next((values for values in found if max(values) <= 1), found[-1] if found else [])


def by_backtest(rows: list[Row]) -> list[float]:
    """In each seed by the smallest weight whose limits hold for the policies that made the data; else the largest."""
    found = []
    for seed in sorted({row["seed"] for row in rows}):
        mine = [row for row in rows if row["seed"] == seed]
        weights = by_weight(mine)
        failed = {weight(row) for row in mine if row["method"].startswith("mopo of ") and not holds(row)}
        chosen = next((each for each in weights if each not in failed), max(weights, default=None))
        if chosen is not None:
            found += limits(weights[chosen])
    return found


def holds(row: Row) -> bool:
    return float(row["limit"]) <= float(row["truth"])


def cell(values: list[float]) -> str:
    """The median, and how many are above the truth."""
    if not values:
        return ""
    above = sum(value > 1 for value in values)
    return f"{median(values):.2f}" + (f" ({above} of {len(values)} above)" if above else "")


def beside_paper(record: Path) -> list[str]:
    """Setting by setting; none if nothing was run."""
    default, variants = (grouped(read_rows(record / f"{name}.csv")) for name in ("beside_paper", "paper"))
    if not default:
        return []
    names = ["certificate", "MOPO, hindsight", "MOPO, backtest", "FQE", "MOReL", "paper's best here", "authors' best"]
    lines = ["| setting | seeds | abstains | " + " | ".join(names) + " | tightest that holds |"]
    lines += ["|" + " -- |" * (len(names) + 4)]
    for setting, rows in default.items():
        environment, data, size, horizon = setting
        of_method = {name: [row for row in rows if row["method"] == name] for name in ("certificate", "fqe", "morel")}
        certificate = of_method["certificate"]
        published = AUTHORS.get(setting, {})
        found = {
            "certificate": limits(certificate),
            "MOPO, hindsight": in_hindsight(rows),
            "MOPO, backtest": by_backtest(rows),
            "FQE": limits(of_method["fqe"]),
            "MOReL": limits(of_method["morel"]),
            "paper's best here": best_variant(variants.get(setting, [])),
            "authors' best": [max(published.values())] if published else [],
        }
        valid = {name: median(values) for name, values in found.items() if values and max(values) <= 1}
        winner = max(valid, key=lambda name: valid[name]) if valid else "none"
        abstains = sum(row["abstains"] == "True" for row in certificate)
        lines.append(
            f"| {environment}, {data}, n = {size:,}, T = {horizon} | {len(certificate)} | {abstains} | "
            + " | ".join(cell(found[name]) for name in names)
            + f" | {winner} |"
        )
    return lines


def best_variant(rows: list[Row]) -> list[float]:
    """Bounds of the variant of the paper that is tightest among those that hold in all seeds."""
    found = [[float(row["scaled_bound"]) for row in rows if row["variant"] == name] for name in CONSERVATIVE]
    found = [values for values in found if values]
    valid = [values for values in found if max(values) <= 1]
    return max(valid or found, key=fmean, default=[])


def score(rows: list[Row]) -> str:
    """A mean over seeds, and in how many of them a learner stayed with the copy that it began with."""
    if not rows:
        return ""
    copies = sum(int(row["steps"]) == 0 for row in rows)
    copied = "" if copies == 0 else " (the copy)" if copies == len(rows) else f" ({copies} copies)"
    return f"{fmean(float(row['score']) for row in rows):.1f}{copied}"


def learners(table: Path) -> list[str]:
    """Scores as D4RL's; none if nothing was run."""
    rows = read_rows(table)
    if not rows:
        return []
    names = list(dict.fromkeys(row["learner"] for row in rows))
    lines = ["| data | seeds | " + " | ".join(names) + " | the paper's CA, DA1 |", "|" + " -- |" * (len(names) + 3)]
    for data in dict.fromkeys((row["environment"], row["data"], row["rows"]) for row in rows):
        mine = [row for row in rows if (row["environment"], row["data"], row["rows"]) == data]
        cells = [score([row for row in mine if row["learner"] == name]) for name in names]
        environment, kind, size = data
        seeds = len({row["seed"] for row in mine})
        cells.append(", ".join(map(str, LEARNERS.get((environment, kind), {}).values())))
        lines.append(f"| {environment}, {kind}, n = {int(size):,} | {seeds} | " + " | ".join(cells) + " |")
    return lines
