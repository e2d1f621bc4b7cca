"""Results for the trackers of experiments: MLflow, Weights & Biases, TensorBoard.

Each function takes a finished result and passes on the same numbers: ``lower_bound``, ``neutral``, ``second_opinion``,
``better_by`` if there is a baseline, ``certified`` (1 or 0), and ``doubts``, the number of warnings that forbid a
certificate.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._evaluation import Evaluation
from .errors import SettingError

if TYPE_CHECKING:
    from mlflow.models import EvaluationResult

__all__ = ["numbers", "to_mlflow", "to_tensorboard", "to_wandb"]


def numbers(result: Evaluation, *, threshold: float | None = None) -> dict[str, float]:
    """What all trackers are told. Without a threshold and a margin, nothing is certified and nothing is not."""
    verdict = result.verdict(threshold)
    found = {
        "lower_bound": result.lower_bound,
        "neutral": None if result.neutral is None else result.neutral.estimate.mean,
        "second_opinion": None if result.second_opinion is None else result.second_opinion.mean,
        "better_by": None if result.improvement is None else result.improvement.lower_bound,
        "certified": None if verdict == "no_threshold" else float(verdict == "certified"),
        "doubts": float(sum(warning.disqualifies for warning in result.warnings)),
    }
    return {name: value for name, value in found.items() if value is not None}


def to_mlflow(result: Evaluation, *, threshold: float | None = None, prefix: str = "hambo/") -> EvaluationResult:
    """Log to MLflow's active run, or to a new one, and return what ``mlflow.validate_evaluation_results`` takes.

    Parameters
    ----------
    result
        A finished evaluation. Its report and its JSON document are logged as artifacts.
    threshold
        The return that the policy should reach.
    prefix
        What the names of metrics and artifacts begin with.
    """
    try:
        import mlflow
        from mlflow.models import EvaluationResult
        from mlflow.models.evaluation.artifacts import JsonEvaluationArtifact
    except ImportError:
        raise SettingError("this needs MLflow: `pip install mlflow`") from None
    metrics = {f"{prefix}{name}": value for name, value in numbers(result, threshold=threshold).items()}
    mlflow.log_metrics(metrics)
    mlflow.log_text(_page(result, threshold), f"{prefix}report.html")
    file = f"{prefix}result.json"
    mlflow.log_text(result.to_json(indent=2), file)
    artifact = JsonEvaluationArtifact(uri=mlflow.get_artifact_uri(file), content=result.to_dict())
    return EvaluationResult(metrics=metrics, artifacts={file: artifact})


def to_wandb(result: Evaluation, run: Any, *, threshold: float | None = None, prefix: str = "hambo/") -> None:
    """Log to a run of Weights & Biases, its report among the media.

    Parameters
    ----------
    result
        A finished evaluation.
    run
        What ``wandb.init`` returned.
    threshold, prefix
        As for `to_mlflow`.
    """
    try:
        import wandb
    except ImportError:
        raise SettingError("this needs Weights & Biases: `pip install wandb`") from None
    logged: dict[str, Any] = {f"{prefix}{name}": value for name, value in numbers(result, threshold=threshold).items()}
    run.log(logged | {f"{prefix}report": wandb.Html(_page(result, threshold), inject=False)})


def to_tensorboard(
    result: Evaluation,
    writer: Any,
    step: int | None = None,
    *,
    threshold: float | None = None,
    prefix: str = "hambo/",
) -> None:
    """Write scalars, and the result as text.

    Parameters
    ----------
    result
        A finished evaluation.
    writer
        A ``SummaryWriter`` of PyTorch or of tensorboardX.
    step
        Of the training that made the policy, for instance.
    threshold, prefix
        As for `to_mlflow`.
    """
    for name, value in numbers(result, threshold=threshold).items():
        writer.add_scalar(f"{prefix}{name}", value, step)
    lines = repr(result).splitlines()
    writer.add_text(f"{prefix}result", "\n".join(f"    {line}" for line in lines), step)


def _page(result: Evaluation, threshold: float | None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        result.report(file, threshold=threshold)
        return file.read_text(encoding="utf-8")
