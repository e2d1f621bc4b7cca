"""A large Parquet dataset, about 10 GB for 10^8 transitions of 11 states and 3 actions, written a block at a time.

    python make_large.py OUT --rows 100000000 --files 40

Episodes are random walks pushed by the actions; they cross blocks, row groups and files. `next_obs` of a row equals `obs` of the following
row of its episode bit for bit. OUT/summary.json tells what a reader must find.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STATE_DIM, ACTION_DIM = 11, 3
SHORTEST, LONGEST = 50, 1000
BLOCK_EPISODES = 250
ROW_GROUP = 1 << 17
OBS = [f"obs_{i}" for i in range(STATE_DIM)]
ACTIONS = [f"action_{i}" for i in range(ACTION_DIM)]
NEXT_OBS = [f"next_obs_{i}" for i in range(STATE_DIM)]
SCHEMA = pa.schema(
    [(name, pa.float32()) for name in [*OBS, *ACTIONS, "reward", *NEXT_OBS]]
    + [("terminated", pa.bool_()), ("truncated", pa.bool_()), ("episode", pa.int32()), ("step", pa.int32())]
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    summary = write_files(arguments.out, arguments.rows, arguments.files, arguments.seed)
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    size = sum(path.stat().st_size for path in arguments.out.glob("*.parquet"))
    print(f"{summary}\n{size / 1e9:.3f} GB in {arguments.files} files, {time.monotonic() - started:.0f} s")


def write_files(out: Path, rows: int, files: int, seed: int) -> dict:
    summary = {"rows": 0, "episodes": 0, "terminated": 0, "truncated": 0, "reward_sum": 0.0, "obs_0_sum": 0.0, "next_obs_10_sum": 0.0}
    groups = row_groups(rows, files)
    file, wanted = next(groups)
    writer = open_writer(out, file)
    waiting: list[pa.Table] = []
    for block in blocks(rows, seed):
        summarise(summary, block)
        waiting.append(block)
        while wanted and sum(map(len, waiting)) >= wanted:
            table = pa.concat_tables(waiting)
            writer.write_table(table.slice(0, wanted), row_group_size=wanted)
            waiting = [table.slice(wanted)]
            next_file, wanted = next(groups, (file, 0))
            if next_file != file:
                writer.close()
                file, writer = next_file, open_writer(out, next_file)
    writer.close()
    assert sum(map(len, waiting)) == 0 and summary["rows"] == rows
    return summary


def row_groups(rows: int, files: int) -> Iterator[tuple[int, int]]:
    """The file and length of every row group: files of equal size, groups of at most ROW_GROUP."""
    for file in range(files):
        left = rows * (file + 1) // files - rows * file // files
        while left > 0:
            yield file, min(left, ROW_GROUP)
            left -= ROW_GROUP


def open_writer(out: Path, number: int) -> pq.ParquetWriter:
    # Random walks hardly compress; a dictionary only pays for the last four columns.
    return pq.ParquetWriter(
        out / f"part-{number:05}.parquet",
        SCHEMA,
        compression="none",
        use_dictionary=["episode", "step"],
    )


def blocks(rows: int, seed: int) -> Iterator[pa.Table]:
    """Blocks of whole episodes; the last episode is cut off where the log ends."""
    left, number = rows, 0
    while left > 0:
        block = one_block(np.random.default_rng([seed, number]), first_episode=number * BLOCK_EPISODES)
        block = block.slice(0, min(left, len(block)))
        yield block
        left -= len(block)
        number += 1


def one_block(rng: np.random.Generator, first_episode: int) -> pa.Table:
    # Half of the episodes reach the time limit, the others terminate before it.
    lengths = np.where(rng.random(BLOCK_EPISODES) < 0.5, LONGEST, rng.integers(SHORTEST, LONGEST, BLOCK_EPISODES))
    ends = np.cumsum(lengths)
    starts = ends - lengths
    rows = int(ends[-1])
    actions = rng.uniform(-1, 1, (rows, ACTION_DIM)).astype(np.float32)
    push = np.linspace(-0.05, 0.05, ACTION_DIM * STATE_DIM, dtype=np.float32).reshape(ACTION_DIM, STATE_DIM)
    walk = np.cumsum(actions @ push + 0.02 * rng.standard_normal((rows, STATE_DIM), dtype=np.float32), axis=0, dtype=np.float64)
    # One long walk; every episode begins at a place of its own.
    before = np.concatenate([np.zeros((1, STATE_DIM)), walk[ends[:-1] - 1]])
    origins = 0.1 * rng.standard_normal((BLOCK_EPISODES, STATE_DIM))
    following = (walk + np.repeat(origins - before, lengths, axis=0)).astype(np.float32)
    states = np.roll(following, 1, axis=0)
    states[starts] = origins.astype(np.float32)
    rewards = (following[:, 0] - 0.1 * (actions**2).sum(axis=1)).astype(np.float32)

    last = np.zeros(rows, dtype=bool)
    last[ends - 1] = True
    at_limit = np.repeat(lengths == LONGEST, lengths)
    columns = [*states.T, *actions.T, rewards, *following.T]
    arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
    arrays += [pa.array(last & ~at_limit), pa.array(last & at_limit)]
    arrays.append(pa.array(np.repeat(np.arange(first_episode, first_episode + BLOCK_EPISODES), lengths).astype(np.int32)))
    arrays.append(pa.array((np.arange(rows) - np.repeat(starts, lengths)).astype(np.int32)))
    return pa.table(arrays, schema=SCHEMA)


def summarise(summary: dict, block: pa.Table) -> None:
    summary["rows"] += len(block)
    summary["episodes"] = block["episode"][-1].as_py() + 1
    for flag in ("terminated", "truncated"):
        summary[flag] += int(block[flag].to_numpy().sum())
    for name in ("reward", "obs_0", "next_obs_10"):
        summary[f"{name}_sum"] += float(block[name].to_numpy().astype(np.float64).sum())


if __name__ == "__main__":
    main()
