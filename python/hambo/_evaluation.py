"""Results: the bound, and every reason to doubt it."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._functions import Array
from ._replay import Backtest, Estimate, Replay
from ._tables import aligned, escaped, html_table
from .errors import SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ConstraintResult",
    "Evaluation",
    "HowClose",
    "Improvement",
    "Place",
    "Warning",
    "Trajectory",
    "VariantResult",
    "WorldsLimit",
]

_NAMES = {"worlds": "worlds", "ca": "CA", "da1": "DA1", "dainf": "DAinf", "ds": "DS", "ts1": "TS1", "tsinf": "TSinf"}
_CONSERVATIVE = {"worlds", "CA", "DA1", "DAinf"}

Verdict = Literal["certified", "not_certified", "inconclusive", "no_threshold"]


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
    members: tuple[Estimate, ...]
    """For worlds and DAinf: each member's estimate."""
    worlds: WorldsLimit | None
    """For worlds: how the limit came about."""
    converged: bool | None
    """For learned adversaries: whether the last rounds no longer improved."""
    outside_data: float
    """Share of steps that are less certain than 99 % of the calibration points."""
    at_limits: float
    """Share of the episodes that went beyond the limits of the states."""
    foreign_actions: float
    """Share of steps in which the policy's action is like none in the data."""
    ended: float
    """Share of the episodes that terminated."""
    floored: float
    """Share of the episodes that left the data and earned the floor from there on."""
    worst: tuple[Trajectory, ...]
    """The episodes with the lowest returns among the first few hundred, worst first."""
    places: tuple[Place, ...]
    """Where the members disagree most."""

    @property
    def is_conservative(self) -> bool:
        """Whether its return is meant as a lower bound. The others are neutral estimates."""
        return self.name in _CONSERVATIVE

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> VariantResult:
        return cls(
            name=_NAMES.get(document["variant"], document["variant"]),
            estimate=Estimate(**document["estimate"]),
            lower_bound=document["lower_bound"],
            members=tuple(Estimate(**member) for member in document["members"]),
            worlds=None if document.get("worlds") is None else WorldsLimit._of(document["worlds"]),
            converged=document["converged"],
            outside_data=document["outside_data"],
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


@dataclasses.dataclass(frozen=True)
class Warning:
    """A reason to doubt a bound."""

    code: str
    """A short name for programs, such as ``"not_converged"``."""
    message: str
    help: str
    """What to try next."""
    setting: str | None
    """The setting that the help is about, by its name in ``hambo.toml``."""
    disqualifies: bool
    """Whether the bound may be too high for it, so that the verdict cannot be ``"certified"``."""
    details: Mapping[str, Any]
    """What it is about, and the numbers in the message."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Warning:
        details = dict(document)
        texts = {key: details.pop(key) for key in ("code", "message", "help", "disqualifies")}
        return cls(setting=details.pop("governed_by"), details=details, **texts)

    def __str__(self) -> str:
        return f"{self.message}; {self.help}"


class Evaluation:
    """What `evaluate` found. Everything in it can be had as JSON, and be made of it again."""

    __slots__ = ("_document",)
    _document: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("evaluations are made by hambo.evaluate and Evaluation.from_json")

    @classmethod
    def _of(cls, text: str) -> Evaluation:
        self = object.__new__(cls)
        self._document = json.loads(text)
        return self

    @classmethod
    def from_json(cls, text: str) -> Evaluation:
        """Read what `to_json` or the ``hambo`` command wrote (``--json``, a run's ``result.json``)."""
        return cls._of(_native.check_evaluation(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Evaluation:
        """Read a JSON file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def to_json(self, *, indent: int | None = None) -> str:
        """Everything, as JSON."""
        return json.dumps(self._document, indent=indent)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file."""
        Path(path).write_text(self.to_json(indent=2), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return copy.deepcopy(self._document)

    @property
    def lower_bound(self) -> float | None:
        """The limit over worlds or, without it, the smallest bound of CA, DA1 and DAinf.

        None if only neutral variants ran.
        """
        bound: float | None = self._document["lower_bound"]
        return bound

    @property
    def deciding(self) -> str | None:
        """The variant whose bound that is."""
        variant: str | None = self._document["deciding"]
        return None if variant is None else _NAMES.get(variant, variant)

    @property
    def delta(self) -> float:
        """Probability with which the bound may fail."""
        return float(self._document["delta"])

    @property
    def delta_covers(self) -> str:
        """What `delta` is the probability of, in plain words."""
        return str(self._document["delta_covers"])

    @property
    def variants(self) -> dict[str, VariantResult]:
        """What every variant found, by its name."""
        found = [VariantResult._of(variant) for variant in self._document["variants"]]
        return {variant.name: variant for variant in found}

    @property
    def neutral(self) -> VariantResult | None:
        """Whose mean is what the model expects if nobody is against it: the worlds, or the first neutral variant."""
        found = self.variants
        return found.get("worlds") or next((v for v in found.values() if not v.is_conservative), None)

    @property
    def second_opinion(self) -> Estimate | None:
        """The return if the model errs as it did on logged transitions like each step.

        It bounds nothing, but a bound above it has the logs against it, and there is a warning then.
        """
        found = self._document.get("second_opinion")
        return None if found is None else Estimate(**found)

    @property
    def improvement(self) -> Improvement | None:
        """How much better the policy is at least, if it was compared with something."""
        found = self._document.get("improvement")
        return None if found is None else Improvement._of(found)

    @property
    def reuse(self) -> tuple[int, int] | None:
        """How many of the model's episodes the policy was trained on, and of how many; None if nobody said that."""
        found = self._document.get("reuse")
        return None if found is None else (found["shared"], found["of"])

    @property
    def backtest(self) -> Backtest | None:
        """What would have been claimed of the logs themselves, and what they earned."""
        worlds = self.variants.get("worlds")
        replay = None if worlds is None or worlds.worlds is None else worlds.worlds.replay
        return None if replay is None or not replay.backtest.claims else replay.backtest

    @property
    def logged_return(self) -> Estimate | None:
        """What the logs earned over the horizon; None if they are shorter."""
        worlds = self.variants.get("worlds")
        replay = None if worlds is None or worlds.worlds is None else worlds.worlds.replay
        return None if replay is None else replay.earned

    @property
    def constraints(self) -> dict[str, ConstraintResult]:
        """What was found about every constraint, by its name."""
        return {
            constraint["name"]: ConstraintResult(
                constraint["name"],
                constraint["lower_bound"],
                tuple(VariantResult._of(variant) for variant in constraint["variants"]),
            )
            for constraint in self._document["constraints"]
        }

    @property
    def warnings(self) -> list[Warning]:
        """Every reason to doubt the bound."""
        return [Warning._of(document) for document in self._document["warnings"]]

    @property
    def calibration(self) -> dict[str, Any]:
        """The model's calibration."""
        return dict(self._document["calibration"])

    @property
    def guarantee(self) -> dict[str, Any] | None:
        """What is proven, for a model about which anything is."""
        guarantee: dict[str, Any] | None = self._document["guarantee"]
        return guarantee

    @property
    def data(self) -> dict[str, Any]:
        """Which data the model was made of."""
        return dict(self._document["data"])

    @property
    def settings(self) -> dict[str, Any]:
        """How it was evaluated."""
        return dict(self._document["settings"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self._document["seed"])

    @property
    def timings(self) -> dict[str, float]:
        """Seconds per stage."""
        return dict(self._document["timings"])

    def verdict(self, threshold: float | None = None) -> Verdict:
        """What the bound says about the return that the policy should reach, or about its improvement.

        An evaluation with a `margin` needs no threshold; with both, both must be reached.
        ``"certified"`` needs bounds that are high enough and no warning that one of them may be too high;
        with such a warning it is ``"inconclusive"``. ``"not_certified"`` is no proof of the opposite.
        """
        return _native.verdict(self.to_json(), threshold)

    def how_close(self, threshold: float) -> HowClose:
        """How much it would take for the bound to end on the other side of a threshold."""
        factors, times = _native.how_close(self.to_json(), threshold)
        tipping, factor = (None, None) if factors is None else factors
        return HowClose(tipping, factor, times)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Evaluation",
        policy: str | None = None,
        data: str | None = None,
        threshold: float | None = None,
    ) -> None:
        """Write one HTML page that stands alone: the decision first, then its evidence.

        Parameters
        ----------
        path
            The file, which is overwritten.
        title
            The page's title.
        policy, data
            What they are called.
        threshold
            The return that the policy should reach.
        """
        from datetime import date

        page = _native.report_html(
            self.to_json(),
            title=title,
            policy=policy,
            data=data,
            date=date.today().isoformat(),
            threshold=threshold,
        )
        Path(path).write_text(page, encoding="utf-8")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every variant's mean and bound with matplotlib, and return the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise SettingError("plots need matplotlib: `pip install matplotlib`") from None
        if ax is None:
            ax = plt.subplots(figsize=(6, 0.6 * len(self.variants) + 1.2))[1]
        for row, variant in enumerate(self.variants.values()):
            colour = "tab:red" if variant.is_conservative else "tab:grey"
            ax.plot([variant.lower_bound, variant.estimate.mean], [row, row], color=colour, lw=3)
            ax.plot(variant.estimate.mean, row, "o", color=colour)
            ax.plot(variant.lower_bound, row, "|", color=colour, ms=14, mew=2)
        if self.lower_bound is not None:
            ax.axvline(self.lower_bound, color="black", lw=1, ls="--", label="lower bound")
            ax.legend()
        ax.set_yticks(range(len(self.variants)), list(self.variants))
        ax.invert_yaxis()
        ax.set_xlabel("return")
        return ax

    def _headline(self) -> str:
        if self.lower_bound is None:
            return "No bound: only neutral variants ran"
        return f"The return is at least {self.lower_bound:.6g} (delta {self.delta:g})"

    @staticmethod
    def _improvement_line(found: Improvement) -> str:
        return (
            f"improvement on {found.against} ({found.baseline.mean:.6g}): "
            f"{found.estimate.mean:+.6g} by the worlds' mean, "
            f"at least {found.lower_bound:+.6g} ({found.by_separate_bounds:+.6g} by two separate bounds)"
        )

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        rows = [("variant", "bound", "mean", "converged", "outside data")]
        for variant in self.variants.values():
            estimate = variant.estimate
            converged = {None: "", True: "yes", False: "no"}[variant.converged]
            rows.append(
                (
                    variant.name,
                    f"{variant.lower_bound:.6g}" if variant.is_conservative else "neutral",
                    f"{estimate.mean:.6g} ± {estimate.std_error:.2g}",
                    converged,
                    f"{variant.outside_data:.1%}",
                )
            )
        return rows

    def __repr__(self) -> str:
        lines = [self._headline(), f"delta covers {self.delta_covers}", "", *aligned(self._rows())]
        if self.improvement is not None:
            lines += ["", self._improvement_line(self.improvement)]
        if self.backtest is not None:
            lines += ["", self.backtest.summary]
        for constraint in self.constraints.values():
            lines.append(f"constraint {constraint.name}: at least {constraint.lower_bound}")
        for warning in self.warnings:
            lines += ["", f"warning: {warning.message}", f"  {warning.help}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        warnings = "".join(f"<li>{escaped(w.message)}; <em>{escaped(w.help)}</em></li>" for w in self.warnings)
        constraints = "".join(f"<p>{escaped(c.name)}: at least {c.lower_bound}</p>" for c in self.constraints.values())
        return (
            f"<p><strong>{escaped(self._headline())}</strong><br>"
            f"delta covers {escaped(self.delta_covers)}</p>{html_table(self._rows())}{constraints}"
            + (f"<ul>{warnings}</ul>" if warnings else "")
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evaluation) and self._document == other._document

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluation._of, (self.to_json(),)

    def __copy__(self) -> Evaluation:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Evaluation:
        return Evaluation._of(self.to_json())
