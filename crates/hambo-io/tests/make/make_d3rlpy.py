"""Random replay buffers, written and read back by d3rlpy itself.

    pip install d3rlpy==2.8.1
    python make_d3rlpy.py OUT --count 200
    python make_d3rlpy.py ../data/datasets --count 2 --small     # the small ones that are committed
"""

import argparse
from pathlib import Path

import numpy as np
from d3rlpy.dataset import Episode
from d3rlpy.dataset.io import dump, load

from expectation import Transitions, from_log, from_rows
from random_logs import Limits, Log, random_log

SMALL = Limits(state_dim=5, action_dim=3, episodes=6, length=9, fewest_episodes=3)


def written(log: Log, path: Path) -> Transitions:
    """What d3rlpy reads of the file that it has written."""
    dtype = np.float32 if log.discrete_actions is None else np.int64
    episodes = [
        Episode(
            observations=episode.states[:-1].astype(np.float32),
            actions=episode.actions.astype(dtype),
            rewards=np.asarray(episode.rewards, np.float32).reshape(-1, 1),
            terminated=bool(episode.terminated),
        )
        for episode in log.episodes
    ]
    with path.open("w+b") as file:
        dump(episodes, file)
    with path.open("rb") as file:
        read = load(Episode, file)
    columns = {
        "observations": np.concatenate([episode.observations for episode in read]),
        "actions": np.concatenate([episode.actions for episode in read]),
        "rewards": np.concatenate([episode.rewards for episode in read])[:, 0],
        "terminated": np.concatenate([ends(episode) for episode in read]),
        "episode": np.repeat(np.arange(len(read)), [len(episode.rewards) for episode in read]),
    }
    return from_rows(columns, log.mapping)


def ends(episode: Episode) -> np.ndarray:
    last = np.arange(len(episode.rewards)) == len(episode.rewards) - 1
    return last & bool(episode.terminated)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    for number in range(arguments.count):
        folder = arguments.out / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        log = random_log(np.random.default_rng([2, number]), SMALL if arguments.small else Limits())
        found = written(log, folder / "d3rlpy.h5")
        # No state follows an episode's last action.
        found.must_equal(from_log(log, next_states_stored=False), where=str(folder))
        found.write(folder / "d3rlpy", "d3rlpy.h5", log.mapping)


if __name__ == "__main__":
    main()
