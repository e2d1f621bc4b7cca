"""Twins: Pendulum with and without process noise. Which noise does the replay choose, and what does it show?

    python reproductions/zoo/twins.py [--seeds 5 9]

Four policies on the data sets of tuning seeds; prints a table per twin. z = (truth - mean of the worlds) / their
standard deviation, and the same over the factor that replayed episodes demand.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import fmean, stdev

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import unit
from system import Array, Rng, true_return
from systems import SYSTEMS
from systems.pendulum import Pendulum
from tidy import Row

NOISE = 0.3
"""Standard deviation of what is added to the speed in every step."""


class NoisyPendulum(Pendulum):
    name = "noisy_pendulum"
    difficulty = "process noise"

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        after = super().step(rng, states, actions)
        after[:, -1] += NOISE * rng.standard_normal(len(after))
        return after


def rows_of(name: str, seeds: range) -> list[Row]:
    settings = unit.read_settings()
    return [row for seed in seeds for row in unit.run_unit(name, seed, unit.KINDS, settings)]


def table(rows: list[Row]) -> str:
    """What each noise led to in the replays of the close policy, in shares of what was earned."""
    lines = ["| noise | chosen | bias / earned | absolute error / earned |", "|---|---|---|---|"]
    replays = [row for row in rows if row["policy"] == "close"]
    for noise in (1.0, 0.5, 0.25, 0.0):
        tried = [tried for row in replays for tried in json.loads(row["replay"]) if tried["noise"] == noise]
        groups = [group for one in tried for group in one["groups"]]
        bias, error = ([group[name] / abs(group["earned"]) for group in groups] for name in ("bias", "absolute_error"))
        chosen = sum(row["noise"] == noise for row in replays)
        lines.append(
            f"| {noise} | {chosen} of {len(replays)} | {fmean(bias):+.3f} [{min(bias):+.3f}, {max(bias):+.3f}] "
            f"| {fmean(error):.3f} |"
        )
    z = [(row["truth"] - fmean(members)) / stdev(members) for row in rows if (members := json.loads(row["members"]))]
    student = 1.833
    factors = [max(1.0, row["factor"] / student) for row in rows]
    before, after = (float(np.sqrt(np.mean(np.square(v)))) for v in (z, np.divide(z, factors)))
    above = sum(row["bound"] > row["truth"] for row in rows)
    lines += ["", f"Root mean square of z: {before:.2f}, over the factor {after:.2f}. "]
    lines[-1] += f"Bounds above the truth: {above} of {len(rows)}."
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=[5, 9], metavar=("FROM", "TO"))
    first, last = parser.parse_args().seeds
    twin = NoisyPendulum()
    SYSTEMS[twin.name] = twin
    for kind in ("close", "further", "reckless"):
        unit.recorded_truths()[twin.name, kind] = true_return(twin, getattr(twin, kind))
    for name in ("pendulum", twin.name):
        print(f"## {name}\n\n{table(rows_of(name, range(first, last + 1)))}\n", flush=True)


if __name__ == "__main__":
    main()
