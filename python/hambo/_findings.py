"""What an evaluation consists of: variants, constraints, the improvement."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ._functions import Array
from ._replay import Estimate, Replay

__all__ = [
    "ConstraintResult",
    "HowClose",
    "Improvement",
    "Place",
    "Trajectory",
    "VariantName",
    "VariantResult",
    "WorldsLimit",
]

VariantName = Literal["worlds", "CA", "DA1", "DAinf", "DS", "TS1", "TSinf"]
VARIANTS: tuple[VariantName, ...] = ("worlds", "CA", "DA1", "DAinf", "DS", "TS1", "TSinf")
CONSERVATIVE = {"worlds", "CA", "DA1", "DAinf"}


def variant_name(code: str) -> str:
    """A variant's name, of which JSON has the small letters."""
    return next((name for name in VARIANTS if name.lower() == code.lower()), code)


@dataclasses.dataclass(frozen=True)
class Place:
    """Values of a column in which the policy's steps are much less certain than elsewhere: a place to collect data."""

    column: str
    low: float
    high: float
    steps: float
    """Share of the policy's steps in which it has such a value."""
    disagreement: float
    """Share of the members' squared disagreement."""
    logged: float
    """Share of the logged transitions with such a value."""


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """The states of one episode."""

    total: float
    """Its return."""
    states: Array
    """``[steps, d_s]``"""


@dataclasses.dataclass(frozen=True)
class WorldsLimit:
    """How a limit over worlds came about."""

    spread: float
    """Standard deviation of the worlds' estimates."""
    student: float
    """Student's quantile for so many worlds."""
    factor: float
    """The factor on the spread: the larger of Student's quantile and of what the logs demand."""
    replay: Replay | None
    """What logged episodes say of the worlds; None if there were none to play again."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> WorldsLimit:
        replay = document["replay"]
        return cls(**{**document, "replay": None if replay is None else Replay._of(replay)})


@dataclasses.dataclass(frozen=True)
class VariantResult:
    """What one variant found about the return or about a constraint."""

    name: str
    """worlds, CA, DA1, DAinf, or one of the neutral DS, TS1, TSinf."""
    estimate: Estimate
    """Mean return under this variant, on fresh rollouts."""
    lower_bound: float
    """Its one-sided Monte Carlo limit. Of a neutral variant it bounds the neutral estimate only."""
    members: tuple[Estimate, ...] = dataclasses.field(repr=False)
    """For worlds and DAinf: each member's estimate."""
    worlds: WorldsLimit | None = dataclasses.field(repr=False)
    """For worlds: how the limit came about."""
    converged: bool | None
    """For learned adversaries: whether the last rounds no longer improved."""
    outside_data: float
    """Share of steps that are less certain than 99 % of the calibration points."""
    times_as_uncertain: tuple[float, ...]
    """How many times as uncertain as on the logs the model typically is of every column that matters."""
    at_limits: float
    """Share of the episodes that went beyond the limits of the states."""
    foreign_actions: float
    """Share of steps in which the policy's action is like none in the data."""
    ended: float
    """Share of the episodes that terminated."""
    floored: float
    """Share of the episodes that left the data and earned the floor from there on."""
    worst: tuple[Trajectory, ...] = dataclasses.field(repr=False)
    """The episodes with the lowest returns among the first few hundred, worst first."""
    places: tuple[Place, ...] = dataclasses.field(repr=False)
    """Where the members disagree most."""

    @property
    def is_conservative(self) -> bool:
        """Whether its return is meant as a lower bound. The others are neutral estimates."""
        return self.name in CONSERVATIVE

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> VariantResult:
        return cls(
            name=variant_name(document["variant"]),
            estimate=Estimate(**document["estimate"]),
            lower_bound=document["lower_bound"],
            members=tuple(Estimate(**member) for member in document["members"]),
            worlds=None if document.get("worlds") is None else WorldsLimit._of(document["worlds"]),
            converged=document["converged"],
            outside_data=document["outside_data"],
            times_as_uncertain=tuple(document.get("times_as_uncertain", ())),
            at_limits=document.get("at_limits", 0.0),
            foreign_actions=document.get("foreign_actions", 0.0),
            ended=document.get("ended", 0.0),
            floored=document.get("floored", 0.0),
            worst=tuple(
                Trajectory(episode["total"], np.array(episode["states"], dtype=np.float32))
                for episode in document["worst"]
            ),
            places=tuple(Place(**place) for place in document["evidence"].get("places", ())),
        )


@dataclasses.dataclass(frozen=True)
class ConstraintResult:
    """What was found about one constraint: a bound on its mean over the steps."""

    name: str
    lower_bound: float | None
    variants: tuple[VariantResult, ...]


@dataclasses.dataclass(frozen=True)
class Improvement:
    """How much more a policy earns than what it was compared with."""

    against: str
    """What it was compared with."""
    baseline: Estimate
    """What that earns: in the logs, or according to the worlds."""
    estimate: Estimate
    """The difference, without any caution."""
    spread: float
    """Standard deviation of the worlds' differences."""
    factor: float
    """The factor on the spread: the larger of Student's quantile and of what the logs demand."""
    lower_bound: float
    """The difference is at least this, with probability 1 - delta."""
    by_separate_bounds: float
    """What two separate bounds would leave of it."""
    margin: float | None
    """How much more the policy must earn, if somebody has said it."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Improvement:
        estimates = {name: Estimate(**document[name]) for name in ("baseline", "estimate")}
        return cls(**{**document, **estimates})


@dataclasses.dataclass(frozen=True)
class HowClose:
    """How much it would take for a bound to end on the other side of a threshold."""

    tipping_factor: float | None
    """The factor on the worlds' disagreement at which the bound is the threshold; None if there is none."""
    factor: float | None
    """The factor that was used."""
    times_as_many_episodes: int | None
    """How many times as many logged episodes would let the bound reach the threshold, if the worlds stayed as they are.

    None if it is reached already, or not with a hundred times as many.
    """
