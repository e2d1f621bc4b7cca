#!/usr/bin/env python3
"""Leave-one-source-out on every system of the zoo: did the bound on the source that was left out hold?

    reproductions/zoo/backtest.py                                    # the seeds that are reported
    reproductions/zoo/backtest.py --only battery --seeds 0 4 --out tuning

A run that was stopped goes on. It leaves `backtests.csv` (one row per claim) in OUT, and prints how often
claims were above what the source earned, with and without what replayed episodes demand.
"""

import argparse
import os
import sys
from concurrent.futures import as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from lanes import lanes
from rates import quantiles, share
from system import make_logs, true_logged_return
from systems import SYSTEMS
from tidy import Row, read_rows, write_rows
from unit import digest, read_settings

import hambo

RESULTS = Path(__file__).parent / "results"
COLUMNS = [
    *("system", "seed", "source", "horizon", "claimed", "by_student", "estimate", "earned", "std_error", "unit"),
    *("vouched", "settings"),
]


def run_unit(name: str, seed: int) -> list[Row]:
    """One row per source."""
    settings, system = read_settings(), SYSTEMS[name]
    found = hambo.backtest(
        make_logs(system, seed).dataset(system),
        hambo.Ensemble(learn_reward=system.learns_reward, tables=system.names_states, **settings["ensemble"]),
        horizon=system.horizon,
        delta=settings["evaluation"]["delta"],
        reward=None if system.learns_reward else system.reward,
        termination=system.ended if system.ends else None,
        seed=seed,
        progress=False,
    )
    truths = {source: true_logged_return(system, source)[0] for source in system.logged}
    return [
        {
            "system": name,
            "seed": seed,
            "source": claim.group,
            "horizon": claim.horizon,
            "claimed": claim.claimed,
            "by_student": claim.by_student,
            "estimate": claim.estimate,
            "earned": claim.earned,
            "std_error": claim.std_error,
            "unit": max(truths.values()) - min(truths.values()),
            "vouched": found.vouched,
            "settings": digest(settings),
        }
        for claim in found.claims
        if claim.group in truths
    ]


def rates(rows: list[Row]) -> str:
    """How often claims over the whole horizon were above what was earned, and how far below it they are."""
    longest = {name: system.horizon for name, system in SYSTEMS.items()}
    rows = [row for row in rows if int(row["horizon"]) == longest[row["system"]]]

    def line(name: str, mine: list[Row]) -> str:
        cells = [name]
        for column in ("claimed", "by_student"):
            cells.append(share(float(row[column]) > float(row["earned"]) for row in mine))
            gaps = [(float(row[column]) - float(row["earned"])) / float(row["unit"]) for row in mine]
            cells.append(quantiles(np.array(gaps)))
        return "| " + " | ".join(cells) + " |"

    head = ["system"]
    for name in ("", ", Student alone"):
        head += [f"above what was earned{name}", f"(claim - earned) / spread of sources{name}"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in SYSTEMS:
        mine = [row for row in rows if row["system"] == name]
        if mine:
            lines.append(line(name, mine))
    return "\n".join([*lines, line("**all**", rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    first, last = read_settings()["seeds"]["backtests"]
    parser.add_argument("--seeds", nargs=2, type=int, default=[first, last], metavar=("FROM", "TO"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--on", help="'ray', or the address of a Ray cluster, in place of processes here")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    (first, last), table = arguments.seeds, arguments.out / "backtests.csv"
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = read_rows(table)
    done = {(row["system"], int(row["seed"])) for row in rows}
    units = [(name, seed) for seed in range(first, last + 1) for name in arguments.only if (name, seed) not in done]
    order = list(SYSTEMS)
    with lanes(arguments.processes, arguments.on) as pool:
        jobs = {pool.submit(run_unit, name, seed): (name, seed) for name, seed in units}
        for job in as_completed(jobs):
            rows += job.result()
            write_rows(
                table,
                rows,
                COLUMNS,
                lambda row: (order.index(row["system"]), int(row["seed"]), row["source"], int(row["horizon"])),
            )
            print(*jobs[job], flush=True)
    print(rates(rows))


if __name__ == "__main__":
    main()
