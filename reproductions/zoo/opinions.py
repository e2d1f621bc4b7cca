"""The field's estimators beside the certificate: how often do they hold, how tight are they, whom do they prefer?

    python reproductions/zoo/opinions.py [--only fork] [--seeds 26 27] [--summary]

One row per system, policy, seed and method in `results/opinions.csv`, from which a stopped run goes on; `--summary`
prints one line per method. Tuning seeds need --results.
"""

import argparse
import os
import sys
from concurrent.futures import as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
# One thread per process: the units are many and small.
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import unit
from lanes import lanes
from opinion_table import COLUMNS, opinions, summary
from system import make_logs, policy
from systems import SYSTEMS
from tidy import Row, read_rows, write_rows
from truths import recorded_truths

import hambo

RESULTS = Path(__file__).parent / "results" / "opinions.csv"
KINDS = ["close", "further", "reckless"]


def asked(name: str, seed: int) -> list[Row]:
    """What all say of three policies."""
    system, settings = SYSTEMS[name], unit.read_settings()
    ensemble = hambo.Ensemble(learn_reward=system.learns_reward, tables=system.names_states, **settings["ensemble"])
    data = make_logs(system, seed).dataset(system)
    model = hambo.fit(data, ensemble, seed=seed, progress=False)
    task = {
        "horizon": system.horizon,
        "reward": None if system.learns_reward else system.reward,
        "termination": system.ended if system.ends else None,
        "seed": seed,
        "progress": False,
        "delta": settings["evaluation"]["delta"],
    }
    rows: list[Row] = []
    for kind in KINDS:
        evaluated = policy(system, getattr(system, kind))
        common: Row = {"system": name, "policy": kind, "seed": seed, "truth": recorded_truths()[name, kind][0]}
        common |= {"logged_truth": unit.logged_truth(system)}
        rows += opinions(common, model, evaluated, data, settings["evaluation"]["episodes"], task)
    return rows


def place(row: Row) -> tuple[int, int, int, str, str]:
    return list(SYSTEMS).index(row["system"]), int(row["seed"]), KINDS.index(row["policy"]), row["method"], row["of"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[26, 27])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--on", help="'ray', or the address of a Ray cluster, in place of processes here")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if not arguments.summary:
        done = {(row["system"], int(row["seed"])) for row in read_rows(arguments.results)}
        units = [(name, seed) for seed in arguments.seeds for name in arguments.only if (name, seed) not in done]
        with lanes(arguments.processes, arguments.on) as pool:
            jobs = {pool.submit(asked, *one): one for one in units}
            for job in as_completed(jobs):
                write_rows(arguments.results, [*read_rows(arguments.results), *job.result()], COLUMNS, place)
                print(*jobs[job], flush=True)
    print(summary(read_rows(arguments.results)))


if __name__ == "__main__":
    main()
