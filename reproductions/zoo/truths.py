"""True returns of the fixed policies, each found twice: `results/truths.csv`.

    python reproductions/zoo/truths.py [SYSTEM ...]

A closed form or the probabilities of every state where there are few enough, and 10^5 episodes; or two independent
samples of 10^5 episodes. They must agree within four standard errors.
"""

import csv
import sys
from functools import cache
from pathlib import Path

from system import TRUTH_EPISODES, TRUTH_SEEDS, Parameters, System, policy, simulated_return, true_return
from systems import SYSTEMS

TABLE = Path(__file__).parent / "results" / "truths.csv"
COLUMNS = [
    "system",
    "policy",
    "parameters",
    "truth",
    "std_error",
    "how",
    "checked_by",
    "check_std_error",
    "standard_errors_apart",
]
FIXED = ["close", "further", "reckless"]


def found_twice(system: System, kind: str) -> dict[str, str]:
    parameters = getattr(system, kind)
    exact = system.exact(parameters) is not None
    truth, error = true_return(system, parameters)
    check, check_error = simulated_return(system, policy(system, parameters), TRUTH_SEEDS[1], TRUTH_EPISODES)
    combined = (error**2 + check_error**2) ** 0.5
    # A system without noise has no error at all.
    apart = 0.0 if abs(truth - check) < 1e-9 * max(1.0, abs(truth)) else abs(truth - check) / combined
    how = "exact" if exact else f"{TRUTH_EPISODES} episodes"
    numbers = [f"{truth:.6g}", f"{error:.3g}", how, f"{check:.6g}", f"{check_error:.3g}", f"{apart:.2f}"]
    return dict(zip(COLUMNS, [system.name, kind, written(parameters), *numbers], strict=True))


def written(parameters: Parameters) -> str:
    return " ".join(f"{value:g}" for value in parameters)


@cache
def recorded_truths() -> dict[tuple[str, str], tuple[float, float]]:
    """Truth and standard error by system and kind of policy."""
    truths = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, kind = row["system"], row["policy"]
            if row["parameters"] != written(getattr(SYSTEMS[name], kind)):
                raise ValueError(f"{name}, {kind}: the policy changed since its truth was found; run truths.py {name}")
            truths[name, kind] = float(row["truth"]), float(row["std_error"])
    return truths


def main() -> None:
    names = sys.argv[1:] or list(SYSTEMS)
    kept = {}
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            kept = {(row["system"], row["policy"]): row for row in csv.DictReader(file)}
    for name in names:
        for kind in FIXED:
            row = kept[name, kind] = found_twice(SYSTEMS[name], kind)
            print(*row.values(), flush=True)
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept[name, kind] for name in SYSTEMS for kind in FIXED if (name, kind) in kept)
    apart = [row for row in kept.values() if float(row["standard_errors_apart"]) > 4.0]
    if apart:
        sys.exit(f"two ways to the same truth disagree: {apart}")


if __name__ == "__main__":
    main()
