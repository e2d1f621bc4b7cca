"""What the rows say: how often the gate is wrong, how often it opens when it should, and one figure of both."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta, t
from systems import SYSTEMS
from unit import KINDS

CONSERVATIVE = ["ca", "da1", "dainf"]
POWER_MARGIN = 0.2
"""Share of the spread between policies by which a threshold lies below the truth, where power is counted."""
ROUNDING = 1e-6
COLOURS = {"close": "#1b7837", "further": "#2166ac", "tuned": "#762a83", "reckless": "#b2182b"}


@dataclass(frozen=True)
class Group:
    """Replayed episodes of one source."""

    episodes: int
    bias: float
    std_error: float
    spread: float


@dataclass(frozen=True)
class Improvement:
    """What was said about how much more a policy earns than the logs."""

    truth: float
    bound: float
    by_separate_bounds: float


@dataclass(frozen=True)
class Evaluation:
    system: str
    policy: str
    seed: int
    method: str
    truth: float
    bound: float
    abstains: bool
    reasons: list[str]
    """Why it abstains."""
    variants: dict[str, tuple[float, float, int]]
    members: list[float]
    replayed: list[Group]
    """What the worlds made of the logs; empty for the paper's variants."""
    spread: float
    """Between the best and the worst policy of the system: the unit of errors."""
    narrow_spread: float
    """The same without the reckless policy, which may lie far below the others."""
    seconds: float
    improvement: Improvement | None
    """On what the logs earn; none of rows that were made before there was one."""

    @property
    def too_high(self) -> bool:
        """By more than rounding."""
        return self.bound > self.truth + ROUNDING * self.spread

    @property
    def wrong(self) -> bool:
        """Certified at its own bound, which is above the truth."""
        return self.too_high and not self.abstains

    @property
    def scaled(self) -> float:
        """The bound's distance from the truth, in spreads."""
        return (self.bound - self.truth) / self.spread

    @property
    def z(self) -> float:
        """How many standard deviations of the members the truth is from their mean."""
        return self.standardised(stdev(self.members))

    @property
    def z_with_starts(self) -> float:
        """The same if the error of the sampled episodes counts, too: all members play the same starts."""
        neutral = self.variants.get("worlds") or self.variants["ds"]
        return self.standardised(float(np.hypot(stdev(self.members), neutral[1])))

    def standardised(self, deviation: float) -> float:
        """At most 99: members may agree to the last digit."""
        return min(max((self.truth - fmean(self.members)) / max(deviation, 1e-12), -99.0), 99.0)

    def certified(self, margin: float) -> bool:
        """At a threshold that is this margin below the truth."""
        return not self.abstains and self.bound >= self.truth - margin

    def bound_at(self, delta: float) -> float:
        """The same bound for another delta; of worlds nearly, because it leaves out what skewness adds."""
        if "worlds" in self.variants:
            return self.limit_over_worlds(delta)
        limits = []
        for name, (mean, error, independent) in self.variants.items():
            if name in CONSERVATIVE:
                # A system without noise and with one start has no error.
                limits.append(mean - (t.ppf(1 - delta, independent - 1) * error if error else 0.0))
        return min(limits)

    def limit_over_worlds(self, delta: float) -> float:
        mean, error, independent = self.variants["worlds"]
        members, groups = len(self.members), self.replayed
        widening = np.sqrt(1 + 1 / members)

        def demanded(group: Group) -> float:
            bias = group.bias + t.ppf(1 - delta / len(groups), group.episodes - 1) * group.std_error
            return bias / max(widening * group.spread, 1e-12)

        factor = max([t.ppf(1 - delta, members - 1), *map(demanded, groups)])
        episodes = sum(group.episodes for group in groups)
        unresolved = np.sqrt(sum((group.episodes / episodes * group.std_error) ** 2 for group in groups))
        margins = [
            factor * widening * stdev(self.members),
            t.ppf(1 - delta, independent - 1) * error if error else 0.0,
            t.ppf(1 - delta, max(episodes - 1, 1)) * unresolved,
        ]
        return float(mean - np.sqrt(np.sum(np.square(margins))))


def groups_of(row: dict[str, str]) -> list[Group]:
    """At the noise that was chosen."""
    tried = json.loads(row.get("replay") or "null") or []
    [groups] = [each["groups"] for each in tried if each["noise"] == float(row["noise"])] or [[]]
    return [Group(*(group[name] for name in ("episodes", "bias", "std_error", "spread"))) for group in groups]


def improvement_of(row: dict[str, str]) -> Improvement | None:
    if not row.get("improvement"):
        return None
    truth = float(row["truth"]) - float(row["logged_truth"])
    return Improvement(truth, float(row["improvement"]), float(row["improvement_by_separate_bounds"]))


def read_evaluations(table: Path) -> list[Evaluation]:
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    truths: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        truths.setdefault(row["system"], {}).setdefault(row["policy"], []).append(float(row["truth"]))
    means = {system: {kind: fmean(found) for kind, found in kinds.items()} for system, kinds in truths.items()}

    def spread(system: str, kinds: list[str]) -> float:
        found = [mean for kind, mean in means[system].items() if kind in kinds]
        return max(found) - min(found)

    return [
        Evaluation(
            system=row["system"],
            policy=row["policy"],
            seed=int(row["seed"]),
            method=row["method"],
            truth=float(row["truth"]),
            bound=float(row["bound"]),
            abstains=row["verdict"] != "certified",
            reasons=row["reasons"].split(),
            variants=json.loads(row["variants"]),
            members=json.loads(row["members"]),
            replayed=groups_of(row),
            spread=spread(row["system"], KINDS),
            narrow_spread=spread(row["system"], [kind for kind in KINDS if kind != "reckless"]),
            seconds=float(row["seconds"]),
            improvement=improvement_of(row),
        )
        for row in rows
    ]


def interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's, for a share."""
    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, count, total - count + 1)) if count else 0.0
    high = float(beta.ppf(1 - tail, count + 1, total - count)) if count < total else 1.0
    return low, high


def share(found: Iterable[bool]) -> str:
    """So many of so many, the share, and its interval in per cent."""
    flags = list(found)
    if not flags:
        return "none"
    low, high = interval(sum(flags), len(flags))
    return f"{sum(flags)}/{len(flags)} = {sum(flags) / len(flags):.0%} [{100 * low:.0f}, {100 * high:.0f}]"


def quantiles(values: Iterable[float]) -> str:
    """The median, and the range of the middle 80 %."""
    low, middle, high = np.quantile(list(values), [0.1, 0.5, 0.9])
    return f"{middle:+.2f} [{low:+.2f}, {high:+.2f}]"


def line(name: str, found: list[Evaluation]) -> str:
    close = [row for row in found if row.policy == "close"]
    cells = [
        name,
        share(row.wrong for row in found),
        share(row.too_high for row in found if not row.abstains),
        share(row.too_high for row in found),
        share(row.abstains for row in found),
        share(row.certified(POWER_MARGIN * row.spread) for row in close),
        share(row.certified(POWER_MARGIN * row.narrow_spread) for row in close),
        quantiles(row.scaled for row in found),
        quantiles(row.z for row in found),
        quantiles(row.z_with_starts for row in found),
        f"{fmean(row.seconds for row in found):.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def table(title: str, groups: dict[str, list[Evaluation]]) -> list[str]:
    head = [title, "wrong certificates", "of those certified", "bounds above the truth", "abstentions"]
    head += ["power, close policies", "power, narrow", "(bound - truth) / spread", "z", "z with starts", "seconds"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + [line(name, found) for name, found in groups.items() if found]


def where(evaluations: list[Evaluation], chosen: Callable[[Evaluation], bool]) -> list[Evaluation]:
    return [row for row in evaluations if chosen(row)]


def methods_of(evaluations: list[Evaluation]) -> list[str]:
    """The default first."""
    return sorted({row.method for row in evaluations}, key=lambda method: (method != "default", method))


def scoreboard(evaluations: list[Evaluation]) -> str:
    methods = methods_of(evaluations)
    seeds = sorted({row.seed for row in evaluations})
    systems = [name for name in SYSTEMS if any(row.system == name for row in evaluations)]
    units = len({(row.system, row.policy, row.seed) for row in evaluations})
    lines = [
        "# How often is the gate wrong?",
        "",
        f"{len(systems)} systems, {len(KINDS)} policies each, seeds {seeds[0]} to {seeds[-1]}: {units} units of a",
        "system, a policy and a data set. Made by `reproductions/zoo/run`.",
        "",
        "- **wrong certificates**: CERTIFIED at its own bound although that is above the true return; should",
        "  be at most delta = 5 %. Counted among all evaluations, then among those that were certified.",
        "- **abstentions**: INCONCLUSIVE at its own bound, because of a warning.",
        f"- **power**: certified at the truth minus {POWER_MARGIN:.0%} of the spread between the system's best and",
        "  worst policy; narrow: the spread without the reckless policy.",
        "- **z** = (truth - mean of the members) / their standard deviation: centred at 0 with spread 1 if",
        "  members were draws of the truth; with starts: the error of the sampled episodes counts, too. Of z",
        "  and of the scaled bound: median [10 %, 90 %].",
        "- Intervals are Clopper and Pearson's at 95 %, in per cent. The four policies of a data set share its",
        "  model, so intervals over several policies are too narrow.",
        "",
    ]
    for method in methods:
        mine = where(evaluations, lambda row, method=method: row.method == method)
        lines += [f"## {'The default' if method == 'default' else method}", ""]
        kinds = {kind: where(mine, lambda row, kind=kind: row.policy == kind) for kind in KINDS}
        lines += [*table("policies", {**kinds, "**all**": mine}), ""]
        by_system = {name: where(mine, lambda row, name=name: row.system == name) for name in systems}
        lines += [*table("system", by_system), ""]
        data_sets = {(row.system, row.seed) for row in mine}
        wrong = {(row.system, row.seed) for row in mine if row.wrong}
        lines += [f"Data sets with a wrong certificate: {share(data_set in wrong for data_set in data_sets)}.", ""]
        counted = Counter(code for row in mine for code in row.reasons)
        reasons = ", ".join(f"`{code}` {count}" for code, count in counted.most_common())
        lines += [f"Why evaluations abstain (several reasons are possible): {reasons or 'none does'}.", ""]
        lines += improvements(mine)
    return "\n".join(lines)


def improvements(evaluations: list[Evaluation]) -> list[str]:
    """How often bounds on improvements are wrong, and how many policies they certify as better than the logs."""
    found = [row for row in evaluations if row.improvement is not None and not row.abstains]
    if not found:
        return []

    def line(name: str, bound: Callable[[Improvement], float], mine: list[Evaluation]) -> str:
        compared = [(row.improvement, row.spread) for row in mine if row.improvement is not None]
        better = [improvement for improvement, _ in compared if improvement.truth > 0]
        cells = [
            name,
            share(bound(improvement) > improvement.truth + ROUNDING * spread for improvement, spread in compared),
            share(bound(improvement) >= 0 for improvement in better),
            share(improvement.truth < 0 for improvement, _ in compared if bound(improvement) >= 0),
            quantiles((bound(improvement) - improvement.truth) / spread for improvement, spread in compared),
        ]
        return "| " + " | ".join(cells) + " |"

    head = ["bound", "above the true improvement", "certified as better, of those that are"]
    head += ["worse, of those certified as better", "(bound - truth) / spread"]
    lines = ["## Improvement on what the logs earned", ""]
    lines += [f"Of the {len(found)} evaluations that do not abstain and were compared.", ""]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines.append(line("paired, in the same worlds", lambda each: each.bound, found))
    lines.append(line("two separate bounds", lambda each: each.by_separate_bounds, found))
    for name in SYSTEMS:
        mine = [row for row in found if row.system == name]
        if mine:
            lines.append(line(f"`{name}`, paired", lambda each: each.bound, mine))
    return [*lines, ""]


def wrong_share(found: list[Evaluation], delta: float) -> float:
    """The share that is certified wrongly for another delta, if the same evaluations abstain."""
    return fmean(not row.abstains and row.bound_at(delta) > row.truth + ROUNDING * row.spread for row in found)


def figure(evaluations: list[Evaluation], path: Path) -> None:
    """Left: wrong deployments against delta. Right: certified policies against the margin. A row per method."""
    methods = methods_of(evaluations)
    drawn, all_axes = plt.subplots(
        len(methods), 2, figsize=(9, 3.6 * len(methods)), squeeze=False, layout="constrained", sharex="col"
    )
    deltas, margins = np.geomspace(0.005, 0.3, 25), np.linspace(0, 1, 41)
    for (left, right), method in zip(all_axes, methods, strict=True):
        for kind in KINDS:
            found = where(evaluations, lambda row, kind=kind, method=method: (row.policy, row.method) == (kind, method))
            style = {"color": COLOURS[kind], "label": kind, "lw": 2}
            left.plot(deltas, [100 * wrong_share(found, delta) for delta in deltas], **style)
            shares = [100 * fmean(row.certified(margin * row.spread) for row in found) for margin in margins]
            right.plot(100 * margins, shares, **style)
        sure = where(evaluations, lambda row, method=method: row.method == method and not row.abstains)
        if sure:
            shares = [100 * wrong_share(sure, delta) for delta in deltas]
            left.plot(deltas, shares, color="#777777", lw=2, ls=":", label="of those certified")
        left.plot(deltas, 100 * deltas, color="black", lw=1, ls="--", label="promised")
        named = "default" if method == "default" else method
        left.set(title=f"Wrongly certified, {named}", ylabel="% of policies", xscale="log", ylim=(0, None))
        right.set(title=f"Certified, {named}", ylabel="% of policies", ylim=(0, 100))
        left.legend(frameon=False, fontsize=8)
    all_axes[-1][0].set_xlabel("delta, the share that may be wrong")
    all_axes[-1][0].set_xticks([0.005, 0.01, 0.05, 0.1, 0.3], ["0.5 %", "1 %", "5 %", "10 %", "30 %"])
    all_axes[-1][1].set_xlabel("margin below the truth, % of the spread")
    drawn.savefig(path)
    plt.close(drawn)


def write_scoreboard(out: Path) -> None:
    evaluations = read_evaluations(out / "evaluations.csv")
    text = scoreboard(evaluations)
    (out / "scoreboard.md").write_text(text, encoding="utf-8")
    figure(evaluations, out / "rates.svg")
    print(text)
