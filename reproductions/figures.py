"""Figures of the record's page, from its tables: how tight, in which order, how long.

    python reproductions/figures.py        # writes results/record/*.svg

The figure of error rates is the zoo's own, `zoo/rates.svg`. Needs matplotlib.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from page import RECORD, by_system, gap, is_above, is_certified, is_wrong, units
from tidy import Row

# Equal tables give equal files.
matplotlib.rcParams["svg.hashsalt"] = "hambo"
CERTIFIED, ABSTAINED, WRONG = "#2166ac", "#999999", "#b2182b"


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(RECORD / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def tightness(parts: dict[str, list[Row]]) -> None:
    """One line per system, one point per policy and data set; what is far below is drawn at the edge."""
    systems = by_system(parts)
    figure, axes = plt.subplots(figsize=(8, 0.28 * len(systems) + 1.2), layout="constrained")
    for place, rows in enumerate(reversed(systems.values())):
        for number, row in enumerate(rows):
            colour = WRONG if is_wrong(row) else CERTIFIED if is_certified(row) else ABSTAINED
            height = place + 0.5 * (number / len(rows) - 0.5)
            axes.plot(max(gap(row), -2), height, "o", ms=3.5, color=colour, mfc=colour if is_certified(row) else "none")
    axes.axvline(0, color="black", lw=1, ls="--")
    axes.set_yticks(range(len(systems)), [system for _, system in reversed(systems)], fontsize=8)
    axes.set(xlabel="(bound - truth) / spread between policies; at -2 also what is below", xlim=(-2.1, None))
    labels = {"certified": (CERTIFIED, CERTIFIED), "abstained": (ABSTAINED, "none"), "certified, wrong": (WRONG, WRONG)}
    marks = [plt.Line2D([], [], marker="o", ls="", color=colour, mfc=fill) for colour, fill in labels.values()]
    figure.legend(marks, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    save(figure, "tightness")


def order(rows: list[Row]) -> None:
    """Bounds over true returns, one panel per environment and size."""
    systems = by_system({"units": rows})
    figure, all_axes = plt.subplots(
        1, len(systems), figsize=(3.2 * len(systems), 3.2), squeeze=False, layout="constrained"
    )
    for axes, ((_, name), mine) in zip(all_axes[0], systems.items(), strict=True):
        truths = [float(row["truth"]) for row in mine]
        low, high = min(truths), max(truths)
        axes.plot([low, high], [low, high], color="black", lw=1, ls="--")
        for row in mine:
            colour = WRONG if is_above(row) else CERTIFIED if is_certified(row) else ABSTAINED
            shown = max(float(row["bound"]), low - (high - low))
            axes.plot(float(row["truth"]), shown, "o", ms=4, color=colour, mfc=colour if is_certified(row) else "none")
        axes.set(title=name, xlabel="true return")
        axes.title.set_fontsize(9)
    all_axes[0][0].set_ylabel("bound")
    save(figure, "order")


def speed(parts: dict[str, list[Row]]) -> None:
    """Seconds of one thread."""
    systems = by_system({name: rows for name, rows in parts.items() if name in ("zoo", "units")})
    figure, all_axes = plt.subplots(1, 2, figsize=(8, 0.24 * len(systems) + 1.2), sharey=True, layout="constrained")
    for axes, (column, title) in zip(all_axes, {"fit_seconds": "fit", "seconds": "evaluation"}.items(), strict=True):
        values = [[float(row[column]) for row in rows] for rows in reversed(systems.values())]
        axes.boxplot(
            values, orientation="horizontal", widths=0.6, flierprops={"ms": 3}, medianprops={"color": CERTIFIED}
        )
        axes.set(title=title, xlabel="seconds, one thread", xscale="log")
    all_axes[0].set_yticks(range(1, len(systems) + 1), [system for _, system in reversed(systems)], fontsize=8)
    save(figure, "speed")


def main() -> None:
    parts = units()
    if parts:
        tightness(parts)
        speed(parts)
    if "units" in parts:
        order(parts["units"])


if __name__ == "__main__":
    main()
