"""Certificates of learned policies, and of any over a long horizon, as tables of the record's page.

Needs nothing beside Python, as the page.
"""

from pathlib import Path

from intervals import share
from tidy import Row, read_rows

TAUGHT = {
    "zoo_learned": "zoo, from the logged steps",
    "zoo_learned_worlds": "zoo, against worlds",
    "gusty_cliff_learned": "`gusty_cliff` alone, from the logged steps",
}
"""Tables of learned policies."""
RETURNS = ("logged", "truth", "truth_error", "worst_tenth", "bound")
"""Columns of policies on long horizons that are returns."""


def is_certified(row: Row) -> bool:
    """At its own bound."""
    return bool(row["verdict"] == "certified")


def exceeds(row: Row) -> bool:
    """Whether a bound is above a simulated truth."""
    return float(row["bound"]) > float(row["truth"])


def earns_more(row: Row) -> bool:
    """Whether a policy does, than those that made the logs."""
    return float(row["truth"]) > float(row["logged_truth"])


def headline(record: Path) -> str:
    """What README and site say, word for word, of policies that hambo learned by default."""
    judged = read_rows(record / "learners_judged.csv")
    by_default = read_rows(record / "zoo_learned.csv") + [row for row in judged if row["fits"] == "default"]
    certified = list(filter(is_certified, by_default))
    wrong = sum(map(exceeds, certified))
    return (
        f"of {len(certified)} certificates of policies that hambo learned, given by worlds of other episodes than "
        f"those that taught, {wrong or 'none'} {'are' if wrong > 1 else 'is'} above the truth"
    )


def counted(record: Path) -> list[str]:
    """What is certified of policies that hambo learned."""
    lines = ["| policies | certified | wrong, of these | bounds above the truth | earn more than the logs |"]
    lines += ["| -- | -- | -- | -- | -- |"]
    for table, what in TAUGHT.items():
        rows = read_rows(record / f"{table}.csv")
        certified = [row for row in rows if is_certified(row)]
        above = list(filter(exceeds, rows))
        wrong, better = [row for row in above if is_certified(row)], [r for r in rows if earns_more(r)]
        if rows:
            seeds = sorted({int(row["seed"]) for row in rows})
            lines += [
                f"| {what}, seeds {', '.join(map(str, seeds))} | {len(certified)} of {len(rows)} "
                f"| {share(len(wrong), len(certified))} | {len(above)} | {len(better)} of {len(rows)} |"
            ]
            for row in wrong:
                said = f"{row['system']}, seed {row['seed']}: at least {float(row['bound']):.6g}"
                lines += [f"| wrong: {said} for {float(row['truth']):.6g} ± {float(row['truth_error']):.2g} | | | | |"]
    return lines if len(lines) > 2 else []


def numbers(row: Row) -> dict[str, str]:
    """Its returns, to be read."""
    return {name: f"{float(row[name]):,.0f}" for name in (*RETURNS, "promised") if row.get(name)}


def outcome(row: Row) -> str:
    """The end of a line: what it earns, and what was said of that."""
    of = numbers(row)
    reasons = f": {row['reasons']}" if row["reasons"] else ""
    return f"| {of['truth']} ± {of['truth_error']} | {of['worst_tenth']} | {row['verdict']}{reasons} | {of['bound']} |"


def learned_on_long_horizons(record: Path) -> list[str]:
    """What hambo learned on a long horizon; none if nothing was run."""
    rows = read_rows(record / "learners_judged.csv")
    lines = ["| data | from | fits | the logs earn | promised | earns | a tenth earn at most | verdict | bound |"]
    lines += ["|" + " -- |" * 9]
    for row in rows:
        of = numbers(row)
        kept = f"{of['promised']} (the copy)" if int(row["best_round"]) == 0 else of["promised"]
        lines += [
            f"| {row['environment']}, medium, seed {row['seed']} | {row['against']} | {row['fits']} | {of['logged']} "
            f"| {kept} {outcome(row)}"
        ]
    return lines if rows else []


def on_long_horizons(record: Path) -> list[str]:
    """Policies that hambo did not learn, on a long horizon; none if nothing was run."""
    rows = read_rows(record / "long_horizon.csv")
    if not rows:
        return []
    certified = [row for row in rows if is_certified(row)]
    wrong = sum(map(exceeds, certified))
    above = sum(map(exceeds, rows))
    lines = [
        f"Certified: {len(certified)} of {len(rows)}. Wrong, of these: {share(wrong, len(certified))}. Bounds above"
    ]
    lines += [f"the truth, whatever the verdict: {above}.", ""]
    lines += ["| data | policy | the logs earn | earns | a tenth earn at most | verdict | bound |", "|" + " -- |" * 7]
    for row in rows:
        data = f"{row['environment']}, medium, seed {row['seed']}"
        lines += [f"| {data} | {row['policy']} | {numbers(row)['logged']} {outcome(row)}"]
    return lines
