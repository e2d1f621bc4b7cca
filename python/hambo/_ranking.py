"""Several policies, side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._effort import LABELS
from ._evaluation import Evaluation
from ._frames import frame
from ._show import headline, new_axes, verdict_word
from ._tables import aligned, escaped, html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Ranking"]


class Ranking(Mapping[str, Evaluation]):
    """Evaluations of several policies, the highest lower bound first.

    A mapping from names to evaluations, in the order of the ranking.
    """

    __slots__ = ("_evaluations", "_ranking", "_stopped")
    _ranking: dict[str, Any] | None

    def __init__(self, evaluations: Mapping[str, Evaluation], stopped: Mapping[str, str] | None = None) -> None:
        def bound(item: tuple[str, Evaluation]) -> float:
            found = item[1].lower_bound
            return float("-inf") if found is None else found

        self._evaluations = dict(sorted(evaluations.items(), key=bound, reverse=True))
        self._stopped = dict(stopped or {})
        self._ranking = None

    def __getitem__(self, name: str) -> Evaluation:
        return self._evaluations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._evaluations)

    def __len__(self) -> int:
        return len(self._evaluations)

    @property
    def best(self) -> str:
        """The name of the policy with the highest lower bound, whatever its verdict."""
        return next(iter(self._evaluations))

    @property
    def stopped(self) -> dict[str, str]:
        """Policies that were not evaluated, and who earns clearly more in every world."""
        return dict(self._stopped)

    @property
    def beats_next(self) -> dict[str, float | None]:
        """With which probability each policy is better than the next one, if the truth is one more world."""
        return self._standings("beats_next")

    @property
    def worst_tenth(self) -> dict[str, float | None]:
        """Mean return of the worst tenth of each policy's episodes, in the world that is worst for it (CVaR)."""
        return self._standings("worst_tenth")

    @property
    def among_first(self) -> dict[int, tuple[float, float]]:
        """What is lost by looking only at the first k.

        By k, the share of the worlds in which the best policy is among them, and how much less the best of them earns
        than the best of all, on average over worlds.
        """
        return {row["first"]: (row["best_is_among"], row["regret"]) for row in self._found()["among_first"]}

    def _found(self) -> dict[str, Any]:
        if self._ranking is None:
            self._ranking = json.loads(_native.ranking([found.to_json() for found in self._evaluations.values()]))
        return self._ranking

    def _standings(self, key: str) -> dict[str, float | None]:
        names = list(self._evaluations)
        return {names[standing["index"]]: standing[key] for standing in self._found()["standings"]}

    def to_json(self, *, indent: int | None = None) -> str:
        """Everything, as JSON."""
        documents = {name: found._document for name, found in self._evaluations.items()}
        return json.dumps({"evaluations": documents, "stopped": self._stopped}, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Ranking:
        """Read what `to_json` wrote."""
        document: dict[str, Any] = json.loads(text)
        found = {name: Evaluation.from_json(json.dumps(found)) for name, found in document["evaluations"].items()}
        return cls(found, document["stopped"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file."""
        Path(path).write_text(self.to_json(indent=2), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ranking:
        """Read what `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def to_frame(self) -> Any:
        """One row per policy, as a ``pandas.DataFrame``."""
        rows = []
        beats_next, worst_tenth = self.beats_next, self.worst_tenth
        for name, found in self._evaluations.items():
            neutral, opinion, better = found.neutral, found.second_opinion, found.improvement
            rows.append(
                {
                    "verdict": verdict_word(found),
                    "lower_bound": found.lower_bound,
                    "second_opinion": None if opinion is None else opinion.mean,
                    "better_by": None if better is None else better.lower_bound,
                    "neutral": None if neutral is None else neutral.estimate.mean,
                    "worst_tenth": worst_tenth[name],
                    "beats_next": beats_next[name],
                    "warnings": ", ".join(warning.code for warning in found.warnings),
                }
            )
        return frame(rows, index=list(self._evaluations))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every policy's bound, neutral mean and second opinion with matplotlib, and return the axes."""
        ax = new_axes(ax, len(self))
        for row, found in enumerate(self._evaluations.values()):
            colour = "tab:green" if verdict_word(found).startswith("CERTIFIED") else "tab:grey"
            neutral, opinion = found.neutral, found.second_opinion
            if found.lower_bound is not None:
                ax.plot(found.lower_bound, row, "|", color=colour, ms=14, mew=2)
                if neutral is not None:
                    ax.plot([found.lower_bound, neutral.estimate.mean], [row, row], color=colour, lw=3)
            if neutral is not None:
                ax.plot(neutral.estimate.mean, row, "o", color=colour)
            if opinion is not None:
                ax.plot(opinion.mean, row, "x", color="tab:blue")
        labels = [f"{name}\n{verdict_word(found)}" for name, found in self._evaluations.items()]
        ax.set_yticks(range(len(self)), labels)
        ax.invert_yaxis()
        ax.set_xlabel("return: lower bound (|), neutral mean (dot), second opinion (x)")
        ax.set_title(self._headline(), fontsize="medium", wrap=True)
        return ax

    def report(self, path: str | os.PathLike[str], *, title: str = "Ranking") -> None:
        """Write one HTML page that stands alone: the table first, then what was found about each
        policy, and what speaks against it.

        Parameters
        ----------
        path
            The file, which is overwritten.
        title
            The page's title.
        """
        from datetime import date

        documents = [(name, found.to_json()) for name, found in self._evaluations.items()]
        page = _native.ranking_html(documents, title=title, date=date.today().isoformat())
        Path(path).write_text(page, encoding="utf-8")

    def _headline(self) -> str:
        return f"highest bound: {self.best}, {headline(self[self.best])}"

    def _labels(self) -> list[str]:
        """What is said of effort, once."""
        efforts = {found.effort for found in self._evaluations.values()}
        return [label for effort, label in LABELS.items() if effort in efforts]

    def _rows(self) -> list[tuple[str, ...]]:
        compared = any(found.improvement is not None for found in self._evaluations.values())
        better = ("better by",) if compared else ()
        rows = [("policy", "verdict", "lower bound", "second opinion", *better, "neutral", "warnings")]
        for name, found in self._evaluations.items():
            neutral, improvement, opinion = found.neutral, found.improvement, found.second_opinion
            difference = "" if improvement is None else f"{improvement.lower_bound:.6g}"
            rows.append(
                (
                    name,
                    verdict_word(found),
                    "none" if found.lower_bound is None else f"{found.lower_bound:.6g}",
                    "" if opinion is None else f"{opinion.mean:.6g}",
                    *((difference,) if compared else ()),
                    "" if neutral is None else f"{neutral.estimate.mean:.6g}",
                    ", ".join(dict.fromkeys(warning.code for warning in found.warnings)),
                )
            )
        return rows

    def __repr__(self) -> str:
        return "\n".join([self._headline(), *self._labels(), "", *aligned(self._rows())])

    def _repr_html_(self) -> str:
        labels = "".join(f"<br>{escaped(label)}" for label in self._labels())
        return f"<p><strong>{escaped(self._headline())}</strong>{labels}</p>{html_table(self._rows())}"
