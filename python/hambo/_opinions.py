"""What the field's estimators say of a policy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from ._frames import frame

__all__ = ["Baselines", "Opinion"]


@dataclasses.dataclass(frozen=True)
class Opinion:
    """What one estimator says."""

    method: str
    """Such as ``"fqe"``, ``"mopo"`` or ``"dr"``."""
    of: str | None
    """Which of several: a source of logs, or a weight on the penalty."""
    estimate: float
    """Its estimate of the return."""
    std_error: float | None
    limits: dict[str, float]
    """Lower limits at 1 - delta by how they were found: student, bernstein, bootstrap, or the estimate itself."""
    effective_episodes: float | None
    """How many equally weighted episodes would say as much; for weighed episodes only."""
    largest_share: float | None
    """Share of all weight that the largest has."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Opinion:
        limits = {limit["by"]: limit["lower"] for limit in document["limits"]}
        return cls(**{**document, "limits": limits})


class Baselines:
    """What the field's estimators say. None of it decides anything."""

    __slots__ = ("_document",)
    _document: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("opinions are asked for by hambo.baselines and hambo.evaluate(baselines=True)")

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Baselines:
        self = object.__new__(cls)
        self._document = dict(document)
        return self

    @property
    def opinions(self) -> list[Opinion]:
        """What each says."""
        return [Opinion._of(opinion) for opinion in self._document["opinions"]]

    def __getitem__(self, method: str) -> Opinion:
        """What one estimator says, the first if there are several."""
        for opinion in self.opinions:
            if opinion.method == method:
                return opinion
        why = [unsaid["why"] for unsaid in self._document["unsaid"] if method in unsaid["methods"]]
        known = sorted({opinion.method for opinion in self.opinions})
        raise KeyError(why[0] if why else f"{method!r} is none of {', '.join(known)}")

    @property
    def unsaid(self) -> dict[str, str]:
        """Why some estimators say nothing."""
        return {method: unsaid["why"] for unsaid in self._document["unsaid"] for method in unsaid["methods"]}

    @property
    def delta(self) -> float:
        """Probability with which each limit may fail."""
        return float(self._document["delta"])

    @property
    def episodes(self) -> int:
        """Logged episodes that last for the horizon, and are averaged or weighed."""
        return int(self._document["episodes"])

    @property
    def left_out(self) -> int:
        """Logged episodes that are too short, or whose beginning is not shown."""
        return int(self._document["left_out"])

    @property
    def estimated_probabilities(self) -> bool:
        """Whether the probabilities of logged actions were estimated: what is weighed is then as wrong as these."""
        return bool(self._document.get("estimated_probabilities", False))

    @property
    def penalty(self) -> dict[str, Any] | None:
        """Which weight on MOPO's penalty the logs would have asked for: ``needed``, ``worst`` and ``chosen``."""
        found: dict[str, Any] | None = self._document["penalty"]
        return None if found is None else dict(found)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        copied: dict[str, Any] = json.loads(json.dumps(self._document))
        return copied

    def to_frame(self) -> Any:
        """One row per opinion, as a ``pandas.DataFrame``."""
        rows = []
        for opinion in self.opinions:
            row = dataclasses.asdict(opinion)
            limits = row.pop("limits")
            rows.append({**row, **{by: limits.get(by) for by in ("student", "bernstein", "bootstrap", "itself")}})
        return frame(rows)

    def __repr__(self) -> str:
        said = ", ".join(
            f"{o.method if o.of is None else f'{o.method} ({o.of})'} {o.estimate:.4g}" for o in self.opinions
        )
        return f"Baselines({said})"
