"""Results in the trackers of experiments, logged and read back by the real packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hambo
from hambo import trackers

from .conftest import QUICK, still


@pytest.fixture(scope="module")
def result(model: hambo.Model) -> hambo.Evaluation:
    return hambo.evaluate(model, still, **QUICK)


def test_numbers_tell_of_a_verdict_only_if_something_was_asked(result: hambo.Evaluation) -> None:
    assert result.lower_bound is not None and result.neutral is not None
    found = trackers.numbers(result)
    assert found["lower_bound"] == result.lower_bound and found["neutral"] == result.neutral.estimate.mean
    assert "certified" not in found and "better_by" not in found
    assert trackers.numbers(result, threshold=result.lower_bound + 1)["certified"] == 0.0
    assert found["doubts"] == sum(warning.disqualifies for warning in result.warnings)


def test_mlflow_validates_a_bound(result: hambo.Evaluation, tmp_path: Path) -> None:
    mlflow: Any = pytest.importorskip("mlflow")
    from mlflow.models import MetricThreshold

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.create_experiment("policies", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("policies")
    with mlflow.start_run() as run:
        found = trackers.to_mlflow(result, threshold=result.lower_bound)
    read = mlflow.get_run(run.info.run_id).data.metrics
    logged = trackers.numbers(result, threshold=result.lower_bound)
    assert read == {f"hambo/{name}": value for name, value in logged.items()}
    text = mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/hambo/result.json")
    assert hambo.Evaluation.from_json(text) == result
    assert "<html" in mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/hambo/report.html")
    bound = result.lower_bound
    assert bound is not None

    def validate(threshold: float) -> None:
        wanted = {"hambo/lower_bound": MetricThreshold(threshold=threshold, greater_is_better=True)}
        mlflow.validate_evaluation_results(validation_thresholds=wanted, candidate_result=found)

    validate(bound - 1)
    with pytest.raises(mlflow.exceptions.MlflowException):
        validate(bound + 1)


def test_wandb_keeps_numbers_and_the_report_offline(
    result: hambo.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb: Any = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(project="policies", mode="offline", dir=str(tmp_path)) as run:
        trackers.to_wandb(result, run)
        folder = Path(run.dir)
        assert run.summary["hambo/lower_bound"] == result.lower_bound
    (page,) = folder.glob("media/html/hambo/report*.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_tensorboard_shows_scalars_at_their_step(result: hambo.Evaluation, tmp_path: Path) -> None:
    writers: Any = pytest.importorskip("tensorboardX")
    events: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with writers.SummaryWriter(str(tmp_path)) as writer:
        trackers.to_tensorboard(result, writer, 7)
    read = events.EventAccumulator(str(tmp_path))
    read.Reload()
    (scalar,) = read.Scalars("hambo/lower_bound")
    assert scalar.step == 7 and scalar.value == pytest.approx(result.lower_bound, rel=1e-6)
    assert any("hambo/result" in tag for tag in read.Tags()["tensors"])
