"""Leave-one-source-out on the benchmark: would the bound on the checkpoint that was left out have held?

    python reproductions/backtests.py [--only hopper] [--rows 30000] [--seeds 5 5]

One row per claim in `results/backtests.csv`, from which it goes on; prints a table. Everything is as by default, except
the prior temperature that `environments.py` sets; the logs name the checkpoint that acted.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")

from data import transitions
from environments import ENVIRONMENTS
from setting import now_and_then
from tidy import Row, read_rows, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "backtests.csv"
ROWS = 30_000
SEEDS = (5, 5)
COLUMNS = [
    *("environment", "rows", "seed", "source", "episodes", "is_later", "horizon", "covered", "claimed", "by_student"),
    *("estimate", "earned", "std_error", "vouched"),
]


def backtest(name: str, rows: int, seed: int) -> list[Row]:
    """One row per claim."""
    environment = ENVIRONMENTS[name]
    logs = transitions(environment, "mixed", rows, seed)
    found = hambo.backtest(
        hambo.Dataset.from_arrow(logs, source_column="source"),
        hambo.Ensemble(learn_reward=environment.reward is None),
        horizon=environment.unit_horizon,
        reward=environment.reward,
        termination=environment.termination,
        state_bounds=environment.state_bounds,
        seed=seed,
        progress=now_and_then(f"{name}, seed {seed}"),
    )
    about = {"environment": name, "rows": rows, "seed": seed, "vouched": found.vouched}
    told = [column for column in COLUMNS if column not in {*about, "source"}]
    return [
        {**about, "source": claim.group, **{column: getattr(claim, column) for column in told}}
        for claim in found.claims
    ]


def table(rows: list[Row]) -> str:
    """Claims over the whole horizon, as shares of what was earned."""
    lines = ["| environment | n | left out | episodes | earned | claimed | Student alone | held | vouched |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        if int(row["horizon"]) != ENVIRONMENTS[row["environment"]].unit_horizon:
            continue
        earned = float(row["earned"])

        def scaled(column: str, row: Row = row, earned: float = earned) -> str:
            return f"{1 - (earned - float(row[column])) / abs(earned):.2f}"

        held = "yes" if float(row["claimed"]) <= earned else "**no**"
        cells = [row["environment"], row["rows"], row["source"], row["episodes"], f"{earned:.1f}"]
        cells += [scaled("claimed"), scaled("by_student"), held, f"{row['vouched']} of {row['horizon']}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", nargs=2, type=int, default=SEEDS, metavar=("FROM", "TO"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    (first, last), rows = arguments.seeds, read_rows(arguments.out)
    done = {(row["environment"], int(row["rows"]), int(row["seed"])) for row in rows}
    order = list(ENVIRONMENTS)
    for seed in range(first, last + 1):
        for name in arguments.only:
            if (name, arguments.rows, seed) in done:
                continue
            rows += backtest(name, arguments.rows, seed)
            write_rows(
                arguments.out,
                rows,
                COLUMNS,
                lambda row: (order.index(row["environment"]), int(row["seed"]), row["source"], int(row["horizon"])),
            )
    print(table(rows))


if __name__ == "__main__":
    main()
