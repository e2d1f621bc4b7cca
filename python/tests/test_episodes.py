"""Datasets of some episodes, and of several datasets: names, sources and choices survive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hambo

from .test_data import columns


@pytest.fixture
def data() -> hambo.Dataset:
    given = columns(rows=20)
    given["actions"] = np.arange(20) % 3
    given["terminated"] = np.arange(20) == 7
    given["truncated"] = given["truncated"] & ~given["terminated"]
    source = np.repeat(["a", "b", "a", "b", "c"], 4)
    return hambo.Dataset.from_arrays(
        **given, discrete_actions=3, state_names=["x", "y"], action_names=["left", "stay", "right"], source=source
    )


def which(data: hambo.Dataset) -> list[float]:
    """The episodes' numbers, which are in the second column."""
    return [float(number) for number in data.initial_states[:, 1]]


def test_some_episodes_are_a_dataset(data: hambo.Dataset) -> None:
    assert which(data[:2]) == [0, 1] and which(data[::-2]) == [4, 2, 0] and which(data[[3, -4]]) == [3, 1]
    assert which(data[data.returns > 50]) == [3, 4]
    some = data[[1, 3]]
    assert some.sources == ["b", "b"]
    assert (some.state_names, some.action_names) == (["x", "y"], ["left", "stay", "right"])
    assert [(episode.terminated, episode.truncated) for episode in some.episodes] == [(True, False), (False, True)]
    np.testing.assert_array_equal(some.actions, data.actions[[4, 5, 6, 7, 12, 13, 14, 15]])
    assert data[:] == data


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        (2, r"data\[\[2\]\] is a dataset of one episode, data.episodes\[2\] its arrays"),
        ([5], "there is no episode 5; they go from 0 to 4"),
        ([0, 0], "asked for twice"),
        ([], "no episode is left"),
        (slice(9, 12), "no episode is left"),
        ([True, False], "the mask has 2 values, but there are 5 episodes"),
        ("one", "give a slice, a list of numbers or a mask"),
    ],
)
def test_episodes_that_make_no_sense(data: hambo.Dataset, episodes: Any, message: str) -> None:
    with pytest.raises(hambo.HamboError, match=message):
        data[episodes]


def test_nobody_counts_through_a_dataset(data: hambo.Dataset) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        iter(data)  # type: ignore[call-overload]


def test_a_split_has_every_episode_once(data: hambo.Dataset) -> None:
    first, second = data.split(0.4, seed=3)
    assert (len(first.episodes), len(second.episodes)) == (2, 3)
    assert sorted(which(first) + which(second)) == [0, 1, 2, 3, 4]
    assert which(first) == sorted(which(first)) and first.state_names == ["x", "y"]
    assert data.split(0.4, seed=3) == (first, second)
    assert len({tuple(which(data.split(0.4, seed=seed)[0])) for seed in range(10)}) > 3
    assert first.without(second) == first
    with pytest.raises(hambo.errors.SettingError, match="`share` is 1.0; expected between 0 and 1"):
        data.split(1.0)
    with pytest.raises(hambo.errors.DataError, match="only one episode"):
        data[:1].split(0.5)


def test_parts_are_put_together_again(data: hambo.Dataset) -> None:
    again = hambo.Dataset.concat([data[:2], data[2:]])
    assert again == data and again.sources == data.sources and again.action_names == data.action_names
    named = hambo.Dataset.concat([data[:2], data[2:]], sources=["old", "new"])
    assert named.sources == ["old", "old", "new", "new", "new"]


def test_what_only_some_parts_have(data: hambo.Dataset) -> None:
    given = columns()
    given["actions"] = np.eye(3)[np.arange(12) % 3]
    plain = hambo.Dataset.from_arrays(**given)
    both = hambo.Dataset.concat([data, plain])
    assert both.state_names == ["x", "y"] and both.sources == ["a", "b", "a", "b", "c"] + ["dataset 1"] * 3
    assert hambo.Dataset.concat([plain, plain[:1]]).sources is None


def test_parts_that_do_not_fit(data: hambo.Dataset) -> None:
    given = columns()
    with pytest.raises(hambo.errors.DataError, match="dataset 1 has 1 action columns, dataset 0 has 3"):
        hambo.Dataset.concat([data, hambo.Dataset.from_arrays(**given)])
    given["actions"] = np.eye(3)[np.arange(12) % 3]
    other = hambo.Dataset.from_arrays(**given, state_names=["y", "x"])
    with pytest.raises(hambo.errors.DataError, match="dataset 1 has the columns y, x, .*dataset 0 has x, y, "):
        hambo.Dataset.concat([data, other])
    with pytest.raises(hambo.errors.SettingError, match="`sources` has 1 names for 2 datasets"):
        hambo.Dataset.concat([data, data[:1]], sources=["a"])
    with pytest.raises(hambo.errors.SettingError, match="there are no datasets"):
        hambo.Dataset.concat([])
