"""Results: the bound, and every reason to doubt it."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._asked import of_command
from ._documents import with_arrays
from ._findings import ConstraintResult, HowClose, Improvement, VariantResult, variant_name
from ._frames import frame
from ._opinions import Baselines
from ._replay import Backtest, Estimate
from ._show import as_html, as_text, drawn
from ._warning import Warning, each_once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Evaluation"]

Verdict = Literal["certified", "not_certified", "inconclusive", "no_threshold"]

_TASK = ("reward", "termination", "initial_states", "state_bounds", "reward_bounds", "constraints")


class Evaluation:
    """What `evaluate` found. Everything in it can be had as JSON, and be made of it again."""

    __slots__ = ("_document",)
    _document: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("evaluations are made by hambo.evaluate and Evaluation.from_json")

    @classmethod
    def _of(cls, text: str, asked: Mapping[str, Any] | None = None) -> Evaluation:
        self = object.__new__(cls)
        self._document = json.loads(text)
        if asked is not None:
            self._document["asked"] = dict(asked)
        return self

    @classmethod
    def from_json(cls, text: str) -> Evaluation:
        """Read what `to_json` or the ``hambo`` command wrote (``--json``, a run's ``result.json``)."""
        checked = _native.check_evaluation(text)
        # The native library knows nothing of what only this package writes.
        document = json.loads(text)
        return cls._of(checked, document.get("asked") or of_command(document))

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
        return None if variant is None else variant_name(variant)

    @property
    def delta(self) -> float:
        """Probability with which the bound may fail."""
        return float(self._document["delta"])

    @property
    def delta_covers(self) -> str:
        """What `delta` is the probability of, in plain words."""
        return str(self._document["delta_covers"])

    @property
    def policy(self) -> str | None:
        """What the policy is called: its name, its file, or the qualified name of its function or class."""
        name: str | None = self._asked.get("policy")
        return name

    @property
    def task(self) -> dict[str, Any]:
        """What the policy was evaluated on.

        Rewards, terminations and constraints are texts: expressions and files as they were given, functions by their
        qualified names. A reward of None was learned from the data.
        """
        asked = {key: self._asked.get(key) for key in _TASK}
        plain = {key: self._document.get(key) for key in ("horizon", "discount", "floor")}
        return {**copy.deepcopy(asked), **plain}

    @property
    def effort(self) -> str | None:
        """``"quick"`` or ``"thorough"`` if the model or the evaluation was asked for with it."""
        label: str | None = self._asked.get("effort")
        return label

    @property
    def threshold(self) -> float | None:
        """The return that the policy should reach, if the command that wrote the result was told."""
        threshold: float | None = self._document.get("threshold")
        return threshold

    @property
    def _asked(self) -> dict[str, Any]:
        asked: dict[str, Any] = self._document.get("asked") or {}
        return asked

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
    def baselines(self) -> Baselines | None:
        """What the field's estimators say, if they were asked. The bound does not depend on them."""
        found = self._document.get("baselines")
        return None if found is None else Baselines._of(found)

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
        """Every reason to doubt the bound, each once: see `Warning.variants` for who raised it."""
        return each_once(self._document["warnings"], self.deciding)

    @property
    def calibration(self) -> dict[str, Any]:
        """The model's calibration."""
        return dict(with_arrays(self._document["calibration"]))

    @property
    def guarantee(self) -> dict[str, Any] | None:
        """What is proven, for a model about which anything is."""
        guarantee: dict[str, Any] | None = with_arrays(self._document["guarantee"])
        return guarantee

    @property
    def data(self) -> dict[str, Any]:
        """Which data the model was made of."""
        return dict(self._document["data"])

    @property
    def settings(self) -> dict[str, Any]:
        """How it was evaluated."""
        settings = copy.deepcopy(self._document["settings"])
        return {**settings, "variants": [variant_name(name) for name in settings["variants"]]}

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
        with such a warning it is ``"inconclusive"``. ``"not_certified"`` is no proof of the opposite. With neither a
        threshold nor a margin it is ``"no_threshold"``; what `print` shows then is the verdict about the bound itself.
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
            What they are called. Without a name for the policy it is the one in the result.
        threshold
            The return that the policy should reach.
        """
        from datetime import date

        page = _native.report_html(
            self.to_json(),
            title=title,
            policy=self.policy if policy is None else policy,
            data=data,
            date=date.today().isoformat(),
            threshold=threshold,
        )
        Path(path).write_text(page, encoding="utf-8")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every variant's mean and bound with matplotlib, and return the axes."""
        return drawn(self, ax)

    def to_frame(self) -> Any:
        """One row per variant, as a ``pandas.DataFrame``."""
        rows = [
            {
                "bound": variant.lower_bound if variant.is_conservative else None,
                "mean": variant.estimate.mean,
                "std_error": variant.estimate.std_error,
                "converged": variant.converged,
                "outside_data": variant.outside_data,
                "at_limits": variant.at_limits,
                "foreign_actions": variant.foreign_actions,
                "ended": variant.ended,
                "floored": variant.floored,
            }
            for variant in self.variants.values()
        ]
        return frame(rows, index=list(self.variants))

    def _own_verdict(self) -> Verdict:
        """About the threshold that the result knows, or else about its own bound."""
        return self.verdict(self.lower_bound if self.threshold is None else self.threshold)

    def _doubts(self) -> list[Warning]:
        """All warnings, first those that disqualify."""
        return sorted(self.warnings, key=lambda warning: not warning.disqualifies)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def _compared(self) -> dict[str, Any]:
        """All but how long it took, which is never the same twice."""
        return {key: value for key, value in self._document.items() if key != "timings"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evaluation) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(json.dumps(self._compared(), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluation._of, (self.to_json(),)

    def __copy__(self) -> Evaluation:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Evaluation:
        return Evaluation._of(self.to_json())
