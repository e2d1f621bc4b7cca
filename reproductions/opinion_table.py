"""What the field's estimators say beside the certificate, as rows, and one line per method of how good that was."""

import time
from collections import defaultdict
from statistics import fmean, median
from typing import Any

from scipy.stats import beta, spearmanr
from tidy import Row

import hambo

COLUMNS = [
    *("system", "policy", "seed", "method", "of", "truth", "logged_truth", "estimate", "limit", "abstains"),
    *("seconds",),
]


def opinions(
    common: Row, model: hambo.Model, policy: Any, data: hambo.Dataset, episodes: int, task: dict[str, Any]
) -> list[Row]:
    """One row per method; all estimators are asked at once, so that their seconds are those of all."""
    begun = time.process_time()
    # The zoo's networks are smaller than the default's.
    found = hambo.evaluate(model, policy, **task, episodes=episodes, cost_episodes=0, accept_weaker=["hidden"])
    certificate = {
        "method": "certificate",
        "of": "",
        "estimate": found.neutral.estimate.mean,
        "limit": found.lower_bound,
        "abstains": found.verdict(found.lower_bound) != "certified",
        "seconds": round(time.process_time() - begun, 2),
    }
    begun = time.process_time()
    asked = hambo.baselines(model, policy, data, **task).opinions
    seconds = round(time.process_time() - begun, 2)
    rows = [common | certificate]
    for opinion in asked:
        if opinion.method != "logged":
            limit = opinion.limits.get("student", opinion.limits.get("itself"))
            said = {"method": opinion.method, "of": opinion.of or "", "estimate": opinion.estimate, "limit": limit}
            rows.append(common | said | {"abstains": False, "seconds": seconds})
    return rows


def summary(rows: list[Row]) -> str:
    """Returns are in units of how far the policies of a system, and its logs, are apart."""
    by_method: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_method[f"{row['method']} {row['of']}".strip()].append(row)
    lines = [
        "| method | limit holds | does not abstain | of these, holds | truth less limit | rank | regret | seconds |"
    ]
    lines.append("| -- | -- | -- | -- | -- | -- | -- | -- |")
    for method, mine in sorted(by_method.items(), key=lambda item: (item[0] != "certificate", item[0])):
        kept = [row for row in mine if str(row["abstains"]) != "True"]
        gaps = [(float(row["truth"]) - float(row["limit"])) / width(row, rows) for row in kept]
        ranks, regrets = orders(mine, rows)
        lines.append(
            f"| {method} | {share(mine)} | {len(kept)} of {len(mine)} | {share(kept)} | {median(gaps):.2f} "
            f"| {fmean(ranks):.2f} | {fmean(regrets):.2f} | {median(float(row['seconds']) for row in mine):.0f} |"
        )
    return "\n".join(lines)


def width(of: Row, rows: list[Row]) -> float:
    """How far the policies of a system are apart."""
    returns = [
        float(row[column]) for row in rows if row["system"] == of["system"] for column in ("truth", "logged_truth")
    ]
    return max(max(returns) - min(returns), 1e-9)


def share(rows: list[Row]) -> str:
    """How often limits hold, with Clopper and Pearson's interval."""
    held, count = sum(float(row["limit"]) <= float(row["truth"]) + 1e-6 for row in rows), len(rows)
    low = beta.ppf(0.025, held, count - held + 1) if held else 0.0
    high = beta.ppf(0.975, held + 1, count - held) if held < count else 1.0
    return f"{100 * held / max(count, 1):.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def orders(mine: list[Row], rows: list[Row]) -> tuple[list[float], list[float]]:
    """Rank correlation of estimates and truths, and what trusting the highest estimate loses, data set by data set."""
    ranks, regrets = [], []
    for data_set in sorted({(row["system"], row["seed"]) for row in mine}):
        here = [row for row in mine if (row["system"], row["seed"]) == data_set]
        truths, estimates = [float(row["truth"]) for row in here], [float(row["estimate"]) for row in here]
        if len(set(estimates)) > 1 and len(set(truths)) > 1:
            ranks.append(float(spearmanr(truths, estimates).statistic))
        chosen = truths[estimates.index(max(estimates))]
        regrets.append((max(truths) - chosen) / width(here[0], rows))
    return ranks, regrets
