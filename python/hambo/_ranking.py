"""Several policies, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ._evaluation import Evaluation
from ._tables import aligned, html_table

__all__ = ["Ranking"]


class Ranking(Mapping[str, Evaluation]):
    """Evaluations of several policies, the highest lower bound first.

    A mapping from names to evaluations, in the order of the ranking.
    """

    __slots__ = ("_evaluations",)

    def __init__(self, evaluations: Mapping[str, Evaluation]) -> None:
        def bound(item: tuple[str, Evaluation]) -> float:
            found = item[1].lower_bound
            return float("-inf") if found is None else found

        self._evaluations = dict(sorted(evaluations.items(), key=bound, reverse=True))

    def __getitem__(self, name: str) -> Evaluation:
        return self._evaluations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._evaluations)

    def __len__(self) -> int:
        return len(self._evaluations)

    @property
    def best(self) -> str:
        """The name of the policy with the highest lower bound."""
        return next(iter(self._evaluations))

    def to_json(self, *, indent: int | None = None) -> str:
        """Everything, as JSON."""
        documents = {name: found._document for name, found in self._evaluations.items()}
        return json.dumps(documents, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Ranking:
        """Read what `to_json` wrote."""
        documents: dict[str, Any] = json.loads(text)
        return cls({name: Evaluation.from_json(json.dumps(found)) for name, found in documents.items()})

    def _rows(self) -> list[tuple[str, ...]]:
        compared = any(found.improvement is not None for found in self._evaluations.values())
        rows = [("policy", "lower bound", *(("better by",) if compared else ()), "neutral", "warnings")]
        for name, found in self._evaluations.items():
            neutral, improvement = found.neutral, found.improvement
            better = "" if improvement is None else f"{improvement.lower_bound:.6g}"
            rows.append(
                (
                    name,
                    "none" if found.lower_bound is None else f"{found.lower_bound:.6g}",
                    *((better,) if compared else ()),
                    "" if neutral is None else f"{neutral.estimate.mean:.6g}",
                    str(len(found.warnings)),
                )
            )
        return rows

    def __repr__(self) -> str:
        return "\n".join(aligned(self._rows()))

    def _repr_html_(self) -> str:
        return html_table(self._rows())
