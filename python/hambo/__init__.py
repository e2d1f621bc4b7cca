"""Lower bounds on the return of a policy that nobody has run yet, from logged transitions alone.

>>> import hambo
>>> data = hambo.Dataset.open("logs.parquet")  # doctest: +SKIP
>>> model = hambo.fit(data, seed=0)  # doctest: +SKIP
>>> result = hambo.evaluate(model, policy, horizon=200, delta=0.05)  # doctest: +SKIP
>>> result.lower_bound, result.warnings  # doctest: +SKIP
"""

from . import errors, tasks
from ._dataset import Dataset, Episode
from ._evaluate import evaluate, rank
from ._evaluation import (
    ConstraintResult,
    Estimate,
    Evaluation,
    EvaluationWarning,
    Ranking,
    Trajectory,
    VariantResult,
)
from ._gymnasium import collect
from ._model import EnsembleModel, GaussianProcessModel, Model, Prediction, fit, load
from ._native import __version__
from ._progress import Progress
from ._settings import Adversary, Ensemble, Fixed, GaussianProcess, Kernel, StateBounds
from .errors import HamboError

__all__ = [
    "Adversary",
    "ConstraintResult",
    "Dataset",
    "Ensemble",
    "EnsembleModel",
    "Episode",
    "Estimate",
    "Evaluation",
    "EvaluationWarning",
    "Fixed",
    "GaussianProcess",
    "GaussianProcessModel",
    "HamboError",
    "Kernel",
    "Model",
    "Prediction",
    "Progress",
    "Ranking",
    "StateBounds",
    "Trajectory",
    "VariantResult",
    "__version__",
    "collect",
    "errors",
    "evaluate",
    "fit",
    "load",
    "rank",
    "tasks",
]
