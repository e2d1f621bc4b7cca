"""The transitions that a file holds, computed twice, and how they are stored for the Rust tests.

`from_rows` reads what Python found in a file, row by row. `from_log` says what was meant, episode by episode. The two share no code; a
file is only accepted when they agree bit for bit.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from random_logs import Log

CONVENTIONAL_NAMES = {
    "state": ["observations", "observation", "obs", "states", "state"],
    "action": ["actions", "action"],
    "reward": ["rewards", "reward"],
    "next_state": ["next_observations", "next_observation", "next_obs", "new_obs", "next_states", "next_state"],
    "terminated": ["terminations", "terminated", "terminateds", "terminals"],
    "truncated": ["truncations", "truncated", "truncateds", "timeouts"],
    "episode": ["episode", "episode_id", "episode_ids", "eps_id"],
    "step": ["step", "steps", "t", "timestep"],
}


@dataclass
class Transitions:
    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_states: np.ndarray
    episode_ends: list[int]
    terminated: list[bool]
    truncated: list[bool]

    def arrays(self) -> list[np.ndarray]:
        return [self.states, self.actions, self.rewards, self.next_states]

    def must_equal(self, other: "Transitions", where: str) -> None:
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            assert mine.dtype == theirs.dtype == np.float32, f"{where}: {mine.dtype}, {theirs.dtype}"
            assert mine.shape == theirs.shape, f"{where}: shapes {mine.shape} and {theirs.shape}"
            assert mine.tobytes() == theirs.tobytes(), f"{where}: values differ"
        for name in ("episode_ends", "terminated", "truncated"):
            mine, theirs = getattr(self, name), getattr(other, name)
            assert mine == theirs, f"{where}: {name} {mine} and {theirs}"

    def write(self, stem: Path, source: str, mapping: dict) -> None:
        """`stem`.expected.bin and `stem`.expected.json; `source` is relative to their folder."""
        raw = b"".join(np.ascontiguousarray(array, dtype="<f4").tobytes() for array in self.arrays())
        Path(f"{stem}.expected.bin").write_bytes(raw)
        description = {
            "source": source,
            "mapping": mapping,
            "rows": len(self.rewards),
            "state_dim": self.states.shape[1],
            "action_dim": self.actions.shape[1],
            "episode_ends": self.episode_ends,
            "terminated": self.terminated,
            "truncated": self.truncated,
        }
        Path(f"{stem}.expected.json").write_text(json.dumps(description) + "\n")


def from_rows(columns: dict[str, np.ndarray], mapping: dict) -> Transitions:
    """What a table of rows (one-dimensional or [rows, dim] columns) says, by the readers' conventions."""
    states = matrix(columns, mapping, "state")
    actions = matrix(columns, mapping, "action")
    next_states = matrix(columns, mapping, "next_state")
    rewards = single(columns, mapping, "reward").astype(np.float32)
    terminated = single(columns, mapping, "terminated").astype(bool)
    truncated = single(columns, mapping, "truncated")
    truncated = np.zeros_like(terminated) if truncated is None else truncated.astype(bool)
    ids = single(columns, mapping, "episode")
    steps = single(columns, mapping, "step")
    if "discrete_actions" in mapping:
        actions = one_hot(actions, mapping["discrete_actions"])

    rows = len(rewards)
    kept, followers, ends, terminated_ends, truncated_ends = [], [], [], [], []
    for row in range(rows):
        last_of_file = row == rows - 1
        if last_of_file:
            ended = True
        elif ids is not None:
            ended = ids[row] != ids[row + 1]
        else:
            ended = terminated[row] or truncated[row] or (steps is not None and steps[row + 1] <= steps[row])
        if next_states is not None or not ended:
            kept.append(row)
            followers.append(row + 1)
        if ended and len(kept) > (ends[-1] if ends else 0):
            ends.append(len(kept))
            complete = next_states is not None
            terminated_ends.append(bool(terminated[row] and complete))
            truncated_ends.append(bool(truncated[row] or not terminated[row] or not complete))
    following = next_states[kept] if next_states is not None else states[followers]
    return Transitions(states[kept], actions[kept], rewards[kept], following, ends, terminated_ends, truncated_ends)


def from_minari(dataset, mapping: dict) -> Transitions:
    """What the Minari library itself reads."""
    parts = {name: [] for name in ("states", "actions", "rewards", "next_states")}
    ends, terminated, truncated = [], [], []
    for episode in dataset.iterate_episodes():
        observations = as_matrix(np.asarray(episode.observations))
        actions = as_matrix(np.asarray(episode.actions))
        if "discrete_actions" in mapping:
            actions = one_hot(actions, mapping["discrete_actions"])
        parts["states"].append(observations[:-1])
        parts["next_states"].append(observations[1:])
        parts["actions"].append(actions)
        parts["rewards"].append(np.asarray(episode.rewards).astype(np.float32))
        ends.append((ends[-1] if ends else 0) + len(episode.rewards))
        terminated.append(bool(episode.terminations[-1]))
        truncated.append(bool(episode.truncations[-1] or not episode.terminations[-1]))
    joined = {name: np.concatenate(part) for name, part in parts.items()}
    return Transitions(**joined, episode_ends=ends, terminated=terminated, truncated=truncated)


def from_log(log: Log, *, next_states_stored: bool) -> Transitions:
    """What the log means, without any file."""
    states, actions, rewards, next_states, ends, terminated, truncated = [], [], [], [], [], [], []
    for episode in log.episodes:
        length = len(episode.rewards) - (0 if next_states_stored else 1)
        if length == 0:
            continue
        states.append(episode.states[:length])
        next_states.append(episode.states[1 : length + 1])
        rewards.append(episode.rewards[:length])
        chosen = episode.actions[:length]
        if log.discrete_actions is not None:
            chosen = np.eye(log.discrete_actions)[chosen[:, 0].astype(int)]
        actions.append(chosen)
        ends.append(sum(map(len, rewards)))
        is_terminated = episode.terminated and next_states_stored
        terminated.append(is_terminated)
        truncated.append(episode.truncated or not is_terminated)
    stacked = [np.concatenate(part).astype(np.float32) for part in (states, actions, rewards, next_states)]
    return Transitions(*stacked, episode_ends=ends, terminated=terminated, truncated=truncated)


def matrix(columns, mapping, role) -> np.ndarray | None:
    """All columns of a role, side by side in float32, or None when the table has none."""
    if role in mapping:
        names = mapping[role]
    else:
        names = [n for n in CONVENTIONAL_NAMES[role] if n in columns or f"{n}_0" in columns]
        assert len(names) <= 1, f"{role} is ambiguous: {names}"
    parts = []
    for name in names:
        if name in columns:
            parts.append(as_matrix(columns[name]))
        else:
            assert f"{name}_0" in columns, f"no column {name} nor {name}_0"
            number = 0
            while f"{name}_{number}" in columns:
                parts.append(as_matrix(columns[f"{name}_{number}"]))
                number += 1
    return np.concatenate(parts, axis=1) if parts else None


def single(columns, mapping, role) -> np.ndarray | None:
    names = [mapping[role]] if role in mapping else [n for n in CONVENTIONAL_NAMES[role] if n in columns]
    assert len(names) <= 1, f"{role} is ambiguous: {names}"
    return columns[names[0]] if names else None


def as_matrix(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1).astype(np.float32)


def one_hot(actions: np.ndarray, count: int) -> np.ndarray:
    encoded = np.zeros((len(actions), count), dtype=np.float32)
    encoded[np.arange(len(actions)), actions[:, 0].astype(np.int64)] = 1.0
    return encoded
