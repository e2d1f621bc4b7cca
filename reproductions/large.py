"""A fit to data larger than memory should be: how much memory does it take, and how long does a gradient step take?

    python reproductions/large.py --rows 100000000 --folder OUT

Writes Parquet files of a made-up system (3 states, 1 action, episodes of 1,000 steps) to OUT, converts them into a
store, and fits the default networks to it for some hundred steps, in a process of its own, in turn with the same fit to
10^5 rows in memory, RUNS times each. One row per fit in `results/large.csv`, which begins anew. Needs pyarrow, and 7 GB
of disk for 10^8 rows.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from tidy import Row, write_rows

RESULTS = Path(__file__).parent / "results" / "large.csv"
COLUMNS = ["run", "rows", "from", "seconds_to_read", "peak_mb", "peak_own_mb", "steps", "ms_per_step"]
EPISODE, EPISODES_PER_FILE, STEPS, RUNS = 1_000, 2_500, 600, 7


def write_logs(folder: Path, rows: int) -> None:
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True)
    files = max(rows // (EPISODE * EPISODES_PER_FILE), 1)
    episodes = rows // EPISODE // files
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((4, 3)).astype(np.float32) / 2
    for number in range(files):
        states = np.empty((episodes, EPISODE + 1, 3), np.float32)
        actions = rng.standard_normal((episodes, EPISODE, 1)).astype(np.float32)
        states[:, 0] = rng.standard_normal((episodes, 3))
        for step in range(EPISODE):
            seen = np.concatenate([states[:, step], actions[:, step]], axis=1)
            noise = 0.05 * rng.standard_normal((episodes, 3))
            states[:, step + 1] = 0.9 * states[:, step] + 0.3 * np.tanh(seen @ weights) + noise
        columns = {
            "episode": np.repeat(np.arange(episodes) + number * episodes, EPISODE),
            "step": np.tile(np.arange(EPISODE), episodes),
            "reward": -(states[:, :-1] ** 2).sum(axis=2).ravel(),
            **{f"obs_{column}": states[:, :-1, column].ravel() for column in range(3)},
            "action_0": actions[:, :, 0].ravel(),
            **{f"next_obs_{column}": states[:, 1:, column].ravel() for column in range(3)},
        }
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"{number:04}.parquet")


def memory() -> dict[str, float]:
    """Megabytes of this process: most at any time, and what is not a mapped file now."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(status[name].split()[0]) / 1e3 for name in ("VmHWM", "RssAnon", "RssFile")}


def measured(source: Path) -> Row:
    """One fit in this process."""
    import hambo

    begun = time.perf_counter()
    data = hambo.Dataset.open(source)
    read = time.perf_counter() - begun
    steps: list[tuple[int, float]] = []
    own = 0.0

    def watch(event: hambo.Progress) -> None:
        nonlocal own
        if event.stage == "fit":
            steps.append((event.step, time.perf_counter()))
        own = max(own, memory()["RssAnon"])

    hambo.fit(data, hambo.Ensemble(max_steps=STEPS, evaluate_every=STEPS), progress=watch, threads=2)
    # The first steps wait for threads and memory.
    kept = [one for one in steps if one[0] >= 20]
    (first, begun), (last, ended) = kept[0], kept[-1]
    row: Row = {"rows": len(data), "from": "store" if source.is_dir() else "file", "seconds_to_read": round(read, 1)}
    row |= {"peak_mb": round(memory()["VmHWM"]), "peak_own_mb": round(own), "steps": last - first}
    return row | {"ms_per_step": round(1e3 * (ended - begun) / max(last - first, 1), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measured(arguments.measure)))
        return
    import hambo

    small, large = arguments.folder / "100000", arguments.folder / str(arguments.rows)
    for place, rows in [(small, 100_000), (large, arguments.rows)]:
        if not place.exists():
            write_logs(place, rows)
    store = arguments.folder / f"{arguments.rows}.store"
    if not store.exists():
        begun = time.perf_counter()
        hambo.Dataset.convert(large, store)
        print(f"converted in {time.perf_counter() - begun:.0f} s, {memory()['VmHWM']:.0f} MB at most")
    [small_file] = small.iterdir()
    rows: list[Row] = []
    for run, source in itertools.product(range(RUNS), (small_file, store)):
        command = [sys.executable, __file__, "--folder", str(arguments.folder), "--measure", str(source)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append({"run": run} | json.loads(text.splitlines()[-1]))
        print(rows[-1], flush=True)
        write_rows(arguments.results, rows, COLUMNS, lambda row: int(row["run"]))
    seconds = [float(row["ms_per_step"]) for row in rows]
    ratios = sorted(large / small for small, large in zip(seconds[::2], seconds[1::2], strict=True))
    print(f"a step takes {statistics.median(ratios):.2f} times as long, from {ratios[0]:.2f} to {ratios[-1]:.2f}")


if __name__ == "__main__":
    main()
