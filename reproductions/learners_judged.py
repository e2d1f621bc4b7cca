"""Is it true what worlds of other logs certify of policies that hambo learned on a long horizon?

    python reproductions/learners_judged.py --seeds 35 [--only halfcheetah] [--against logs] [--short]

Medium data, 10^5 transitions, 1,000 steps. Fits and learning are as by default; with `--short` as `learners.py --short`
has them, a quarter of the steps of a fit and 12 rounds. Worlds that are fitted in the same way, on as many transitions
that were logged later, judge what was learned in 200 episodes each, and 400 episodes of the environment tell the truth.
One row each in `results/learners_judged.csv`, from which a stopped run goes on.
"""

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnxruntime
from environments import ENVIRONMENTS, Behaviour, played
from learners import HORIZON, REFERENCES, SHORT, logs, shared_model
from tidy import Row, read_rows, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "learners_judged.csv"
ROWS = 100_000
LATER = 1_000
"""Added to a seed for the logs that judge."""
JUDGED, TRUE = 200, 400
OF_TRUTH = ["truth", "truth_error", "worst_tenth"]
OF_JUDGE = ["bound", "verdict", "reasons", "mean", "spread", "outside_data", "at_limits"]
COLUMNS = [
    *("environment", "seed", "against", "fits", "logged", "copied", "promised", "best_round"),
    *(*OF_TRUTH, *OF_JUDGE),
]


def model_of(name: str, number: int, seed: int, models: Path, is_short: bool) -> tuple[hambo.Model, float]:
    """Worlds of the logs of that number, and what an episode of these earned."""
    part = logs(ENVIRONMENTS[name], "medium", ROWS, number)
    model, _ = shared_model(part, models / f"{name}-medium-{ROWS}-seed{number}", seed, is_short)
    return model, float(np.sum(part["reward"].to_numpy()) / len(np.unique(part["episode"].to_numpy())))


def task(name: str, seed: int) -> dict[str, object]:
    termination = ENVIRONMENTS[name].termination
    return {"horizon": HORIZON, "termination": termination, "seed": seed, "threads": 1, "progress": False}


def said(judge: hambo.Model, path: Path, name: str, seed: int) -> Row:
    """What worlds say of a policy."""
    result = hambo.evaluate(judge, str(path), episodes=JUDGED, **task(name, seed))
    [worlds] = [variant for variant in result.to_dict()["variants"] if variant["variant"] == "worlds"]
    return {
        "bound": result.lower_bound,
        "verdict": result.verdict(result.lower_bound),
        "reasons": " ".join(sorted({warning.code for warning in result.warnings if warning.disqualifies})),
        "mean": worlds["estimate"]["mean"],
        "spread": worlds["worlds"]["spread"],
        "outside_data": worlds["outside_data"],
        "at_limits": worlds["at_limits"],
    }


def earned(policy: Behaviour, name: str, seed: int) -> Row:
    """What it earns in truth."""
    returns = played(ENVIRONMENTS[name], policy, episodes=TRUE, steps=HORIZON, seed=seed).sum(axis=1)
    error = float(returns.std(ddof=1) / np.sqrt(TRUE))
    return {"truth": float(returns.mean()), "truth_error": error, "worst_tenth": float(np.quantile(returns, 0.1))}


def judged(name: str, seed: int, against: str, models: Path, is_short: bool) -> Row:
    """One row."""
    (teacher, logged), (judge, _) = (model_of(name, number, seed, models, is_short) for number in (seed, LATER + seed))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        learner = hambo.Learner(against=against, **(SHORT[1] if is_short else {}))  # type: ignore[arg-type]
        found = hambo.learn(teacher, path, learner, **task(name, seed))
        row = said(judge, path, name, seed)
        session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    row |= earned(
        lambda states, _: session.run(None, {"observation": states.astype(np.float32)})[0],
        name,
        8_000_000 + TRUE * seed,
    )
    return row | {
        "environment": name,
        "seed": seed,
        "against": against,
        "fits": "short" if is_short else "default",
        "logged": logged,
        "copied": found.rounds[0].bound,
        "promised": found.rounds[found.best_round].bound,
        "best_round": found.best_round,
    }


def place(row: Row) -> tuple[int, int, str, str]:
    return list(REFERENCES).index(row["environment"]), int(row["seed"]), row["against"], row["fits"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=REFERENCES, default=["halfcheetah"])
    parser.add_argument("--seeds", nargs="*", type=int, required=True)
    parser.add_argument("--against", nargs="*", default=["logs"])
    parser.add_argument("--short", action="store_true", help="fits and learning cut short")
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    fits = "short" if arguments.short else "default"
    models = arguments.out / f"learners_judged_{fits}"
    for seed in arguments.seeds:
        for name in arguments.only:
            for against in arguments.against:
                unit: Row = {"environment": name, "seed": seed, "against": against, "fits": fits}
                if place(unit) not in {place(row) for row in read_rows(arguments.results)}:
                    row = judged(name, seed, against, models, arguments.short)
                    row = {column: row[column] for column in COLUMNS}
                    write_rows(arguments.results, [*read_rows(arguments.results), row], COLUMNS, place)
                    print(row, flush=True)


if __name__ == "__main__":
    main()
