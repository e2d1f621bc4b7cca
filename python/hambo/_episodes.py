"""Datasets made of the episodes of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._checks import checked_finite, checked_names, checked_seed, given_as
from ._frames import frame
from ._functions import Array
from .errors import DataError, SettingError

if TYPE_CHECKING:
    from ._dataset import Dataset

__all__ = ["Parts", "concatenated", "put_together", "selected", "split", "taken_apart", "transitions_frame"]


class Parts(NamedTuple):
    """All that a dataset is made of."""

    columns: tuple[Array, Array, Array, Array]
    """States, actions, rewards and next states."""
    lengths: list[int]
    """Steps of every episode."""
    flags: list[tuple[bool, bool]]
    """Whether it terminated, and whether it was cut off."""
    names: tuple[list[str], list[str]] | None
    sources: list[str] | None
    gaps: list[list[int]]
    """Steps of every episode before which the log has a gap."""
    exogenous: list[int]
    """Columns of the state that no action influences."""


def taken_apart(data: Dataset) -> Parts:
    """What a dataset is made of."""
    episodes, gaps = data._inner.episodes, np.array(data._inner.gaps, dtype=np.int64)
    return Parts(
        columns=(data.states, data.actions, data.rewards, data.next_states),
        lengths=[end - start for start, end, *_ in episodes],
        flags=[(terminated, truncated) for *_, terminated, truncated in episodes],
        names=data._inner.names,
        sources=data._inner.sources,
        gaps=[(gaps[(gaps >= start) & (gaps < end)] - start).tolist() for start, end, *_ in episodes],
        exogenous=data._inner.exogenous,
    )


def put_together(parts: Parts) -> _native.Dataset:
    """A dataset of that."""
    marks = np.zeros((len(parts.columns[0]), 2), dtype=bool)
    marks[np.cumsum(parts.lengths) - 1] = parts.flags
    terminated, truncated = (np.ascontiguousarray(column) for column in marks.T)
    episode = np.repeat(np.arange(len(parts.lengths), dtype=np.int64), parts.lengths)
    starts = np.cumsum([0, *parts.lengths[:-1]])
    gaps = [int(start) + step for start, steps in zip(starts, parts.gaps, strict=True) for step in steps]
    native = _native.Dataset.from_marked(*parts.columns, terminated, truncated, episode, parts.names, gaps)
    native = native.with_exogenous(parts.exogenous)
    return native if parts.sources is None else native.with_sources(parts.sources)


def selected(data: Dataset, episodes: slice | Sequence[int] | npt.NDArray[Any]) -> Dataset:
    """Some of the episodes, in the order in which they are asked for."""
    count = len(data._inner.episodes)
    if isinstance(episodes, slice):
        return _of_numbers(data, np.arange(count)[episodes])
    if isinstance(episodes, int | np.integer):
        raise SettingError(
            f"data[{episodes}] could be an episode or a row; data[[{episodes}]] is a dataset of one episode, "
            f"data.episodes[{episodes}] its arrays"
        )
    numbers = np.asarray(episodes)
    if numbers.ndim != 1 or (numbers.dtype.kind not in "iub" and numbers.size):
        raise SettingError(f"episodes are given as {given_as(episodes)}; give a slice, a list of numbers or a mask")
    if numbers.dtype.kind == "b":
        if len(numbers) != count:
            raise SettingError(f"the mask has {len(numbers)} values, but there are {count} episodes; give one for each")
        return _of_numbers(data, np.flatnonzero(numbers))
    numbers = numbers.astype(np.int64)
    wrong = numbers[(numbers < -count) | (numbers >= count)]
    if len(wrong):
        raise SettingError(f"there is no episode {wrong[0]}; they go from 0 to {count - 1}")
    return _of_numbers(data, numbers % count)


def split(data: Dataset, share: float, seed: int) -> tuple[Dataset, Dataset]:
    """Some of the episodes at random, and the others, both in their order."""
    count = len(data._inner.episodes)
    if not 0.0 < checked_finite(share, "share") < 1.0:
        raise SettingError(f"`share` is {share}; expected between 0 and 1")
    if count < 2:
        raise DataError("there is only one episode, and episodes are not cut; give data with more of them")
    first = min(max(round(share * count), 1), count - 1)
    drawn = np.random.default_rng(checked_seed(seed)).permutation(count)
    return _of_numbers(data, np.sort(drawn[:first])), _of_numbers(data, np.sort(drawn[first:]))


def concatenated(parts: Sequence[Dataset], sources: Sequence[str] | None) -> Dataset:
    """All episodes of several datasets."""
    from ._dataset import Dataset

    datasets = list(parts)
    if not datasets:
        raise SettingError("there are no datasets to put together; give at least one")
    for number, data in enumerate(datasets):
        if not isinstance(data, Dataset):
            raise SettingError(f"dataset {number} is {given_as(data)}; make a Dataset of it first")
    apart = [taken_apart(data) for data in datasets]
    _check_widths(apart)
    columns = tuple(np.concatenate(blocks) for blocks in zip(*(part.columns for part in apart), strict=True))
    return Dataset._of(
        put_together(
            Parts(
                columns=columns,  # type: ignore[arg-type]
                lengths=[length for part in apart for length in part.lengths],
                flags=[flags for part in apart for flags in part.flags],
                names=_common_names(apart),
                sources=_all_sources(apart, sources),
                gaps=[gaps for part in apart for gaps in part.gaps],
                exogenous=_common_exogenous(apart),
            )
        )
    )


def transitions_frame(data: Dataset) -> Any:
    """One row per transition, with columns that the readers of tables recognise or are told."""
    parts = taken_apart(data)
    states, actions, rewards, next_states = parts.columns
    episode = np.repeat(np.arange(len(parts.lengths)), parts.lengths)
    last = np.cumsum(parts.lengths) - 1
    flags = np.zeros((len(data), 2), dtype=bool)
    flags[last] = parts.flags
    columns: dict[str, Any] = {"episode": episode, "step": np.arange(len(data)) - (last + 1 - parts.lengths)[episode]}
    columns |= {name: states[:, index] for index, name in enumerate(data.state_names)}
    columns |= {name: actions[:, index] for index, name in enumerate(data.action_names)}
    columns["reward"] = rewards
    columns |= {f"next_{name}": next_states[:, index] for index, name in enumerate(data.state_names)}
    columns["terminated"], columns["truncated"] = flags.T
    if parts.sources is not None:
        columns["source"] = np.array(parts.sources)[episode]
    return frame(columns)


def _of_numbers(data: Dataset, numbers: npt.NDArray[np.int64]) -> Dataset:
    from ._dataset import Dataset

    if len(numbers) == 0:
        raise DataError("no episode is left; choose at least one")
    if len(set(numbers.tolist())) != len(numbers):
        raise SettingError("an episode is asked for twice, and would count as two; ask for each once")
    return Dataset._of(data._inner.selected(numbers.tolist()))


def _check_widths(apart: list[Parts]) -> None:
    for number, part in enumerate(apart):
        for index, what in ((0, "state"), (1, "action")):
            width, first = part.columns[index].shape[1], apart[0].columns[index].shape[1]
            if width != first:
                raise DataError(f"dataset {number} has {width} {what} columns, dataset 0 has {first}")


def _common_names(apart: list[Parts]) -> tuple[list[str], list[str]] | None:
    named = [(number, part.names) for number, part in enumerate(apart) if part.names is not None]
    if not named:
        return None
    first, names = named[0]
    for number, others in named[1:]:
        if others != names:
            raise DataError(
                f"dataset {number} has the columns {', '.join(sum(others, []))}, dataset {first} has "
                f"{', '.join(sum(names, []))}; give them the same names in the same order"
            )
    return names


def _common_exogenous(apart: list[Parts]) -> list[int]:
    for number, part in enumerate(apart):
        if part.exogenous != apart[0].exogenous:
            raise DataError(f"dataset {number} has other exogenous columns than dataset 0; declare the same ones")
    return apart[0].exogenous


def _all_sources(apart: list[Parts], given: Sequence[str] | None) -> list[str] | None:
    if given is not None:
        names = checked_names(given, "sources")
        if len(names) != len(apart):
            raise SettingError(f"`sources` has {len(names)} names for {len(apart)} datasets; give one for each")
        return [name for name, part in zip(names, apart, strict=True) for _ in part.lengths]
    if all(part.sources is None for part in apart):
        return None
    return [
        source
        for number, part in enumerate(apart)
        for source in part.sources or [f"dataset {number}"] * len(part.lengths)
    ]
