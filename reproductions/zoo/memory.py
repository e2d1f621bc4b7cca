"""A state that leaves out something with a memory, and models that see the last steps.

    python reproductions/zoo/memory.py [--seeds 30 31] [--summary]

The heated room, whose wall is in no log. Models see the present only, or four earlier steps as well; policies are
judged by the default certificate and by DAinf, which knows nothing of errors that follow each other. One row per seed,
history, method and policy in `results/memory.csv`, from which a stopped run goes on. Seeds 0 and 1 were for tuning.
"""

import argparse
import logging
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
# One thread per process: the units are many and small.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import unit
from system import make_logs, policy
from systems import SYSTEMS
from tidy import Row, read_rows, write_rows
from truths import recorded_truths

import hambo

logging.getLogger("hambo").setLevel(logging.ERROR)
RESULTS = Path(__file__).parent / "results" / "memory.csv"
SYSTEM = "heated_room"
HISTORIES = [0, 4]
METHODS: dict[str, dict[str, list[str]]] = {"worlds": {}, "dainf": {"variants": ["dainf"]}}
POLICIES = ["close", "further", "reckless"]
COLUMNS = [
    *("seed", "history", "method", "policy", "truth", "bound", "verdict", "reasons", "warnings"),
    *("autocorrelation", "unexplained", "fit_seconds", "seconds"),
]


def rows_of(seed: int, history: int) -> list[Row]:
    """One row per method and policy."""
    system, settings = SYSTEMS[SYSTEM], unit.read_settings()
    data = make_logs(system, seed).dataset(system)
    begun = time.monotonic()
    ensemble = hambo.Ensemble(learn_reward=system.learns_reward, **settings["ensemble"])
    model = hambo.fit(data, ensemble, seed=seed, history=history, progress=False)
    fitted, of_room = time.monotonic() - begun, 0
    common = {
        "seed": seed,
        "history": history,
        "autocorrelation": model.persistence["autocorrelation"][of_room],
        "unexplained": model.persistence["unexplained"][of_room],
        "fit_seconds": round(fitted, 2),
    }
    rows = []
    for method, changes in METHODS.items():
        for kind in POLICIES:
            begun = time.monotonic()
            found = hambo.evaluate(
                model,
                policy(system, getattr(system, kind)),
                horizon=system.horizon,
                seed=seed,
                progress=False,
                accept_weaker=unit.SMALLER,
                **settings["evaluation"],
                **changes,
            )
            assert found.lower_bound is not None
            row = {
                "method": method,
                "policy": kind,
                "truth": recorded_truths()[SYSTEM, kind][0],
                "bound": found.lower_bound,
                "verdict": found.verdict(found.lower_bound),
                "reasons": " ".join(sorted({warning.code for warning in found.warnings if warning.disqualifies})),
                "warnings": " ".join(sorted({warning.code for warning in found.warnings})),
                "seconds": round(time.monotonic() - begun, 2),
            }
            rows.append(common | row)
    return rows


def place(row: Row) -> tuple[int, int, int, int]:
    method, kind = list(METHODS).index(row["method"]), POLICIES.index(row["policy"])
    return method, int(row["history"]), kind, int(row["seed"])


def summary(rows: list[Row]) -> str:
    """One line per method, history and policy."""
    by_case: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=place):
        by_case[row["method"], int(row["history"]), row["policy"]].append(row)
    lines = [
        "| method | history | policy | seeds | `persistent_errors` | autocorrelation | bounds above the truth "
        "| certified | wrongly | truth | median bound |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (method, history, kind), cases in by_case.items():
        above = [float(case["bound"]) > float(case["truth"]) for case in cases]
        certified = [case["verdict"] == "certified" for case in cases]
        wrong = sum(a and b for a, b in zip(above, certified, strict=True))
        warned = sum("persistent_errors" in (case["warnings"] or "") for case in cases)
        middle = np.median([float(case["bound"]) for case in cases])
        follows = np.median([float(case["autocorrelation"]) for case in cases])
        lines.append(
            f"| {method} | {history} | {kind} | {len(cases)} | {warned} | {follows:.2f} | {sum(above)} "
            f"| {sum(certified)} | {wrong} | {float(cases[0]['truth']):.1f} | {middle:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(30, 50)))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    for seed in [] if arguments.summary else arguments.seeds:
        for history in HISTORIES:
            rows = read_rows(arguments.results)
            if (seed, history) not in {(int(row["seed"]), int(row["history"])) for row in rows}:
                rows += rows_of(seed, history)
                write_rows(arguments.results, rows, COLUMNS, place)
                print(seed, history, flush=True)
    print(summary(read_rows(arguments.results)))


if __name__ == "__main__":
    main()
