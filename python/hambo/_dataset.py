"""Logged transitions, from wherever they are."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._columns import Choices, Columns, sources_of_episodes
from ._episode import Episode
from ._episodes import Parts, concatenated, put_together, selected, split, taken_apart, transitions_frame
from ._functions import Array
from ._mapping import ArrowBatches, ArrowStream, ColumnNames, arrow_stream, mapping_of
from .errors import SettingError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Dataset", "Episode"]

_log = logging.getLogger("hambo")


class Dataset:
    """Validated transitions in episodes.

    Make one with `from_arrays`, `from_arrow`, `from_minari`, `from_d4rl`, `from_d3rlpy`, `from_rlds`, `from_parquet`,
    `from_gymnasium`, `from_sb3` or `open`. Data that cannot be right is refused with a `DataError` that says where
    it is wrong.

    Attributes that are arrays are copies: changing them changes nothing here. ``len(data)`` counts transitions, and
    ``data[...]`` chooses episodes.
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
        episode: str | Sequence[str] = (),
        step: str | None = None,
        cut: Literal["hour", "day", "week"] | None = None,
        exogenous: str | Sequence[str] = (),
        missing: Literal["split", "refuse"] = "split",
        source_column: str | None = None,
        probability: str | None = None,
        log_probability: str | None = None,
        discrete_actions: Choices | None = None,
    ) -> Dataset:
        """Read a file, a folder, a pattern such as ``logs/*.parquet``, or a Minari id.

        Minari, LeRobot, D4RL-style HDF5, Parquet, Arrow IPC, CSV and NPZ are recognised by their content.

        Parameters
        ----------
        source
            What to read.
        state, action, reward, next_state, terminated, truncated, episode, step
            Which columns hold what. A name stands for a column of that name, of any width, or for the
            columns ``name_0``, ``name_1``, ... What is left out is found by the names that libraries
            use. ``reward`` may be a formula, such as ``"-cost_eur"``, ``episode`` several columns, and ``step`` the
            times at which rows were logged.
        cut
            Cuts a log that goes on and on into episodes: at every full hour, at midnight, or on Mondays.
        exogenous
            Columns of the state that no action influences, such as weather, prices, the clock, or which building it
            is. They are never predicted: episodes go through them as logged ones did. Text becomes one column per
            word, such as ``building=A``.
        missing
            ``"split"`` goes on after missing values and steps as after a gap, ``"refuse"`` stops there.
        source_column
            Which column says where each episode came from: a policy, a machine, a week, a patient.
        probability, log_probability
            Which column says how probable the logged action was, or its density, or the logarithm of that, for
            estimators that weigh logged episodes. No bound depends on it.
        discrete_actions
            The action is the number of a choice, from 0 to one less than this, and is one-hot encoded. If it has
            several columns, a list of such numbers, with 0 for columns that are no choices.
        """
        columns = {name: value for name, value in locals().items() if name not in ("cls", "source")}
        return cls._of(_native.Dataset.open(os.fspath(source), mapping_of(columns)))

    @classmethod
    def convert(
        cls, source: str | os.PathLike[str], into: str | os.PathLike[str], **columns: Unpack[ColumnNames]
    ) -> Dataset:
        """Read what may be larger than memory once, piece by piece, and write it to the new folder `into`.

        The dataset is a view of the files there, as is that of ``Dataset.open(into)``: they must not be changed while
        it is in use.

        Parameters
        ----------
        source, columns
            As for `open`.
        into
            A folder that does not exist yet.
        """
        return cls._of(_native.Dataset.convert(os.fspath(source), os.fspath(into), mapping_of(columns)))

    @classmethod
    def from_parquet(cls, source: str | os.PathLike[str], **columns: Unpack[ColumnNames]) -> Dataset:
        """Read a Parquet file, a folder of them, or a pattern. See `open` for ``columns``."""
        return cls.open(source, **columns)

    @classmethod
    def from_arrow(cls, table: ArrowStream | ArrowBatches, **columns: Unpack[ColumnNames]) -> Dataset:
        """Read a table that another library holds: Polars, pyarrow, DuckDB, Ray Data.

        Parameters
        ----------
        table
            Anything with ``__arrow_c_stream__``, and a dataset of Ray Data. A block of several numbers a row may be a
            list column or several columns.
        columns
            As for `open`.
        """
        stream = arrow_stream(table)
        return cls._of(_native.Dataset.from_stream(stream, type(table).__name__, mapping_of(columns)))

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
        discrete_actions: Choices | None = None,
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
            The action is the number of a choice, from 0 to one less than this, and is one-hot encoded. If it has
            several columns, a list of such numbers, with 0 for columns that are no choices.
        state_names, action_names
            Names of the columns, for expressions, messages and reports. Choices have one name each, or a column of
            them has one, which is then numbered.
        """
        columns = Columns(states, actions, rewards, next_states, terminated, truncated, episode)
        names = columns.names(state_names, action_names, discrete_actions)
        native = columns.dataset(names, discrete_actions)
        if source is not None:
            native = native.with_sources(sources_of_episodes(source, columns, native))
        return cls._of(native)

    def with_sources(self, sources: Sequence[str]) -> Dataset:
        """The same data, with where each episode came from.

        An evaluation then compares the model with each source: up to five one by one, more in three groups.

        Parameters
        ----------
        sources
            One name per episode: a policy, a machine, a week, a patient.
        """
        return Dataset._of(self._inner.with_sources([str(source) for source in sources]))

    def with_log_probs(self, log_probs: npt.ArrayLike) -> Dataset:
        """The same data, with how probable each logged action was for whoever chose it.

        Estimators that weigh logged episodes need it (`hambo.baselines`); no bound depends on it.

        Parameters
        ----------
        log_probs
            ``[rows]``: logarithms of the probabilities, or of the densities; NaN where nobody knows.
        """
        values = np.asarray(log_probs, dtype=np.float64)
        if values.ndim != 1:
            raise SettingError(f"`log_probs` has shape {values.shape}; give one number per transition")
        return Dataset._of(self._inner.with_log_probs(values.tolist()))

    @property
    def log_probs(self) -> npt.NDArray[np.float64] | None:
        """Logarithms of the probabilities of the logged actions, if somebody has said them."""
        return self._inner.log_probs

    def with_exogenous(self, columns: Sequence[str]) -> Dataset:
        """The same data, with the columns of the state that no action influences.

        They are never predicted: episodes go through them as logged ones did.

        Parameters
        ----------
        columns
            Names of columns, such as the weather, prices, the clock, or where a robot shall reach.
        """
        known = self.state_names
        unknown = [name for name in columns if name not in known]
        if unknown:
            raise SettingError(f"{unknown[0]!r} is no column of the state: {', '.join(known)}")
        return Dataset._of(self._inner.with_exogenous([known.index(name) for name in columns]))

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
        from ._d4rl import from_d4rl

        return from_d4rl(source, columns)

    @classmethod
    def from_minari(cls, source: Any, *, discrete_actions: Choices | None = None) -> Dataset:
        """Read a Minari dataset.

        Parameters
        ----------
        source
            Its id such as ``"local/pendulum-medium-v0"``, its folder, or a ``MinariDataset``, of which
            those episodes are used that it has after filtering.
        discrete_actions
            As in `open`. Without it, it is what the dataset says of its action space.
        """
        from ._minari import from_minari

        return from_minari(source, discrete_actions)

    @classmethod
    def from_sb3(cls, buffer: Any, *, scaled_actions: bool = True) -> Dataset:
        """Use what a Stable-Baselines3 replay buffer holds.

        Its oldest episode is left out if the buffer is full, because its beginning may be overwritten.

        Parameters
        ----------
        buffer
            A ``ReplayBuffer``, or an algorithm that has one, such as SAC or DQN.
        scaled_actions
            Whether actions of a box are stored between -1 and 1, as Stable-Baselines3's own algorithms store them.
            They are then turned back into what the environment is given.
        """
        from ._sb3 import from_replay_buffer

        return from_replay_buffer(buffer, scaled_actions)

    @classmethod
    def from_rlds(cls, episodes: Iterable[Any], *, discrete_actions: int | Sequence[int] | None = None) -> Dataset:
        """Use episodes of RLDS, as TensorFlow Datasets and Open X-Embodiment have them, from any iterator.

        Parameters
        ----------
        episodes
            Each a dictionary with ``steps``, or the steps themselves: dictionaries with ``observation``, ``action``,
            ``reward`` and the flags ``is_first``, ``is_last`` and ``is_terminal``, of NumPy arrays or what can be made
            into them (``tfds.as_numpy``). A last step that is not terminal is a truncation. Observations and actions
            of several parts are put side by side, with their names; images are refused.
        discrete_actions
            As for `from_arrays`.
        """
        from ._rlds import from_rlds

        return from_rlds(episodes, discrete_actions)

    @classmethod
    def from_d3rlpy(cls, buffer: Any) -> Dataset:
        """Use the episodes of a replay buffer of d3rlpy, or the file that its ``dump`` wrote.

        Choices among actions are recognised in a buffer; of a file `open` takes ``discrete_actions``.
        """
        from ._d3rlpy import from_d3rlpy

        return from_d3rlpy(buffer)

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
        """The undiscounted sum of rewards of every episode, as far as it was logged.

        Episodes with gaps lack what was earned there, so their mean is no threshold to ask for: what the logs earned
        over a horizon stands in every result (``result.logged_return``).
        """
        rewards = self.rewards.astype(np.float64)
        return np.array([rewards[start:end].sum() for start, end, *_ in self._inner.episodes])

    @property
    def exogenous(self) -> list[str]:
        """Columns of the state that no action influences."""
        return [self.state_names[column] for column in self._inner.exogenous]

    @property
    def state_names(self) -> list[str]:
        """Names of the state columns, as expressions use them: ``state_0`` and so on if nobody named them."""
        names = self._inner.names
        return [f"state_{index}" for index in range(self.states.shape[1])] if names is None else names[0]

    @property
    def action_names(self) -> list[str]:
        """Names of the action columns, as expressions use them."""
        names = self._inner.names
        return [f"action_{index}" for index in range(self.actions.shape[1])] if names is None else names[1]

    def __getitem__(self, episodes: slice | Sequence[int] | npt.NDArray[Any]) -> Dataset:
        """Some of the episodes, as a copy: ``data[:10]``, ``data[[1, 3]]``, ``data[data.returns > 0]``."""
        return selected(self, episodes)

    # Without it Python would count through `__getitem__`.
    __iter__ = None

    def split(self, share: float, seed: int = 0) -> tuple[Dataset, Dataset]:
        """Two datasets of whole episodes, drawn at random: about `share` of them, and the others.

        Parameters
        ----------
        share
            Of the episodes, between 0 and 1. Each part gets at least one.
        seed
            The same seed gives the same parts.
        """
        return split(self, share, seed)

    @classmethod
    def concat(cls, parts: Sequence[Dataset], *, sources: Sequence[str] | None = None) -> Dataset:
        """One dataset of all episodes of several.

        Parameters
        ----------
        parts
            Datasets with the same columns. Names may be missing in some of them.
        sources
            One name per dataset, for where all of its episodes came from. Without it episodes keep the sources that
            they have; if only some have one, the others are named by the number of their dataset.
        """
        return concatenated(parts, sources)

    def to_frame(self) -> Any:
        """One row per transition, as a ``pandas.DataFrame`` that `from_arrow` reads again."""
        return transitions_frame(self)

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
        return _unpickled, (taken_apart(self),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _unpickled(parts: Parts) -> Dataset:
    self = object.__new__(Dataset)
    self._inner = put_together(parts)
    return self
