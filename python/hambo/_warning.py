"""Reasons to doubt a bound, each said once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ._findings import variant_name

__all__ = ["Warning"]

_PLACES = {
    "evaluation.thresholds": "Thresholds",
    "evaluation.adversary": "Adversary",
    "evaluation": "evaluate",
    "task": "evaluate",
    "model.ensemble": "Ensemble",
    "model.gp": "GaussianProcess",
    "model": "fit",
}
"""Where the sections of ``hambo.toml`` are in this package."""


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
    variants: tuple[str, ...] = ()
    """The variants that it is about, first the one of the message; empty if it is about none of them."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Warning:
        details = dict(document)
        texts = {key: details.pop(key) for key in ("code", "message", "help", "disqualifies")}
        variants: tuple[str, ...] = ()
        if details.get("variant") is not None:
            details["variant"] = variant_name(details["variant"])
            variants = (details["variant"],)
        return cls(setting=details.pop("governed_by"), details=details, variants=variants, **texts)

    @property
    def argument(self) -> str | None:
        """The same setting as it is written in Python, such as ``"evaluate(termination=...)"``."""
        if self.setting is None:
            return None
        section, _, name = self.setting.rpartition(".")
        return f"{_PLACES.get(section, section)}({name}=...)"

    def lines(self) -> tuple[str, str]:
        """What is doubted, and what to try next."""
        also = f" (also {', '.join(self.variants[1:])})" if len(self.variants) > 1 else ""
        # To loosen a threshold is no way to a better bound.
        is_advice = self.argument is not None and not self.argument.startswith("Thresholds")
        where = f"; see {self.argument}" if is_advice else ""
        return f"{self.message}{also}", f"{self.help}{where}"

    def __str__(self) -> str:
        return "; ".join(self.lines())


def each_once(documents: Sequence[Mapping[str, Any]], deciding: str | None) -> list[Warning]:
    """One warning per doubt: what several variants raise is said once, by the one that decides if it is among them."""
    groups: dict[object, list[Warning]] = {}
    for number, document in enumerate(documents):
        warning = Warning._of(document)
        # Doubts about no variant differ in what they are about, such as a column or a setting.
        key = (warning.code, warning.details.get("objective")) if warning.variants else number
        groups.setdefault(key, []).append(warning)
    return [_merged(group, deciding) for group in groups.values()]


def _merged(group: list[Warning], deciding: str | None) -> Warning:
    first, *others = sorted(group, key=lambda warning: (warning.variants != (deciding,), not warning.disqualifies))
    if not others:
        return first
    names = tuple(name for warning in (first, *others) for name in warning.variants)
    return dataclasses.replace(first, variants=names, disqualifies=any(warning.disqualifies for warning in group))
