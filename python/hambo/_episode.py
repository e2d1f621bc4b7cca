"""One episode, as users see it."""

from __future__ import annotations

from typing import NamedTuple

from ._functions import Array

__all__ = ["Episode"]


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
