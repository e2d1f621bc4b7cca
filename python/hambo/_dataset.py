"""Logged transitions, from wherever they are."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from . import _native
from ._functions import Array
from .errors import DataError, SettingError

__all__ = ["Dataset", "Episode"]

_log = logging.getLogger("hambo")


class ArrowStream(Protocol):
    """Anything that gives its rows as an Arrow stream: Polars, pyarrow, DuckDB, Ray Data."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with an Arrow C stream."""


class Episode(NamedTuple):
    """One episode of a dataset."""

    states: Array
    actions: Array
    rewards: Array
    next_states: Array
    terminated: bool
    """The last transition led into a state from which no reward follows."""
    truncated: bool
    """The episode was cut off after its last transition."""


class Dataset:
    """Validated transitions in episodes.

    Make one with `from_arrays`, `from_arrow`, `from_minari`, `from_d4rl`, `from_parquet`,
    `from_gymnasium` or `open`. Data that cannot be right is refused with a `DataError` that says where
    it is wrong.

    Attributes that are arrays are copies: changing them changes nothing here.
    """

    __slots__ = ("_inner",)
    _inner: _native.Dataset

    def __init__(self) -> None:
        raise TypeError("make a dataset with Dataset.from_arrays, from_minari, open or the like")

    @classmethod
    def _of(cls, native: _native.Dataset) -> Dataset:
        self = object.__new__(cls)
        self._inner = native
        for note in self.notes:
            _log.info("%s: %s", native.format, note)
        return self

    @classmethod
    def open(
        cls,
        source: str | os.PathLike[str],
        *,
        state: str | Sequence[str] = (),
        action: str | Sequence[str] = (),
        reward: str | None = None,
        next_state: str | Sequence[str] = (),
        terminated: str | None = None,
        truncated: str | None = None,
        episode: str | None = None,
        step: str | None = None,
        source_column: str | None = None,
        discrete_actions: int | None = None,
    ) -> Dataset:
        """Read a file, a folder, a pattern such as ``logs/*.parquet``, or a Minari id.

        Minari, D4RL-style HDF5, Parquet, Arrow IPC, CSV and NPZ are recognised by their content.

        Parameters
        ----------
        source
            What to read.
        state, action, reward, next_state, terminated, truncated, episode, step
            Which columns hold what. A name stands for a column of that name, of any width, or for the
            columns ``name_0``, ``name_1``, ... What is left out is found by the names that libraries
            use.
        source_column
            Which column says where each episode came from: a policy, a machine, a week, a patient.
        discrete_actions
            The action is the number of a choice, from 0 to one less than this, and is one-hot encoded.
        """
        mapping = _mapping(
            state=state,
            action=action,
            reward=reward,
            next_state=next_state,
            terminated=terminated,
            truncated=truncated,
            episode=episode,
            step=step,
            source=source_column,
            discrete_actions=discrete_actions,
        )
        return cls._of(_native.Dataset.open(os.fspath(source), mapping))

    @classmethod
    def from_parquet(cls, source: str | os.PathLike[str], **columns: Any) -> Dataset:
        """Read a Parquet file, a folder of them, or a pattern. See `open` for ``columns``."""
        return cls.open(source, **columns)

    @classmethod
    def from_arrow(
        cls,
        table: ArrowStream,
        *,
        state: str | Sequence[str] = (),
        action: str | Sequence[str] = (),
        reward: str | None = None,
        next_state: str | Sequence[str] = (),
        terminated: str | None = None,
        truncated: str | None = None,
        episode: str | None = None,
        step: str | None = None,
        source_column: str | None = None,
        discrete_actions: int | None = None,
    ) -> Dataset:
        """Read a table that another library holds: Polars, pyarrow, DuckDB, Ray Data.

        Parameters
        ----------
        table
            Anything with ``__arrow_c_stream__``. A block of several numbers a row may be a list column
            or several columns.
        state, action, reward, next_state, terminated, truncated, episode, step, source_column, discrete_actions
            As in `open`.
        """
        if not hasattr(table, "__arrow_c_stream__"):
            raise SettingError(
                f"a `{type(table).__name__}` has no `__arrow_c_stream__`; give a table of Polars, "
                "pyarrow, DuckDB or another library that speaks Arrow"
            )
        mapping = _mapping(
            state=state,
            action=action,
            reward=reward,
            next_state=next_state,
            terminated=terminated,
            truncated=truncated,
            episode=episode,
            step=step,
            source=source_column,
            discrete_actions=discrete_actions,
        )
        return cls._of(_native.Dataset.from_stream(table, type(table).__name__, mapping))

    @classmethod
    def from_arrays(
        cls,
        states: npt.ArrayLike,
        actions: npt.ArrayLike,
        rewards: npt.ArrayLike,
        next_states: npt.ArrayLike | None = None,
        *,
        terminated: npt.ArrayLike | None = None,
        truncated: npt.ArrayLike | None = None,
        episode: npt.ArrayLike | None = None,
        source: npt.ArrayLike | None = None,
        discrete_actions: int | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> Dataset:
        """Use arrays with one row per step, episode after episode.

        Contiguous float32 arrays are not copied, if ``next_states`` are given: do not change them while
        the dataset is in use.

        Parameters
        ----------
        states, next_states
            ``[rows, d_s]``. Without next states they are taken from the following row of the same
            episode, and the last row of each is dropped.
        actions
            ``[rows, d_a]``
        rewards
            ``[rows]``
        terminated
            ``[rows]``: the transition led into a state from which no reward follows.
        truncated
            ``[rows]``: the episode was cut off after this row, by a time limit for instance.
        episode
            ``[rows]``: the number of the episode of each row. Without it, episodes end where
            ``terminated`` or ``truncated`` say so.
        source
            ``[rows]``: where each row's episode came from, such as a policy, a machine, a week or a patient.
        discrete_actions
            The action is the number of a choice, from 0 to one less than this, and is one-hot encoded.
        state_names, action_names
            Names of the columns, for expressions, messages and reports. They need ``next_states``, and
            actions that are not one-hot encoded.
        """
        columns = _Columns(states, actions, rewards, next_states, terminated, truncated, episode)
        names = columns.names(state_names, action_names)
        if next_states is None or discrete_actions is not None:
            if names is not None:
                raise SettingError("names need `next_states` and actions that are not one-hot encoded")
            native = columns.assembled(discrete_actions)
        else:
            native = columns.as_they_are(names)
        found = cls._of(native)
        return found if source is None else found.with_sources(_of_episodes(source, columns, found))

    def with_sources(self, sources: Sequence[str]) -> Dataset:
        """The same data, with where each episode came from.

        An evaluation then holds the model against each source by itself.

        Parameters
        ----------
        sources
            One name per episode: a policy, a machine, a week, a patient.
        """
        return Dataset._of(self._inner.with_sources([str(source) for source in sources]))

    @property
    def sources(self) -> list[str] | None:
        """Where each episode came from, if somebody has said it."""
        return self._inner.sources

    @classmethod
    def from_d4rl(cls, source: Mapping[str, npt.ArrayLike] | str | os.PathLike[str], **columns: Any) -> Dataset:
        """Use a dictionary of arrays as D4RL has them, or read the HDF5 file.

        Parameters
        ----------
        source
            Arrays ``observations``, ``actions``, ``rewards``, ``terminals``, and usually ``timeouts``
            and ``next_observations``; others are ignored. Or the path of an HDF5 file with them.
        columns
            For a file, see `open`.
        """
        if isinstance(source, (str, os.PathLike)):
            return cls.open(source, **columns)
        missing = [name for name in ("observations", "actions", "rewards") if name not in source]
        if missing:
            found = ", ".join(sorted(map(str, source)))
            raise DataError(f"the dictionary has no `{missing[0]}`; its keys are {found}")
        return cls.from_arrays(
            source["observations"],
            source["actions"],
            source["rewards"],
            source.get("next_observations"),
            terminated=source.get("terminals"),
            truncated=source.get("timeouts"),
            **columns,
        )

    @classmethod
    def from_minari(cls, source: Any, *, discrete_actions: int | None = None) -> Dataset:
        """Read a Minari dataset.

        Parameters
        ----------
        source
            Its id such as ``"local/pendulum-medium-v0"``, its folder, or a ``MinariDataset``, of which
            those episodes are used that it has after filtering.
        discrete_actions
            As in `open`.
        """
        if isinstance(source, (str, os.PathLike)):
            return cls.open(source, discrete_actions=discrete_actions)
        if not hasattr(source, "iterate_episodes"):
            raise SettingError(
                f"a `{type(source).__name__}` is no Minari dataset; give its id, its folder or the object"
            )
        states, actions, rewards, next_states = [], [], [], []
        terminated, truncated, episodes = [], [], []
        for number, episode in enumerate(source.iterate_episodes()):
            observations = np.asarray(episode.observations)
            if observations.dtype == object or isinstance(episode.observations, (dict, tuple)):
                raise DataError("observations of several parts cannot be used; flatten them first")
            observations = observations.reshape(len(observations), -1)
            states.append(observations[:-1])
            next_states.append(observations[1:])
            actions.append(np.asarray(episode.actions))
            rewards.append(np.asarray(episode.rewards))
            terminated.append(np.asarray(episode.terminations))
            truncated.append(np.asarray(episode.truncations))
            episodes.append(np.full(len(rewards[-1]), number))
        if not states:
            raise DataError("the Minari dataset has no episodes")
        return cls.from_arrays(
            np.concatenate(states),
            np.concatenate(actions),
            np.concatenate(rewards),
            np.concatenate(next_states),
            terminated=np.concatenate(terminated),
            truncated=np.concatenate(truncated),
            episode=np.concatenate(episodes),
            discrete_actions=discrete_actions,
        )

    @classmethod
    def from_gymnasium(cls, env: Any, policy: Any = None, steps: int = 10_000, **options: Any) -> Dataset:
        """Run a policy in a Gymnasium environment. See `hambo.collect`."""
        from ._gymnasium import collect

        return collect(env, policy, steps, **options)

    def __len__(self) -> int:
        return self._inner.rows

    @property
    def states(self) -> Array:
        """``[rows, d_s]``"""
        return self._inner.states

    @property
    def actions(self) -> Array:
        """``[rows, d_a]``"""
        return self._inner.actions

    @property
    def rewards(self) -> Array:
        """``[rows]``"""
        return self._inner.rewards

    @property
    def next_states(self) -> Array:
        """``[rows, d_s]``"""
        return self._inner.next_states

    @property
    def initial_states(self) -> Array:
        """The first state of every episode, ``[episodes, d_s]``."""
        return self.states[[start for start, *_ in self._inner.episodes]]

    @property
    def episodes(self) -> list[Episode]:
        """All episodes, copied out."""
        states, actions = self.states, self.actions
        rewards, next_states = self.rewards, self.next_states
        return [
            Episode(
                states[start:end],
                actions[start:end],
                rewards[start:end],
                next_states[start:end],
                terminated,
                truncated,
            )
            for start, end, terminated, truncated in self._inner.episodes
        ]

    @property
    def returns(self) -> npt.NDArray[np.float64]:
        """The undiscounted sum of rewards of every episode."""
        rewards = self.rewards.astype(np.float64)
        return np.array([rewards[start:end].sum() for start, end, *_ in self._inner.episodes])

    @property
    def state_names(self) -> list[str] | None:
        """Names of the state columns."""
        names = self._inner.names
        return None if names is None else names[0]

    @property
    def action_names(self) -> list[str] | None:
        """Names of the action columns."""
        names = self._inner.names
        return None if names is None else names[1]

    def without(self, other: Dataset) -> Dataset:
        """The episodes that are not in `other`, told apart by their values: a copy.

        A policy that was trained on some of the logs is best judged by a model of the others.
        """
        return Dataset._of(self._inner.without(other._inner))

    @property
    def notes(self) -> list[str]:
        """What the reader had to decide, what is odd about the data, and what may be done about it."""
        return [f"{note}; {advice}" if advice else note for note, advice in self._inner.notes]

    @property
    def fingerprint(self) -> str:
        """BLAKE3 of all values and of where and how episodes end."""
        fingerprint: str = json.loads(self._inner.identity())["fingerprint"]
        return fingerprint

    def summary(self) -> dict[str, Any]:
        """Counts, ranges and returns."""
        summary: dict[str, Any] = json.loads(self._inner.summary())
        return summary

    def __repr__(self) -> str:
        episodes = self._inner.episodes
        terminated = sum(episode[2] for episode in episodes)
        return (
            f"Dataset({len(self):,} transitions in {len(episodes):,} episodes, {terminated:,} terminated; "
            f"from {self._inner.format})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        ends = [end for _, end, *_ in self._inner.episodes]
        flags = [(terminated, truncated) for *_, terminated, truncated in self._inner.episodes]
        columns = (self.states, self.actions, self.rewards, self.next_states)
        return _unpickled, (columns, ends, flags, self._inner.names, self._inner.sources)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _unpickled(
    columns: tuple[Array, Array, Array, Array],
    ends: list[int],
    flags: list[tuple[bool, bool]],
    names: tuple[list[str], list[str]] | None,
    sources: list[str] | None,
) -> Dataset:
    marks = np.zeros((len(columns[0]), 2), dtype=bool)
    marks[np.array(ends) - 1] = flags
    terminated, truncated = (np.ascontiguousarray(column) for column in marks.T)
    lengths = np.diff([0, *ends])
    episode = np.repeat(np.arange(len(ends), dtype=np.int64), lengths)
    native = _native.Dataset.from_marked(*columns, terminated, truncated, episode, names)
    self = object.__new__(Dataset)
    self._inner = native if sources is None else native.with_sources(sources)
    return self


def _of_episodes(source: npt.ArrayLike, columns: _Columns, data: Dataset) -> list[str]:
    """The source of every episode, from one name per row."""
    names = np.asarray(source).reshape(-1)
    if len(names) != len(columns.rewards):
        raise DataError(f"`source` has {len(names)} rows, the rewards have {len(columns.rewards)}; give one per step")
    if len(names) != len(data):
        raise SettingError("`source` needs `next_states`; without them use `with_sources`")
    of_episodes = []
    for number, (start, end, *_) in enumerate(data._inner.episodes):
        found = set(names[start:end].tolist())
        if len(found) > 1:
            raise DataError(f"episode {number} has the sources {', '.join(sorted(map(str, found)))}; give it one")
        of_episodes.append(str(found.pop()))
    return of_episodes


def _mapping(*, state: str | Sequence[str], action: str | Sequence[str], **others: Any) -> str:
    def listed(names: str | Sequence[str]) -> list[str]:
        return [names] if isinstance(names, str) else list(names)

    others["next_state"] = listed(others["next_state"])
    return json.dumps({"state": listed(state), "action": listed(action), **others})


class _Columns:
    """Arrays with one row per step, checked for what NumPy can tell."""

    def __init__(
        self,
        states: npt.ArrayLike,
        actions: npt.ArrayLike,
        rewards: npt.ArrayLike,
        next_states: npt.ArrayLike | None,
        terminated: npt.ArrayLike | None,
        truncated: npt.ArrayLike | None,
        episode: npt.ArrayLike | None,
    ) -> None:
        self.states = _block(states, "states")
        self.given_actions = np.asarray(actions)
        self.actions = _block(actions, "actions")
        self.rewards = _numbers(rewards, "rewards").reshape(-1)
        self.next_states = None if next_states is None else _block(next_states, "next_states")
        self.terminated = None if terminated is None else _flags(terminated, "terminated")
        self.truncated = None if truncated is None else _flags(truncated, "truncated")
        self.episode = None if episode is None else np.asarray(episode).reshape(-1)
        if terminated is None and truncated is None and episode is None:
            raise DataError("nothing says where episodes end; give `terminated`, `truncated` or `episode`")
        columns = {
            "states": self.states,
            "actions": self.actions,
            "next_states": self.next_states,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "episode": self.episode,
        }
        for name, column in columns.items():
            if column is not None and len(column) != len(self.rewards):
                raise DataError(
                    f"`{name}` has {len(column)} rows, the rewards have {len(self.rewards)}; "
                    "every step needs one (drop a final observation that has no action)"
                )

    def names(
        self, state_names: Sequence[str] | None, action_names: Sequence[str] | None
    ) -> tuple[list[str], list[str]] | None:
        if state_names is None and action_names is None:
            return None

        def numbered(stem: str, block: Array) -> list[str]:
            return [f"{stem}_{index}" for index in range(block.shape[1])]

        states = numbered("state", self.states) if state_names is None else list(state_names)
        actions = numbered("action", self.actions) if action_names is None else list(action_names)
        return states, actions

    def as_they_are(self, names: tuple[list[str], list[str]] | None) -> _native.Dataset:
        assert self.next_states is not None
        columns = (self.states, self.actions, self.rewards, self.next_states)
        episode = None if self.episode is None else np.ascontiguousarray(self.episode, dtype=np.int64)
        return _native.Dataset.from_marked(*columns, self.terminated, self.truncated, episode, names)

    def assembled(self, discrete_actions: int | None) -> _native.Dataset:
        columns: list[tuple[str, npt.NDArray[Any]]] = [("states", self.states)]
        if discrete_actions is None:
            columns.append(("actions", self.actions))
        else:
            columns.append(("actions", self.given_actions.reshape(-1).astype(np.float64)))
        columns.append(("rewards", self.rewards.astype(np.float64)))
        if self.next_states is not None:
            columns.append(("next_states", self.next_states))
        if self.terminated is not None:
            columns.append(("terminated", self.terminated))
        if self.truncated is not None:
            columns.append(("truncated", self.truncated))
        if self.episode is not None:
            columns.append(("episode", np.ascontiguousarray(self.episode, dtype=np.int64)))
        mapping = {"discrete_actions": discrete_actions}
        return _native.Dataset.from_table(columns, "arrays", json.dumps(mapping))


def _numbers(values: npt.ArrayLike, name: str) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"`{name}` holds {array.dtype}, not numbers")
    return np.require(array, dtype=np.float32, requirements=["C", "A"])


def _block(values: npt.ArrayLike, name: str) -> Array:
    array = _numbers(values, name)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise DataError(f"`{name}` has shape {array.shape}; give one row per step, [rows, width]")
    return array


def _flags(values: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    array = np.asarray(values).reshape(-1)
    if array.dtype.kind != "b" and not np.isin(array, (0, 1)).all():
        raise DataError(f"`{name}` holds more than true and false, or 0 and 1")
    return np.ascontiguousarray(array, dtype=bool)
