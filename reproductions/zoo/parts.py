"""What each part of the certificate does: the same data sets by the first version and by its successors.

    python reproductions/zoo/parts.py

Two steps in between are computed from the recorded rows: a Student limit over the first version's members in place of
DAinf's lowest (with DAinf's abstentions), and worlds by Student's factor alone, without what replayed episodes demand
(with the worlds' abstentions).
"""

from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from rates import POWER_MARGIN, Evaluation, read_evaluations, share
from scipy.stats import t

RESULTS = Path(__file__).parent / "results"
DELTA = 0.05


def student_limit(row: Evaluation, variant: str) -> Evaluation:
    """The bound by a Student limit over the members, and the error of the starts."""
    members, (_, error, independent) = row.members, row.variants[variant]
    of_members = t.ppf(1 - DELTA, len(members) - 1) * np.sqrt(1 + 1 / len(members)) * stdev(members)
    of_starts = t.ppf(1 - DELTA, independent - 1) * error if error else 0.0
    return replace(row, bound=fmean(members) - float(np.hypot(of_members, of_starts)))


def line(name: str, rows: list[Evaluation]) -> str:
    close = [row for row in rows if row.policy == "close"]
    data_sets = {(row.system, row.seed) for row in rows}
    wrong = {(row.system, row.seed) for row in rows if row.wrong}
    cells = [
        name,
        share(row.wrong for row in rows),
        share(row.too_high for row in rows if not row.abstains),
        share(data_set in wrong for data_set in data_sets),
        share(row.too_high for row in rows),
        share(row.abstains for row in rows),
        share(row.certified(POWER_MARGIN * row.spread) for row in close),
        f"{fmean(row.seconds for row in rows):.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    worlds = read_evaluations(RESULTS / "evaluations.csv")
    units = {(row.system, row.policy, row.seed) for row in worlds}
    first = [
        row
        for row in read_evaluations(RESULTS / "first_version" / "evaluations.csv")
        if (row.system, row.policy, row.seed) in units
    ]
    committed = [row for row in first if row.method == "DAinf"]
    head = ["", "wrong certificates", "of those certified", "data sets with one", "bounds above the truth"]
    head += ["abstentions", "power, close policies", "seconds"]
    print("| " + " | ".join(head) + " |", "|---" * len(head) + "|", sep="\n")
    print(line("first version, default: the smallest of CA, DA1, DAinf", [r for r in first if r.method == "default"]))
    print(line("first version, DAinf alone", committed))
    print(line("Student limit over its members", [student_limit(row, "dainf") for row in committed]))
    print(line("worlds, Student's factor alone", [student_limit(row, "worlds") for row in worlds]))
    print(line("**worlds, held against replayed episodes: the default**", worlds))


if __name__ == "__main__":
    main()
