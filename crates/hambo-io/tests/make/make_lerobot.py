"""Random LeRobot datasets of version 3.0, written by LeRobot itself, and beside each what pyarrow reads from it.

    pip install lerobot==0.4.4
    HF_HUB_OFFLINE=1 python make_lerobot.py OUT --count 200
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lerobot.datasets.lerobot_dataset import LeRobotDataset

from expectation import from_log, from_rows
from lerobot_formats import NAMES, columns_of
from random_logs import Limits, Log, random_log


def written(log: Log, root: Path) -> None:
    def feature(dtype: str, width: int, names: list[str] | None) -> dict:
        return {"dtype": dtype, "shape": (width,), "names": names}

    states, actions = len(log.state_kinds), len(log.action_kinds)
    features = {
        "observation.state": feature("float32", states, [f"joint{number}.pos" for number in range(states)]),
        "action": feature("float32", actions, [f"target{number}.pos" for number in range(actions)]),
        "next.reward": feature("float32", 1, None),
        "next.done": feature("bool", 1, None),
    }
    dataset = LeRobotDataset.create("random/log", fps=30, features=features, root=root, use_videos=False)
    for episode in log.episodes:
        count = len(episode.rewards)
        for step in range(count):
            frame = {
                "observation.state": episode.states[step].astype(np.float32),
                "action": episode.actions[step].astype(np.float32),
                "next.reward": np.array([episode.rewards[step]], np.float32),
                "next.done": np.array([step == count - 1]),
            }
            dataset.add_frame(frame | {"task": "none"})
        dataset.save_episode()
    dataset.finalize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    for number in range(arguments.count):
        folder = arguments.out / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        log = random_log(np.random.default_rng([1, number]), Limits(episodes=6, length=20))
        written(log, folder / "lerobot")
        files = sorted((folder / "lerobot" / "data").rglob("*.parquet"))
        read = pa.concat_tables([pq.read_table(file) for file in files])
        found = from_rows(columns_of(read), NAMES | log.mapping)
        found.must_equal(from_log(log, next_states_stored=False), where=str(folder))
        found.write(folder / "lerobot", "lerobot", log.mapping)


if __name__ == "__main__":
    main()
