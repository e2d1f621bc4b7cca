"""Evaluations as text, as HTML and as plots. The verdict comes first, and every doubt is said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._effort import LABELS
from ._tables import aligned, escaped, html_table
from .errors import SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._evaluation import Evaluation
    from ._findings import Improvement

__all__ = ["as_html", "as_text", "drawn", "headline", "new_axes", "verdict_word"]

_WORDS = {"certified": "CERTIFIED", "not_certified": "NOT CERTIFIED", "inconclusive": "INCONCLUSIVE"}


def verdict_word(found: Evaluation) -> str:
    """The verdict about the threshold that the result knows, or else about its own bound."""
    if found.lower_bound is None:
        return "NO BOUND"
    word = _WORDS[found._own_verdict()]
    weaker = [w.details for w in found.warnings if w.code == "weaker_setting" and w.details.get("accepted")]
    if word != "CERTIFIED" or not weaker:
        return word
    listed = "; ".join(f"{details['setting']} = {details['value']}" for details in weaker)
    return f"{word} WITH WEAKER SETTINGS ({listed})"


def headline(found: Evaluation) -> str:
    """The verdict, the bound, how many doubts there are, and the second opinion."""
    word = verdict_word(found)
    if found.lower_bound is None:
        parts = ["only neutral variants ran"]
    else:
        parts = [f"{'at least ' if word.startswith('CERTIFIED') else ''}{found.lower_bound:.6g}"]
    if found.threshold is not None:
        parts[0] += f" (threshold {found.threshold:.6g})"
    if found.improvement is not None and found.improvement.margin is not None:
        better = found.improvement
        parts.append(f"improvement on {better.against} at least {better.lower_bound:.6g} (margin {better.margin:.6g})")
    for constraint in found.constraints.values():
        if constraint.lower_bound is not None and constraint.lower_bound < 0.0:
            parts.append(f"constraint {constraint.name} {constraint.lower_bound:.6g}")
    doubts = len(found.warnings)
    if doubts:
        parts.append(f"{doubts} warning{'s' if doubts > 1 else ''}")
    if found.second_opinion is not None:
        parts.append(f"second opinion {found.second_opinion.mean:.6g}")
    return f"{word}: {', '.join(parts)}"


def as_text(found: Evaluation) -> str:
    """Everything worth reading."""
    lines = [headline(found), *_context(found), "", *aligned(_rows(found))]
    if found.improvement is not None:
        lines += ["", _improvement_line(found.improvement)]
    if found.backtest is not None:
        lines += ["", found.backtest.summary]
    lines += [f"constraint {c.name}: at least {c.lower_bound}" for c in found.constraints.values()]
    for warning in found._doubts():
        message, help = warning.lines()
        lines += ["", f"warning: {message}", f"  {help}"]
    return "\n".join(lines)


def as_html(found: Evaluation) -> str:
    """The same for notebooks."""
    first, *others = [headline(found), *_context(found)]
    paragraphs = [] if found.improvement is None else [_improvement_line(found.improvement)]
    if found.backtest is not None:
        paragraphs.append(found.backtest.summary)
    paragraphs += [f"constraint {c.name}: at least {c.lower_bound}" for c in found.constraints.values()]
    doubts = [warning.lines() for warning in found._doubts()]
    items = "".join(f"<li>{escaped(message)}; <em>{escaped(help)}</em></li>" for message, help in doubts)
    return (
        f"<p><strong>{escaped(first)}</strong>{''.join(f'<br>{escaped(line)}' for line in others)}</p>"
        + html_table(_rows(found))
        + "".join(f"<p>{escaped(line)}</p>" for line in paragraphs)
        + (f"<ul>{items}</ul>" if items else "")
    )


def drawn(found: Evaluation, ax: Axes | None) -> Axes:
    """Every variant's mean and bound, under the headline."""
    ax = new_axes(ax, len(found.variants))
    for row, variant in enumerate(found.variants.values()):
        colour = "tab:red" if variant.is_conservative else "tab:grey"
        ax.plot([variant.lower_bound, variant.estimate.mean], [row, row], color=colour, lw=3)
        ax.plot(variant.estimate.mean, row, "o", color=colour)
        ax.plot(variant.lower_bound, row, "|", color=colour, ms=14, mew=2)
    if found.lower_bound is not None:
        ax.axvline(found.lower_bound, color="black", lw=1, ls="--", label="lower bound")
    if found.second_opinion is not None:
        ax.axvline(found.second_opinion.mean, color="tab:blue", lw=1, ls=":", label="second opinion")
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    ax.set_yticks(range(len(found.variants)), list(found.variants))
    ax.invert_yaxis()
    ax.set_xlabel("return")
    ax.set_title(headline(found), fontsize="medium", wrap=True)
    return ax


def new_axes(ax: Axes | None, rows: int) -> Axes:
    """The given axes, or new ones with room for so many rows."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise SettingError("plots need matplotlib: `pip install matplotlib`") from None
    made: Axes = plt.subplots(figsize=(6, 0.6 * rows + 1.5), layout="constrained")[1]
    return made


def _context(found: Evaluation) -> list[str]:
    """What was asked, how hard it was tried, and what delta covers."""
    task = found.task
    reward = "reward learned from the data" if task["reward"] is None else f"reward {task['reward']}"
    ends = "no termination" if task["termination"] is None else f"termination {task['termination']}"
    policy = [] if found.policy is None else [f"policy {found.policy}"]
    lines = [", ".join([*policy, f"{task['horizon']} steps", reward, ends])]
    if found.effort in LABELS:
        lines.append(LABELS[found.effort])
    return [*lines, f"delta {found.delta:g} covers {found.delta_covers}"]


def _improvement_line(found: Improvement) -> str:
    return (
        f"improvement on {found.against} ({found.baseline.mean:.6g}): "
        f"{found.estimate.mean:+.6g} by the worlds' mean, "
        f"at least {found.lower_bound:+.6g} ({found.by_separate_bounds:+.6g} by two separate bounds)"
    )


def _rows(found: Evaluation) -> list[tuple[str, str, str, str, str]]:
    rows = [("variant", "bound", "mean", "converged", "outside data")]
    for variant in found.variants.values():
        estimate = variant.estimate
        rows.append(
            (
                variant.name,
                f"{variant.lower_bound:.6g}" if variant.is_conservative else "neutral",
                f"{estimate.mean:.6g} ± {estimate.std_error:.2g}",
                {None: "", True: "yes", False: "no"}[variant.converged],
                f"{variant.outside_data:.1%}",
            )
        )
    if found.second_opinion is not None:
        opinion = found.second_opinion
        rows.append(("second opinion", "neutral", f"{opinion.mean:.6g} ± {opinion.std_error:.2g}", "", ""))
    return rows
