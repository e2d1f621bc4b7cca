"""The unit of the zoo: one data set of one system, the model fitted on it, and four policies evaluated by it."""

import hashlib
import json
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import tomllib
from system import Logs, Policy, System, make_logs, policy, true_logged_return, true_return
from systems import SYSTEMS
from tidy import Row
from truths import recorded_truths
from tuned import tuned

import hambo

SETTINGS = Path(__file__).parent / "settings.toml"
SMALLER = ["hidden"]
"""Settings of the zoo that are weaker than the defaults: how often that is wrong is what is measured."""
KINDS = ["close", "further", "tuned", "reckless"]
COLUMNS = [
    *("system", "policy", "seed", "method", "truth", "truth_error", "bound", "verdict", "reasons", "warnings"),
    *("deciding", "variants", "members", "neutral", "second_opinion", "outside_data", "converged", "rounds"),
    *("noise", "factor", "spread", "replay", "claims"),
    *("logged_truth", "improvement", "improvement_estimate", "improvement_spread", "improvement_factor"),
    *("improvement_by_separate_bounds",),
    *("logged_return", "rows", "parameters", "settings", "fit_seconds", "seconds"),
]


def read_settings() -> dict[str, Any]:
    with SETTINGS.open("rb") as file:
        return tomllib.load(file)


def digest(settings: dict[str, Any]) -> str:
    """What a row was made with: all settings except the seeds, and hambo's version."""
    made_with = {name: part for name, part in settings.items() if name != "seeds"}
    text = json.dumps([made_with, hambo.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_unit(name: str, seed: int, kinds: list[str], settings: dict[str, Any]) -> list[Row]:
    """One row per policy and method."""
    # Doubts are in the rows.
    logging.getLogger("hambo").setLevel(logging.ERROR)
    system = SYSTEMS[name]
    begun = time.monotonic()
    logs = make_logs(system, seed)
    ensemble = hambo.Ensemble(learn_reward=system.learns_reward, tables=system.names_states, **settings["ensemble"])
    model = hambo.fit(logs.dataset(system), ensemble, seed=seed, progress=False)
    fitted = time.monotonic() - begun
    rows = []
    for kind in kinds:
        if kind == "tuned":
            parameters = tuned(system, model, logs, seed, settings["tuned"])
            truth = true_return(system, parameters)
        else:
            parameters = getattr(system, kind)
            truth = recorded_truths()[name, kind]
        for method, changes in settings["methods"].items():
            row = evaluate(system, model, policy(system, parameters), seed, settings, changes)
            unit = {"system": name, "policy": kind, "seed": seed, "method": method}
            unit |= {"truth": truth[0], "truth_error": truth[1]}
            unit |= {"parameters": json.dumps(parameters), "fit_seconds": round(fitted, 2)}
            unit |= {"settings": digest(settings), "logged_truth": logged_truth(system)}
            rows.append(unit | row | about(logs))
    return rows


def logged_truth(system: System) -> float:
    """What the logs earn on average, over all data sets: every source has as many episodes as the others."""
    return float(np.mean([true_logged_return(system, source)[0] for source in system.logged]))


def about(logs: Logs) -> Row:
    return {"logged_return": float(logs.returns().mean()), "rows": len(logs.rewards)}


def evaluate(
    system: System,
    model: hambo.Model,
    policy: Policy | str,
    seed: int,
    settings: dict[str, Any],
    changes: dict[str, Any],
) -> Row:
    """What hambo says of a policy, from what the operator would tell it."""
    begun = time.monotonic()
    found = hambo.evaluate(
        model,
        policy,
        horizon=system.horizon,
        reward=None if system.learns_reward else system.reward,
        termination=system.ended if system.ends else None,
        against="logged",
        seed=seed,
        progress=False,
        accept_weaker=SMALLER,
        **settings["evaluation"],
        **changes,
    )
    improvement, backtest = found.improvement, found.backtest
    assert found.lower_bound is not None
    assert improvement is not None
    assert backtest is not None
    document = found.to_dict()
    variants = document["variants"]
    by_name = {variant["variant"]: variant for variant in variants}
    by_members = by_name.get("worlds") or by_name["dainf"]
    limit = by_members["worlds"] or {}
    replay = limit.get("replay") or {}
    trained = [variant for variant in variants if variant["converged"] is not None]
    return {
        "bound": found.lower_bound,
        "verdict": found.verdict(found.lower_bound),
        "warnings": " ".join(sorted({warning.code for warning in found.warnings})),
        "reasons": " ".join(sorted({warning["code"] for warning in document["warnings"] if warning["disqualifies"]})),
        "deciding": found.deciding,
        "variants": json.dumps(
            {
                name: [v["estimate"][part] for part in ("mean", "std_error", "independent")]
                for name, v in by_name.items()
            }
        ),
        "members": json.dumps([member["mean"] for member in by_members["members"]]),
        "neutral": (by_name.get("ds") or by_members)["estimate"]["mean"],
        "second_opinion": None if found.second_opinion is None else found.second_opinion.mean,
        "outside_data": float(np.max([variant["outside_data"] for variant in variants])),
        "converged": all(variant["converged"] for variant in trained),
        "rounds": sum(len(variant["rounds"]) for variant in trained),
        "noise": replay.get("noise"),
        "factor": limit.get("factor"),
        "spread": limit.get("spread"),
        "replay": json.dumps(replay.get("tried")),
        "claims": json.dumps([[claim.horizon, claim.claimed, claim.earned] for claim in backtest.claims]),
        "improvement": improvement.lower_bound,
        "improvement_estimate": improvement.estimate.mean,
        "improvement_spread": improvement.spread,
        "improvement_factor": improvement.factor,
        "improvement_by_separate_bounds": improvement.by_separate_bounds,
        "seconds": round(time.monotonic() - begun, 2),
    }
