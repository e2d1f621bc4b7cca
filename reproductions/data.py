"""Data sets of the benchmark: logs of mediocre checkpoints with SAC's own exploration, as Parquet files.

    python reproductions/data.py hopper mixed 100000 0 OUT.parquet

They are made again from the committed policies and the seed, never committed.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from environments import ENVIRONMENTS, Actor, Behaviour, Environment, lockstep


def transitions(environment: Environment, kind: str, rows: int, seed: int) -> pyarrow.Table:
    """Equal shares of whole episodes from every behaviour policy; the last episode of each is cut off."""
    behaviours = environment.behaviours[kind]
    parts = []
    for index, checkpoint in enumerate(behaviours):
        share = rows // len(behaviours) + (index < rows % len(behaviours))
        actor = Actor(environment, checkpoint, stochastic=True)
        parts.append(logged(environment, actor, share, seed * len(behaviours) + index))
    names = np.repeat([str(checkpoint) for checkpoint in behaviours], [len(part["step"]) for part in parts])
    for index in range(1, len(parts)):
        parts[index]["episode"] = parts[index]["episode"] + parts[index - 1]["episode"].max() + 1
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return pyarrow.table({**columns, "source": names})


def logged(environment: Environment, actor: Behaviour, rows: int, seed: int) -> dict[str, np.ndarray]:
    """Columns of so many transitions."""
    limit = environment.time_limit
    # One episode after the other, so that short ones are not more frequent than they should be.
    run = lockstep(environment, actor, episodes=rows, seed=seed, width=1)
    episode, step, states, actions, rewards, next_states = [], [], [], [], [], []
    terminated, truncated = [], []
    ended: set[int] | None = None
    while len(states) < rows:
        [number], observations, chosen, [(following, reward, ends)] = run.send(ended)
        at = step[-1] + 1 if episode and episode[-1] == number else 0
        cut = not ends and (at + 1 == limit or len(states) + 1 == rows)
        for column, value in [
            (episode, number),
            (step, at),
            (states, observations[0]),
            (actions, chosen[0]),
            (rewards, reward),
            (next_states, following),
            (terminated, ends),
            (truncated, cut),
        ]:
            column.append(value)
        ended = {number} if cut else None
    wide = {}
    for stem, block in [("obs", states), ("action", actions), ("next_obs", next_states)]:
        matrix = np.array(block, dtype=np.float32)
        wide |= {f"{stem}_{column}": matrix[:, column] for column in range(matrix.shape[1])}
    narrow = {
        "episode": np.array(episode),
        "step": np.array(step),
        "reward": np.array(rewards),
        "terminated": np.array(terminated),
        "truncated": np.array(truncated),
    }
    return narrow | wide


def block(table: pyarrow.Table, stem: str) -> np.ndarray:
    """The columns `stem_0`, `stem_1`, ... side by side."""
    names = [name for name in table.column_names if name.startswith(f"{stem}_")]
    return np.stack([table[name].to_numpy() for name in names], axis=1)


def main() -> None:
    name, kind, rows, seed, out = sys.argv[1:]
    table = transitions(ENVIRONMENTS[name], kind, int(rows), int(seed))
    pyarrow.parquet.write_table(table, Path(out))
    print(f"{out}: {table.num_rows} transitions in {table['episode'][-1].as_py() + 1} episodes")


if __name__ == "__main__":
    main()
