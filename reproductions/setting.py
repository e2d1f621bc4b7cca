"""One setting of the benchmark: data, a model fitted on it, and an evaluation of one policy."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from data import transitions
from environments import ENVIRONMENTS, Checkpoint
from returns import recorded

import hambo


@dataclass(frozen=True)
class Effort:
    """How much is spent on a setting."""

    ensemble: dict[str, object]
    adversary: hambo.Adversary
    episodes: int


# Adversaries in rounds of half the length and with a quarter of the batch, and 2,000 instead of 10,000 episodes,
# to save time: a standard error of 1.5 % of the return on Pendulum. What it costs is in FINDINGS.md.
FULL = Effort({}, hambo.Adversary(batch_size=256, episodes=500, gradient_steps=500), 2_000)
QUICK = Effort(
    {"hidden": [64, 64], "max_steps": 2_000},
    hambo.Adversary(hidden=[64, 64], batch_size=256, episodes=200, gradient_steps=200, max_rounds=10),
    1_000,
)


# T = 200 over n, n = 10^5 over T; one seed after the other, so that a stopped run has every setting.
PAPER = [
    ("pendulum", "mixed", 10_000, 200),
    ("pendulum", "mixed", 100_000, 200),
    ("hopper", "mixed", 10_000, 200),
    ("hopper", "mixed", 100_000, 200),
    ("halfcheetah", "mixed", 100_000, 100),
    ("halfcheetah", "single", 100_000, 100),
    ("pendulum", "mixed", 100_000, 100),
    ("pendulum", "mixed", 100_000, 400),
    ("hopper", "mixed", 100_000, 100),
    ("hopper", "mixed", 100_000, 400),
    ("halfcheetah", "mixed", 100_000, 150),
    ("pendulum", "mixed", 1_000_000, 200),
    ("hopper", "mixed", 1_000_000, 200),
    ("halfcheetah", "mixed", 1_000_000, 100),
    ("halfcheetah", "single", 1_000_000, 100),
]


@dataclass(frozen=True)
class Setting:
    environment: str
    data: str
    rows: int
    horizon: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.environment}-{self.data}-{self.rows}-T{self.horizon}-seed{self.seed}"

    @property
    def model(self) -> str:
        return f"{self.environment}-{self.data}-{self.rows}-seed{self.seed}"


def now_and_then(name: str, seconds: float = 60.0) -> Callable[[hambo.Progress], None]:
    """Says once a minute how far a setting is."""
    last = time.monotonic()

    def say(progress: hambo.Progress) -> None:
        nonlocal last
        if time.monotonic() - last < seconds:
            return
        last = time.monotonic()
        seen = "" if progress.metric is None else f", {progress.metric[0]} {progress.metric[1]:.4g}"
        print(f"{name}: {progress.stage}, {progress.step} of at most {progress.of}{seen}", flush=True)

    return say


def effort_for(setting: Setting, effort: Effort) -> Effort:
    """Longer fits where there are many transitions and the environment needs them."""
    steps = ENVIRONMENTS[setting.environment].steps_for_many
    return replace(effort, ensemble={"max_steps": steps}) if setting.rows >= 100_000 and steps else effort


def paper_model(setting: Setting, effort: Effort, models: Path) -> hambo.Model:
    """Fitted as in the paper."""
    environment = ENVIRONMENTS[setting.environment]
    ensemble = hambo.Ensemble.paper(
        prior_temperature=environment.prior_temperature,
        learn_reward=environment.reward is None,
        **effort_for(setting, effort).ensemble,
    )
    return fitted_model(setting, ensemble, models)


def default_model(setting: Setting, models: Path) -> hambo.Model:
    """Fitted as by default; the logs name the checkpoint that acted."""
    ensemble = hambo.Ensemble(learn_reward=ENVIRONMENTS[setting.environment].reward is None)
    return fitted_model(setting, ensemble, models, source="source")


def fitted_model(setting: Setting, ensemble: hambo.Ensemble, models: Path, source: str | None = None) -> hambo.Model:
    """The model of a setting's data, which is kept in `models`."""
    folder = models / setting.model
    if folder.exists():
        return hambo.load(folder)
    logs = transitions(ENVIRONMENTS[setting.environment], setting.data, setting.rows, setting.seed)
    data = hambo.Dataset.from_arrow(logs, source_column=source)
    model = hambo.fit(data, ensemble, seed=setting.seed, progress=now_and_then(setting.name))
    model.save(folder)
    return model


def initial_states(setting: Setting) -> np.ndarray:
    return ENVIRONMENTS[setting.environment].initial_states(10_000, seed=1_000 + setting.seed)


def judged(
    model: hambo.Model,
    setting: Setting,
    policy: Checkpoint,
    starts: np.ndarray,
    effort: Effort,
    variants: list[str],
    **options: Any,
) -> hambo.Evaluation:
    """What the model says of a policy."""
    environment = ENVIRONMENTS[setting.environment]
    return hambo.evaluate(
        model,
        str(environment.policy(policy)),
        horizon=setting.horizon,
        reward=environment.reward,
        termination=environment.termination,
        state_bounds=environment.state_bounds,
        initial_states=starts,
        variants=variants,
        episodes=effort.episodes,
        adversary=effort.adversary,
        seed=setting.seed,
        progress=now_and_then(f"{setting.name}, {policy}"),
        **options,
    )


def evaluate(setting: Setting, effort: Effort, models: Path, variants: list[str]) -> dict[str, object]:
    environment = ENVIRONMENTS[setting.environment]
    begun = time.monotonic()
    model = paper_model(setting, effort, models)
    fitted = time.monotonic()
    starts = initial_states(setting)
    result = judged(model, setting, environment.evaluated, starts, effort, variants, preset="paper")
    mean, error = recorded()[environment.name, environment.evaluated, setting.horizon]
    return {
        "setting": {**vars(setting)},
        "true_return": {"mean": mean, "std_error": error},
        "seconds": {"data and fit": fitted - begun, "evaluation": time.monotonic() - fitted},
        "evaluation": result.to_dict(),
    }
