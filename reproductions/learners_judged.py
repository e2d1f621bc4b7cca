"""Is it true what worlds of other logs certify of policies that hambo learned on a long horizon?

    python reproductions/learners_judged.py --seeds 33 [--only halfcheetah] [--against logs worlds]

As `learners.py --short` learns (medium data, 10^5 transitions, 1,000 steps, a quarter of the steps of a fit, 12
rounds). Worlds that are fitted in the same way, on as many transitions that were logged later, judge what was learned
in 200 episodes each, and 400 episodes of the environment tell the truth. One row each in
`results/learners_judged.csv`, from which a stopped run goes on.
"""

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnxruntime
from environments import ENVIRONMENTS, played
from learners import HORIZON, REFERENCES, SHORT, logs, shared_model
from tidy import Row, read_rows, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "learners_judged.csv"
ROWS = 100_000
LATER = 1_000
"""Added to a seed for the logs that judge."""
JUDGED, TRUE = 200, 400
COLUMNS = [
    *("environment", "seed", "against", "logged", "copied", "promised", "best_round", "truth", "truth_error"),
    *("worst_tenth", "bound", "verdict", "reasons", "mean", "spread", "outside_data", "at_limits"),
]


def judged(name: str, seed: int, against: str, models: Path) -> Row:
    """One row."""
    environment = ENVIRONMENTS[name]
    parts = [logs(environment, "medium", ROWS, number) for number in (seed, LATER + seed)]
    folders = [models / f"{name}-medium-{ROWS}-seed{number}" for number in (seed, LATER + seed)]
    teacher, judge = (shared_model(part, folder, seed, True)[0] for part, folder in zip(parts, folders, strict=True))
    task = {"horizon": HORIZON, "termination": environment.termination, "seed": seed, "threads": 1, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        found = hambo.learn(teacher, path, hambo.Learner(against=against, **SHORT[1]), **task)
        result = hambo.evaluate(judge, str(path), episodes=JUDGED, **task)
        session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    earned = played(
        environment,
        lambda states, _: session.run(None, {"observation": states.astype(np.float32)})[0],
        episodes=TRUE,
        steps=HORIZON,
        seed=8_000_000 + TRUE * seed,
    ).sum(axis=1)
    rewards, episodes = np.sum(parts[0]["reward"].to_numpy()), len(np.unique(parts[0]["episode"].to_numpy()))
    [worlds] = [variant for variant in result.to_dict()["variants"] if variant["variant"] == "worlds"]
    return {
        "environment": name,
        "seed": seed,
        "against": against,
        "logged": float(rewards / episodes),
        "copied": found.rounds[0].bound,
        "promised": found.rounds[found.best_round].bound,
        "best_round": found.best_round,
        "truth": float(earned.mean()),
        "truth_error": float(earned.std(ddof=1) / np.sqrt(TRUE)),
        "worst_tenth": float(np.quantile(earned, 0.1)),
        "bound": result.lower_bound,
        "verdict": result.verdict(result.lower_bound),
        "reasons": " ".join(sorted({warning.code for warning in result.warnings if warning.disqualifies})),
        "mean": worlds["estimate"]["mean"],
        "spread": worlds["worlds"]["spread"],
        "outside_data": worlds["outside_data"],
        "at_limits": worlds["at_limits"],
    }


def place(row: Row) -> tuple[int, int, str]:
    return list(REFERENCES).index(row["environment"]), int(row["seed"]), row["against"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=REFERENCES, default=["halfcheetah"])
    parser.add_argument("--seeds", nargs="*", type=int, required=True)
    parser.add_argument("--against", nargs="*", default=["logs", "worlds"])
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    for seed in arguments.seeds:
        for name in arguments.only:
            for against in arguments.against:
                unit: Row = {"environment": name, "seed": seed, "against": against}
                if place(unit) not in {place(row) for row in read_rows(arguments.results)}:
                    row = judged(name, seed, against, arguments.out / "learners_judged")
                    write_rows(arguments.results, [*read_rows(arguments.results), row], COLUMNS, place)
                    print(row, flush=True)


if __name__ == "__main__":
    main()
