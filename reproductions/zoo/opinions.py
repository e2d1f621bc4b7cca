"""The field's estimators beside the certificate: how often do they hold, how tight are they, whom do they prefer?

    python reproductions/zoo/opinions.py [--only fork] [--seeds 26 27] [--summary]

One row per system, policy, seed and method in `results/opinions.csv`, from which a stopped run goes on; `--summary`
prints one line per method. Tuning seeds need --results.
"""

import argparse
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).parent.parent))
# One thread per process: the units are many and small.
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import unit
from scipy.stats import beta, spearmanr
from system import make_logs, policy
from systems import SYSTEMS
from tidy import Row, read_rows, write_rows
from truths import recorded_truths

import hambo

RESULTS = Path(__file__).parent / "results" / "opinions.csv"
KINDS = ["close", "further", "reckless"]
COLUMNS = [
    *("system", "policy", "seed", "method", "of", "truth", "logged_truth", "estimate", "limit", "abstains"),
    *("seconds",),
]


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
        begun = time.process_time()
        found = hambo.evaluate(model, evaluated, **task, episodes=settings["evaluation"]["episodes"], cost_episodes=0)
        abstains = found.verdict(found.lower_bound) != "certified"
        rows.append(common | said("certificate", "", found.neutral.estimate.mean, found.lower_bound, abstains, begun))
        begun = time.process_time()
        for opinion in hambo.baselines(model, evaluated, data, **task).opinions:
            if opinion.method != "logged":
                limit = opinion.limits.get("student", opinion.limits.get("itself"))
                rows.append(common | said(opinion.method, opinion.of or "", opinion.estimate, limit, False, begun))
    return rows


def said(method: str, of: str, estimate: float, limit: float, abstains: bool, begun: float) -> Row:
    seconds = round(time.process_time() - begun, 2)
    return {"method": method, "of": of, "estimate": estimate, "limit": limit, "abstains": abstains, "seconds": seconds}


def place(row: Row) -> tuple[int, int, int, str, str]:
    return list(SYSTEMS).index(row["system"]), int(row["seed"]), KINDS.index(row["policy"]), row["method"], row["of"]


def summary(rows: list[Row]) -> str:
    """Returns are in units of how far the policies of a system, and its logs, are apart."""
    by_method: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_method[f"{row['method']} {row['of']}".strip()].append(row)
    lines = ["| method | limit holds | does not abstain | of these, holds | truth less limit | rank | regret |"]
    lines.append("| -- | -- | -- | -- | -- | -- | -- |")
    for method, mine in sorted(by_method.items(), key=lambda item: (item[0] != "certificate", item[0])):
        kept = [row for row in mine if row["abstains"] != "True"]
        gaps = [(float(row["truth"]) - float(row["limit"])) / width(row, rows) for row in kept]
        ranks, regrets = orders(mine, rows)
        lines.append(
            f"| {method} | {share(mine)} | {len(kept)} of {len(mine)} | {share(kept)} | {median(gaps):.2f} "
            f"| {fmean(ranks):.2f} | {fmean(regrets):.2f} |"
        )
    return "\n".join(lines)


def width(of: Row, rows: list[Row]) -> float:
    """How far the policies of a system are apart."""
    returns = [
        float(row[column]) for row in rows if row["system"] == of["system"] for column in ("truth", "logged_truth")
    ]
    return max(max(returns) - min(returns), 1e-9)


def share(rows: list[Row]) -> str:
    """How often limits hold, with Clopper and Pearson's interval."""
    held, count = sum(float(row["limit"]) <= float(row["truth"]) + 1e-6 for row in rows), len(rows)
    low = beta.ppf(0.025, held, count - held + 1) if held else 0.0
    high = beta.ppf(0.975, held + 1, count - held) if held < count else 1.0
    return f"{100 * held / max(count, 1):.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def orders(mine: list[Row], rows: list[Row]) -> tuple[list[float], list[float]]:
    """Rank correlation of estimates and truths, and what trusting the highest estimate loses, data set by data set."""
    ranks, regrets = [], []
    for data_set in sorted({(row["system"], row["seed"]) for row in mine}):
        here = [row for row in mine if (row["system"], row["seed"]) == data_set]
        truths, estimates = [float(row["truth"]) for row in here], [float(row["estimate"]) for row in here]
        if len(set(estimates)) > 1 and len(set(truths)) > 1:
            ranks.append(float(spearmanr(truths, estimates).statistic))
        chosen = truths[estimates.index(max(estimates))]
        regrets.append((max(truths) - chosen) / width(here[0], rows))
    return ranks, regrets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[26, 27])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if not arguments.summary:
        done = {(row["system"], int(row["seed"])) for row in read_rows(arguments.results)}
        units = [(name, seed) for seed in arguments.seeds for name in arguments.only if (name, seed) not in done]
        with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
            jobs = {pool.submit(asked, *one): one for one in units}
            for job in as_completed(jobs):
                write_rows(arguments.results, [*read_rows(arguments.results), *job.result()], COLUMNS, place)
                print(*jobs[job], flush=True)
    print(summary(read_rows(arguments.results)))


if __name__ == "__main__":
    main()
