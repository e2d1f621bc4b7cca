from __future__ import annotations

import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo import _native
from hambo._effort import ROLLOUTS

from .conftest import QUICK, TINY, still


def test_defaults_are_those_of_the_rust_library() -> None:
    rust = json.loads(_native.default_settings())
    assert hambo.Ensemble()._document() == rust["model"]["ensemble"]
    assert hambo.GaussianProcess()._document() == rust["gp"]
    assert hambo.Thresholds()._document() == rust["evaluation"]["thresholds"]
    # float32 on one side.
    adversary = rust["evaluation"]["adversary"]
    assert hambo.Adversary()._document() == {**adversary, "discount": pytest.approx(adversary["discount"])}
    for function, document in ((hambo.fit, rust["model"]), (hambo.evaluate, rust["evaluation"])):
        parameters = inspect.signature(function).parameters
        plain = {key: value for key, value in document.items() if isinstance(value, (bool, int, float, str))}
        assert len(plain) > 2
        usual = ROLLOUTS["standard"] if function is hambo.evaluate else {}
        assert {key: usual.get(key, parameters[key].default) for key in plain} == pytest.approx(plain)


def test_a_model_tells_what_it_is(model: hambo.Model, data: hambo.Dataset) -> None:
    assert isinstance(model, hambo.EnsembleModel)
    assert (model.state_dim, model.action_dim, model.members) == (3, 1, 3)
    assert model.predicts_reward
    assert model.data["fingerprint"] == data.fingerprint
    assert "400 transitions in 10 episodes" in repr(model)
    assert model.initial_states is not None
    np.testing.assert_array_equal(model.initial_states, data.initial_states)


def test_the_same_seed_gives_the_same_model(model: hambo.Model, data: hambo.Dataset) -> None:
    again, other = hambo.fit(data, TINY, seed=0), hambo.fit(data, TINY, seed=1)
    means = [found.predict(data.states, data.actions).mean for found in (model, again, other)]
    np.testing.assert_array_equal(means[0], means[1])
    assert not np.array_equal(means[0], means[2])


def test_predictions_have_all_outputs(model: hambo.Model, data: hambo.Dataset) -> None:
    found = model.predict(data.states[:7], data.actions[:7])
    assert found.mean.shape == found.epistemic_std.shape == found.aleatoric_std.shape == (7, 4)
    with pytest.raises(ValueError, match="got 2 columns"):
        model.predict(data.states[:, :2], data.actions)


def test_a_history_is_seen_by_the_model_alone(data: hambo.Dataset) -> None:
    model = hambo.fit(data, TINY, seed=0, history=2)
    assert (model.history, model.state_dim) == (2, 3)
    assert model.predict(data.states[:7], data.actions[:7]).mean.shape == (7, 4)
    assert len(model.persistence["autocorrelation"]) == 4

    def policy(states: Any) -> Any:
        assert states.shape[1] == 3
        return still(states)

    found = hambo.evaluate(model, policy, horizon=5, episodes=50)
    assert found.lower_bound is not None
    with pytest.raises(hambo.errors.SettingError, match="history"):
        hambo.fit(data, TINY, history=-1)


def test_members_are_what_a_prediction_is_made_of(model: hambo.Model, data: hambo.Dataset) -> None:
    states, actions = data.states[:7], data.actions[:7]
    means, stds = zip(*(model.predict_member(member, states, actions) for member in range(3)), strict=True)
    together = model.predict(states, actions)
    np.testing.assert_allclose(np.mean(means, axis=0), together.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.std(means, axis=0), together.epistemic_std, rtol=1e-3, atol=1e-5)
    assert np.array(stds).shape == (3, 7, 4)
    with pytest.raises(ValueError, match="member 3"):
        model.predict_member(3, states, actions)


def test_a_saved_model_evaluates_to_the_same_bits(model: hambo.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = hambo.load(tmp_path / "model")
    results = [hambo.evaluate(found, still, **QUICK).variants for found in (model, loaded)]
    assert [v.estimate for v in results[0].values()] == [v.estimate for v in results[1].values()]
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "model")


def test_changed_files_of_a_model_are_refused(model: hambo.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    origin = tmp_path / "model" / "data.json"
    origin.write_text(origin.read_text().replace("0.", "1.", 1))
    with pytest.raises(OSError, match="changed since the model was saved"):
        hambo.load(tmp_path / "model")


def test_models_pickle(model: hambo.Model, data: hambo.Dataset) -> None:
    again = pickle.loads(pickle.dumps(model))
    means = [found.predict(data.states, data.actions).mean for found in (model, again)]
    np.testing.assert_array_equal(means[0], means[1])
    np.testing.assert_array_equal(again.initial_states, model.initial_states)


def test_gaussian_processes_bring_a_guarantee(data: hambo.Dataset) -> None:
    model = hambo.fit(data, hambo.GaussianProcess(starts=1, likelihood_rows=50))
    assert isinstance(model, hambo.GaussianProcessModel)
    found = hambo.evaluate(model, still, **{**QUICK, "variants": ["DS"], "horizon": 3})
    assert found.guarantee is not None
    assert "model and the Monte Carlo error" in found.delta_covers


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (hambo.Ensemble(members=0), "setting `members` is 0; expected at least one"),
        (hambo.GaussianProcess(norm_factor=0.5), "setting `norm_factor` is 0.5"),
    ],
)
def test_settings_out_of_range_are_refused(settings: Any, message: str, data: hambo.Dataset) -> None:
    with pytest.raises(hambo.errors.SettingError, match=message):
        hambo.fit(data, settings)


def test_progress_is_reported(data: hambo.Dataset) -> None:
    events: list[hambo.Progress] = []
    hambo.fit(data, TINY, progress=events.append)
    assert events and events[0].stage == "fit"


def test_an_error_in_the_progress_callback_comes_out(data: hambo.Dataset) -> None:
    def callback(event: hambo.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        hambo.fit(data, TINY, progress=callback)


def test_a_model_and_its_origin_are_one_directory_with_one_list_of_checksums(
    model: hambo.Model, tmp_path: Path
) -> None:
    model.save(tmp_path / "model")
    listed = {line.split()[1] for line in (tmp_path / "model" / "checksums.txt").read_text().splitlines()}
    assert listed | {"checksums.txt"} == {path.name for path in (tmp_path / "model").iterdir()}
    assert "data.json" in listed
    (tmp_path / "model" / "data.json").unlink()
    with pytest.raises(OSError, match="it has no `data.json`"):
        hambo.load(tmp_path / "model")
