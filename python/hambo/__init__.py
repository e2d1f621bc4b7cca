"""Lower bounds on the return of a policy that nobody has run yet, from logged transitions alone.

Examples
--------
>>> import hambo
>>> data = hambo.Dataset.open("logs.parquet")  # doctest: +SKIP
>>> model = hambo.fit(data, seed=0)  # doctest: +SKIP
>>> result = hambo.evaluate(model, policy, horizon=200, delta=0.05)  # doctest: +SKIP
>>> result.lower_bound, result.warnings  # doctest: +SKIP
"""

# Everything is imported when it is first used: NumPy and the native library take longer than all the rest,
# and the `hambo` command needs no NumPy. Type checkers take any variable of this name to be true, and
# `typing`, which has it too, would take half of the time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import errors, tasks, trackers
    from ._backtest import backtest
    from ._baselines import baselines
    from ._dataset import Dataset, Episode
    from ._evaluate import evaluate
    from ._evaluation import Evaluation
    from ._export import export_policy
    from ._findings import (
        ConstraintResult,
        HowClose,
        Improvement,
        Place,
        Trajectory,
        VariantName,
        VariantResult,
        WorldsLimit,
    )
    from ._fit_many import fit_many
    from ._gymnasium import collect
    from ._learn import Learned, Learner, LearnRound, learn
    from ._model import EnsembleModel, GaussianProcessModel, Model, Prediction, fit, load
    from ._native import __version__
    from ._opinions import Baselines, Opinion
    from ._progress import Progress
    from ._rank import rank
    from ._ranking import Ranking
    from ._replay import Backtest, Claim, Demand, Estimate, Replay, ReplayedGroup
    from ._settings import (
        Adversary,
        BaselineSettings,
        Ensemble,
        Fixed,
        GaussianProcess,
        Kernel,
        StateBounds,
        Thresholds,
    )
    from ._threads import set_threads
    from ._warning import Warning
    from .errors import HamboError

__all__ = [
    "Adversary",
    "Backtest",
    "BaselineSettings",
    "Baselines",
    "Claim",
    "ConstraintResult",
    "Dataset",
    "Demand",
    "Ensemble",
    "EnsembleModel",
    "Episode",
    "Estimate",
    "Evaluation",
    "Fixed",
    "GaussianProcess",
    "GaussianProcessModel",
    "HamboError",
    "HowClose",
    "Improvement",
    "Kernel",
    "LearnRound",
    "Learned",
    "Learner",
    "Model",
    "Opinion",
    "Place",
    "Prediction",
    "Progress",
    "Ranking",
    "StateBounds",
    "Thresholds",
    "Replay",
    "ReplayedGroup",
    "Trajectory",
    "VariantName",
    "VariantResult",
    "WorldsLimit",
    "Warning",
    "__version__",
    "backtest",
    "baselines",
    "collect",
    "errors",
    "evaluate",
    "export_policy",
    "fit",
    "fit_many",
    "learn",
    "load",
    "rank",
    "set_threads",
    "tasks",
    "trackers",
]

_HOMES = {
    "_backtest": ("backtest",),
    "_baselines": ("baselines",),
    "_dataset": ("Dataset", "Episode"),
    "_evaluate": ("evaluate",),
    "_evaluation": ("Evaluation",),
    "_export": ("export_policy",),
    "_findings": (
        "ConstraintResult",
        "HowClose",
        "Improvement",
        "Place",
        "Trajectory",
        "VariantName",
        "VariantResult",
        "WorldsLimit",
    ),
    "_fit_many": ("fit_many",),
    "_gymnasium": ("collect",),
    "_learn": ("LearnRound", "Learned", "Learner", "learn"),
    "_model": ("EnsembleModel", "GaussianProcessModel", "Model", "Prediction", "fit", "load"),
    "_native": ("__version__",),
    "_opinions": ("Baselines", "Opinion"),
    "_progress": ("Progress",),
    "_rank": ("rank",),
    "_ranking": ("Ranking",),
    "_replay": ("Backtest", "Claim", "Demand", "Estimate", "Replay", "ReplayedGroup"),
    "_settings": (
        "Adversary",
        "BaselineSettings",
        "Ensemble",
        "Fixed",
        "GaussianProcess",
        "Kernel",
        "StateBounds",
        "Thresholds",
    ),
    "_threads": ("set_threads",),
    "_warning": ("Warning",),
    "errors": ("HamboError",),
}
"""Which module each name is from; a test holds it to the imports above."""


if not TYPE_CHECKING:
    # Type checkers see the imports above instead, and so the misspelt name.
    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in ("errors", "tasks", "trackers"):
            return import_module(f"{__name__}.{name}")
        for module, names in _HOMES.items():
            if name in names:
                found = getattr(import_module(f"{__name__}.{module}"), name)
                # So that the next look finds it without coming here.
                globals()[name] = found
                return found
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
