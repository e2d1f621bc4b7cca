"""One name per column, whatever the data is made of."""

from __future__ import annotations

import numpy as np
import pytest

import hambo

from .conftest import QUICK, TINY, still
from .test_data import columns


def test_columns_without_names_are_numbered(data: hambo.Dataset, model: hambo.Model) -> None:
    assert data.state_names == model.state_names == ["state_0", "state_1", "state_2"]
    assert data.action_names == model.action_names == ["action_0"]


@pytest.mark.parametrize("with_next_states", [True, False])
def test_names_and_choices_go_together(with_next_states: bool) -> None:
    given = columns()
    given["actions"] = np.arange(12) % 3
    if not with_next_states:
        del given["next_states"]
    named = hambo.Dataset.from_arrays(**given, discrete_actions=3, state_names=["x", "y"], action_names=["move"])
    plain = hambo.Dataset.from_arrays(**given, discrete_actions=3)
    assert named == plain and len(named) == (12 if with_next_states else 9)
    assert named.state_names == ["x", "y"] and named.action_names == ["move_0", "move_1", "move_2"]
    assert plain.action_names == ["action_0", "action_1", "action_2"]
    assert named.notes[0] == plain.notes[0]


def test_names_need_no_next_states() -> None:
    given = columns()
    del given["next_states"]
    named = hambo.Dataset.from_arrays(**given, state_names=["x", "y"], action_names=["push"])
    assert named == hambo.Dataset.from_arrays(**given)
    assert (named.state_names, named.action_names) == (["x", "y"], ["push"])


def test_wrong_names_and_choices_are_located() -> None:
    given = columns()
    with pytest.raises(hambo.errors.SettingError, match="`state_names` has 3 names, but there are 2 columns"):
        hambo.Dataset.from_arrays(**given, state_names=["x", "y", "z"])
    with pytest.raises(hambo.errors.SettingError, match="`state_names` is the text 'xy'"):
        hambo.Dataset.from_arrays(**given, state_names="xy")
    without = {name: column for name, column in given.items() if name != "next_states"}
    with pytest.raises(hambo.errors.SettingError, match="a column is named `rewards`"):
        hambo.Dataset.from_arrays(**without, state_names=["rewards", "y"])
    given["actions"] = np.arange(12) % 4
    with pytest.raises(hambo.errors.DataError, match="row 3: the action is 3; .* whole numbers from 0 to 2"):
        hambo.Dataset.from_arrays(**given, discrete_actions=3, state_names=["x", "y"])


def test_variants_have_one_spelling(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **{**QUICK, "horizon": 30})
    assert found.settings["variants"] == list(found.variants) == ["DAinf", "DS"]
    about = {warning.details["variant"] for warning in found.warnings if "variant" in warning.details}
    assert about and about <= {"DAinf", "DS"}


def test_a_variant_is_shown_in_a_line(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    text = repr(found.variants["DAinf"])
    assert text.startswith("VariantResult(name='DAinf'") and len(text) < 450 and "array" not in text
    assert len(found.variants["DAinf"].worst) > 0


def test_calibrations_hold_arrays(model: hambo.Model, data: hambo.Dataset) -> None:
    for calibration in (model.calibration, hambo.evaluate(model, still, **QUICK).calibration):
        assert calibration["temperatures"].shape == (4,) and calibration["frequencies_after"].shape == (4, 10)
        assert "dim" not in repr(calibration)
    process = hambo.fit(data, hambo.GaussianProcess(starts=1, likelihood_rows=50))
    assert "'dim'" not in repr(process.calibration) + repr(process.fit_report)


def test_errors_of_a_model_are_told_by_the_names_of_the_columns() -> None:
    rng = np.random.default_rng(0)
    # A hidden state with a memory moves what is logged.
    hidden = np.zeros((30, 21))
    for step in range(20):
        hidden[:, step + 1] = 0.95 * hidden[:, step] + 0.3 * rng.standard_normal(30)
    position = np.cumsum(np.concatenate([np.zeros((30, 1)), hidden[:, :-1]], axis=1), axis=1)
    logs = hambo.Dataset.from_arrays(
        position[:, :-1].reshape(-1, 1),
        rng.standard_normal(600),
        np.zeros(600),
        position[:, 1:].reshape(-1, 1),
        truncated=np.arange(600) % 20 == 19,
        state_names=["height"],
    )
    found = hambo.evaluate(hambo.fit(logs, TINY), lambda s: 0 * s, horizon=5, episodes=60, variants=["DAinf"])
    messages = [warning.message for warning in found.warnings if warning.code == "persistent_errors"]
    assert any("`height`" in message for message in messages), found
