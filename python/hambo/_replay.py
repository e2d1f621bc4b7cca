"""What logged episodes say of a model's worlds, and what would have been claimed of them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ._frames import frame
from ._tables import aligned, html_table
from .errors import SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Backtest", "Claim", "Demand", "Estimate", "Replay", "ReplayedGroup"]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean of sampled returns, with its standard error."""

    mean: float
    std_error: float
    independent: int
    """Independent observations behind the standard error: episodes, or clusters of episodes."""
    skewness: float = 0.0
    """Skewness of these observations: negative when a few are much lower than the others."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """What would have been claimed about a group of logged episodes over a horizon, and what it earned."""

    group: str
    episodes: int
    is_later: bool
    """Whether these are pieces of episodes that do not start where they did."""
    horizon: int
    covered: float
    """How much of the horizon the pieces last, on average."""
    claimed: float
    """The lower bound on what the group earns."""
    by_student: float
    """The same without what other groups demand: Student's factor alone."""
    estimate: float
    """What the worlds say without any caution."""
    earned: float
    """What the group earned, on average."""
    std_error: float
    """Standard error of the difference between the two."""
    held: bool
    """Whether the group earned what was claimed."""


@dataclasses.dataclass(frozen=True)
class Backtest:
    """Claims about groups of logged episodes, none of which was used for the claim about it."""

    refitted: bool
    """Whether worlds were fitted without the group.

    Otherwise each episode was played by those that had not seen it, and what the limit needs was learned from the
    other groups.
    """
    delta: float
    """How often a claim may fail."""
    claims: tuple[Claim, ...]
    """By horizon, then by group."""
    vouched: int | None
    """The longest horizon up to which all claims held and episodes last long enough."""
    outcome: Literal["held", "failed", "too_short"]
    """Whether every claim over the whole horizon held; too short if episodes do not last for it."""
    summary: str
    """All of that in one sentence."""

    @property
    def horizon(self) -> int:
        """The longest horizon."""
        return max(claim.horizon for claim in self.claims)

    @property
    def over_all(self) -> tuple[Claim, ...]:
        """The claims over the whole horizon."""
        return tuple(claim for claim in self.claims if claim.horizon == self.horizon)

    @property
    def failed(self) -> tuple[Claim, ...]:
        """Those of them that did not hold."""
        return tuple(claim for claim in self.over_all if not claim.held)

    @property
    def held(self) -> bool:
        """Whether all of them held, over episodes that last for the horizon."""
        return self.outcome == "held"

    @property
    def chance(self) -> float:
        """The probability that as many fail, or more, if each does with probability delta by itself."""
        total, failed = len(self.over_all), len(self.failed)
        shares = (math.comb(total, k) * self.delta**k * (1 - self.delta) ** (total - k) for k in range(failed))
        return 1.0 - sum(shares)

    def to_frame(self) -> Any:
        """One row per claim, as a ``pandas.DataFrame``."""
        return frame([dataclasses.asdict(claim) for claim in self.claims])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what was claimed and what was earned with matplotlib, and return the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise SettingError("plots need matplotlib: `pip install matplotlib`") from None
        if ax is None:
            ax = plt.subplots(figsize=(6, 0.5 * len(self.over_all) + 1.2), layout="constrained")[1]
        for row, claim in enumerate(self.over_all):
            colour = "tab:green" if claim.held else "tab:red"
            ax.plot([claim.claimed, claim.earned], [row, row], color=colour, lw=3)
            ax.plot(claim.claimed, row, "|", color=colour, ms=14, mew=2)
            ax.plot(claim.earned, row, "o", color=colour)
        ax.set_yticks(range(len(self.over_all)), [claim.group for claim in self.over_all])
        ax.set_ylim(len(self.over_all) - 0.4, -0.6)
        ax.set_xlabel(f"return over {self.horizon} steps: claimed (|) and earned (dot)")
        return ax

    def to_json(self, *, indent: int | None = None) -> str:
        """Everything, as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=indent)

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Backtest:
        claims = tuple(Claim(**claim) for claim in document["claims"])
        return cls(
            refitted=document["refitted"],
            delta=document["delta"],
            claims=claims,
            vouched=document["vouched"],
            outcome=document["outcome"],
            summary=document["summary"],
        )

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("steps", "group", "episodes", "lasting", "claimed", "earned", "held")]
        for claim in self.claims:
            held = "yes" if claim.held else "NO"
            numbers = (f"{claim.covered:.0%}", f"{claim.claimed:.6g}", f"{claim.earned:.6g}", held)
            rows.append((str(claim.horizon), claim.group, str(claim.episodes), *numbers))
        return rows

    def __repr__(self) -> str:
        word = {"held": "HELD", "failed": "DID NOT HOLD", "too_short": "LOGS TOO SHORT"}[self.outcome]
        return "\n".join([f"{word}: {self.summary}", "", *aligned(self._rows())])

    def _repr_html_(self) -> str:
        return f"<p>{self.summary}</p>{html_table(self._rows())}"


@dataclasses.dataclass(frozen=True)
class Demand:
    """What groups of logged episodes demand of a limit."""

    factor: float
    """On the worlds' disagreement."""
    offset: float
    """What is taken off for groups on which all worlds practically agree."""
    unresolved: float
    """Largest standard error of a group's bias: what its episodes cannot tell."""
    episodes: int
    """Episodes behind it."""
    worst: str
    """The group that needs the most."""


@dataclasses.dataclass(frozen=True)
class ReplayedGroup:
    """Logged episodes that have something in common, and what the worlds made of them."""

    name: str
    """Their source, or how close they are to the policy."""
    episodes: int
    is_later: bool
    """Whether these are pieces of them that do not start where they did."""
    earned: float
    """What they earned on average, in pieces of at most the horizon."""
    bias: float
    """By how much worlds that have not seen them overestimate that."""
    std_error: float
    """Standard error of the bias."""
    skewness: float
    """Skewness of the episodes' differences: positive when a few are overestimated much more than the others."""
    absolute_error: float
    """Mean absolute error per episode."""
    spread: float
    """Standard deviation of the worlds' means over the group."""
    largest_bias: float
    """What the bias may be, with confidence."""


@dataclasses.dataclass(frozen=True)
class Replay:
    """What logged episodes say of a model's worlds."""

    noise: float
    """Factor on the errors that worlds draw as noise."""
    factor: float
    """The factor that the worlds' disagreement needs so that no group is overestimated."""
    offset: float
    """What is taken off for groups on which all worlds practically agree."""
    unresolved: float
    """Largest standard error of a group's bias: what its episodes cannot tell."""
    covered: float
    """Steps that were replayed on average, as a share of the horizon."""
    worst: str
    """The group that needs the most."""
    tried: Mapping[float, tuple[ReplayedGroup, ...]]
    """What every factor on the noise led to, group by group."""
    of_differences: Demand | None
    """What differences between groups demand of a limit on differences; None with fewer than two groups."""
    earned: Estimate | None
    """What the logs earned over the horizon; None if they are shorter."""
    backtest: Backtest
    """What would have been claimed about every group, had the others been the logs."""

    @property
    def groups(self) -> tuple[ReplayedGroup, ...]:
        """The groups at the noise that was chosen."""
        return self.tried[self.noise]

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Replay:
        tried = {each["noise"]: tuple(ReplayedGroup(**group) for group in each["groups"]) for each in document["tried"]}
        demand, earned = document["of_differences"], document["earned"]
        parts = {
            "tried": tried,
            "of_differences": None if demand is None else Demand(**demand),
            "earned": None if earned is None else Estimate(**earned),
            "backtest": Backtest._of(document["backtest"]),
        }
        return cls(**{**document, **parts})
