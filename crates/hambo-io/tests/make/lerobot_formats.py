"""LeRobot datasets in versions 2.1 and 3.0, in the documented layout, written and read back by pyarrow.

`hambo` reads only `meta/info.json` and the Parquet files below `data`, so nothing else is written.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from expectation import Transitions, from_rows
from random_logs import Log

EPISODES_PER_CHUNK = 4
NAMES = {"state": ["observation.state"], "reward": "next.reward", "episode": "episode_index", "terminated": "next.done"}


def write_lerobot(log: Log, folder: Path, rng: np.random.Generator) -> tuple[str, Transitions]:
    """The dataset's folder relative to `folder`, and what its rows say."""
    version = str(rng.choice(["v2.1", "v3.0"]))
    root = folder / "lerobot"
    first_frame = 0
    tables = []
    for number, episode in enumerate(log.episodes):
        tables.append(frames(episode, number, first_frame))
        first_frame += len(episode.rewards)
    per_file = 1 if version == "v2.1" else int(rng.integers(1, len(tables) + 1))
    for file, first in enumerate(range(0, len(tables), per_file)):
        chunk = root / "data" / f"chunk-{file // EPISODES_PER_CHUNK:03}"
        chunk.mkdir(parents=True, exist_ok=True)
        name = f"episode_{file:06}" if version == "v2.1" else f"file-{file % EPISODES_PER_CHUNK:03}"
        pq.write_table(pa.concat_tables(tables[first : first + per_file]), chunk / f"{name}.parquet")
    (root / "meta").mkdir()
    (root / "meta" / "info.json").write_text(json.dumps(info(log, version, rng), indent=4))
    files = sorted((root / "data").rglob("*.parquet"))
    read = pa.concat_tables([pq.read_table(file) for file in files])
    return root.name, from_rows(columns_of(read), NAMES | log.mapping)


def frames(episode, number: int, first_frame: int) -> pa.Table:
    count = len(episode.rewards)
    ends = np.arange(count) == count - 1
    return pa.table(
        {
            "observation.state": lists(episode.states[:count]),
            "action": lists(episode.actions),
            "timestamp": pa.array(np.arange(count, dtype=np.float32) / 30),
            "frame_index": pa.array(np.arange(count)),
            "episode_index": pa.array(np.full(count, number)),
            "index": pa.array(first_frame + np.arange(count)),
            "task_index": pa.array(np.zeros(count, np.int64)),
            "next.reward": pa.array(np.asarray(episode.rewards, np.float32)),
            "next.done": pa.array(ends),
        }
    )


def lists(values: np.ndarray) -> pa.Array:
    """One list of a fixed size for each frame; a column of width 1 is one of plain numbers."""
    flat = pa.array(values.astype(np.float32).ravel())
    return flat if values.shape[1] == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def info(log: Log, version: str, rng: np.random.Generator) -> dict:
    def feature(letter: str, width: int) -> dict:
        names = [f"{letter}{number}.pos" for number in range(width)]
        return {"dtype": "float32", "shape": [width], "names": {"motors": names} if rng.random() < 0.5 else names}

    features = {
        "observation.state": feature("joint", len(log.state_kinds)),
        "action": feature("target", len(log.action_kinds)),
        "observation.images.top": {"dtype": "video", "shape": [96, 96, 3], "names": ["height", "width", "channel"]},
        "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    }
    # What it says of episodes is wrong, and not asked.
    return {"codebase_version": version, "fps": 30, "total_episodes": 999, "features": features}


def columns_of(table: pa.Table) -> dict[str, np.ndarray]:
    def column(name: str) -> np.ndarray:
        chunks = table[name].combine_chunks()
        if not pa.types.is_fixed_size_list(chunks.type):
            return chunks.to_numpy(zero_copy_only=False)
        return chunks.flatten().to_numpy().reshape(len(chunks), -1)

    return {name: column(name) for name in table.column_names if name != "next.done"} | {
        # Nobody says whether an end is true.
        "next.done": np.zeros(len(table), bool)
    }
