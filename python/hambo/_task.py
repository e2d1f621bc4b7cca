"""What is plain about a task, as the native library takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._checks import checked_count, checked_finite, checked_names, given_as
from ._functions import start_function
from ._model import Model
from ._settings import Fixed, StateBounds
from .errors import SettingError
from .tasks import TaskName

__all__ = ["InitialStates", "columns_of", "starts_document", "task_document"]

InitialStates: TypeAlias = "npt.ArrayLike | Fixed | Callable[[np.random.Generator, int], Any] | None"
"""A sample ``[count, d_s]``, all there are, a function of a generator and a count, or the data's own."""


def task_document(
    horizon: int,
    discount: float,
    state_bounds: StateBounds | TaskName | None,
    reward_bounds: tuple[float, float] | None,
) -> dict[str, Any]:
    """What is plain about a task, for the native library."""
    return {
        "horizon": checked_count(horizon, "horizon"),
        "discount": checked_finite(discount, "discount"),
        "state_bounds": _bounds(state_bounds),
        "reward_bounds": None if reward_bounds is None else _low_and_high(reward_bounds),
    }


def columns_of(inputs: Sequence[str] | None, model: Model) -> tuple[list[str], list[int]]:
    """The columns of the state that a policy takes: their names, and where they are."""
    names = [] if inputs is None else checked_names(inputs, "inputs")
    known = model.state_names
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingError(f"`inputs` names {unknown[0]!r}, which is no column of the state: {', '.join(known)}")
    return names, [known.index(name) for name in names]


def starts_document(given: InitialStates, state_dim: int) -> Any:
    """Initial states as the native module takes them."""
    if given is None:
        return None
    if callable(given):
        return start_function(given, state_dim)
    kind, states = ("fixed", given.states) if isinstance(given, Fixed) else ("observed", given)
    try:
        rows = np.asarray(states)
    except ValueError:
        raise SettingError(f"the rows of `initial_states` differ in length; give [count, {state_dim}]") from None
    if rows.dtype.kind not in "fiub":
        raise SettingError(f"`initial_states` holds {rows.dtype}, not numbers; give [count, {state_dim}]")
    if rows.ndim != 2 or rows.shape[1] != state_dim:
        raise SettingError(
            f"`initial_states` has shape {rows.shape}; give [count, {state_dim}], one column for each of the model's "
            "states"
        )
    return kind, np.require(rows, np.float32, ["C", "A"])


def _bounds(given: StateBounds | TaskName | None) -> dict[str, Any] | str | None:
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, StateBounds):
        raise SettingError(
            f"`state_bounds` is {given_as(given)}; give hambo.StateBounds(low, high) or the name of a built-in task"
        )
    return given._document()


def _low_and_high(given: Any) -> list[float]:
    limits = list(given) if isinstance(given, Sequence | np.ndarray) else []
    if len(limits) != 2 or isinstance(given, str):
        raise SettingError(f"`reward_bounds` is {given!r}; give the smallest and the largest reward, (low, high)")
    return [checked_finite(limit, "reward_bounds") for limit in limits]
