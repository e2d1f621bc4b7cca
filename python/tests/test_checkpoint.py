"""Work that was interrupted goes on, and ends with the same result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo

from .conftest import QUICK, TINY, Array, still

Policy = Callable[[Array], Array]
LONG = hambo.Ensemble(members=3, hidden=[16], max_steps=2_000, evaluate_every=20, patience=1_000)


class Stop(Exception):
    """Raised in the middle of the work."""


def test_a_fit_goes_on_and_ends_with_the_same_model(data: hambo.Dataset, tmp_path: Path) -> None:
    steps: list[int] = []

    def stop_at_half(event: hambo.Progress) -> None:
        steps.append(event.step)
        if event.stage == "fit" and event.step >= 1_000:
            raise Stop

    with pytest.raises(Stop):
        hambo.fit(data, LONG, progress=stop_at_half, checkpoint=tmp_path / "work")
    assert list((tmp_path / "work").iterdir()), "nothing was kept"
    again: list[int] = []
    resumed = hambo.fit(data, LONG, progress=lambda event: again.append(event.step), checkpoint=tmp_path / "work")
    assert min(again) > 500, "it began anew"
    whole = hambo.fit(data, LONG)
    states, actions = data.states[:50], data.actions[:50]
    np.testing.assert_array_equal(resumed.predict(states, actions).mean, whole.predict(states, actions).mean)

    # What is finished is not made again, unless it is about something else.
    events: list[hambo.Progress] = []
    recalled = hambo.fit(data, LONG, progress=events.append, checkpoint=tmp_path / "work")
    assert not events and recalled.effort == "standard"
    np.testing.assert_array_equal(recalled.predict(states, actions).mean, whole.predict(states, actions).mean)
    hambo.fit(data, TINY, progress=events.append, checkpoint=tmp_path / "work")
    assert events


def push(states: Array) -> Array:
    """Another policy."""
    return np.full((len(states), 1), 0.5, dtype=np.float32)


def test_an_evaluation_goes_on_with_the_parts_that_are_left(model: hambo.Model, tmp_path: Path) -> None:
    def stop_at_the_second(event: hambo.Progress) -> None:
        if event.part == "return, DS":
            raise Stop

    with pytest.raises(Stop):
        hambo.evaluate(model, still, **QUICK, progress=stop_at_the_second, checkpoint=tmp_path)
    parts: set[str | None] = set()
    options = {**QUICK, "progress": lambda event: parts.add(event.part)}
    resumed = hambo.evaluate(model, still, **options, checkpoint=tmp_path)
    assert parts == {"return, DS"}
    assert resumed == hambo.evaluate(model, still, **QUICK)

    # Another policy, task, seed or model finds nothing of it.
    others: list[tuple[Policy, dict[str, Any]]] = [
        (push, {}),
        (still, {"discount": 0.9}),
        (still, {"reward": "0 * state_0 + 1", "rules_differ": True}),
        (still, {"seed": 1}),
    ]
    for policy, changed in others:
        parts.clear()
        hambo.evaluate(model, policy, **options, **changed, checkpoint=tmp_path)
        assert parts == {"return, DAinf", "return, DS"}


def test_a_checkpoint_that_cannot_be_is_named(model: hambo.Model, data: hambo.Dataset, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(hambo.HamboError, match="file"):
        hambo.evaluate(model, still, **QUICK, checkpoint=tmp_path / "file")
    with pytest.raises(hambo.errors.SettingError, match="`checkpoint` is a `int`"):
        hambo.fit(data, TINY, checkpoint=3)  # type: ignore[call-overload]


def test_threads_change_no_result(model: hambo.Model, data: hambo.Dataset) -> None:
    one = hambo.evaluate(model, still, **QUICK, threads=1)
    assert one == hambo.evaluate(model, still, **QUICK, threads=2)
    fitted = [hambo.fit(data, TINY, threads=count).predict(data.states[:9], data.actions[:9]).mean for count in (1, 2)]
    np.testing.assert_array_equal(fitted[0], fitted[1])
    with pytest.raises(hambo.errors.SettingError, match="`threads` is 0"):
        hambo.evaluate(model, still, **QUICK, threads=0)
