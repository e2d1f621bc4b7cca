from __future__ import annotations

import copy
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

from .conftest import QUICK, TINY, Array, still

ADVERSARY = hambo.Adversary(
    hidden=[8], batch_size=32, episodes=20, gradient_steps=5, max_rounds=2, patience=1, replay_capacity=1000
)


def test_an_evaluation_has_a_bound_and_its_doubts(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, horizon=5, episodes=60, adversary=ADVERSARY, stress=True)
    assert list(found.variants) == ["worlds", "CA", "DA1", "DAinf", "DS"]
    assert found.lower_bound == found.variants["worlds"].lower_bound and found.deciding == "worlds"
    assert found.neutral is not None and found.neutral.name == "worlds"
    limit = found.variants["worlds"].worlds
    assert limit is not None and limit.factor >= limit.student and limit.replay is not None
    assert sum(group.episodes for group in limit.replay.groups if not group.is_later) == 10
    assert set(limit.replay.tried) == {1.0, 0.75, 0.5, 0.25, 0.0}
    assert found.variants["CA"].worlds is None


def test_the_papers_variants_can_be_asked_for(model: hambo.Model) -> None:
    found = hambo.evaluate(
        model, still, horizon=5, episodes=60, adversary=ADVERSARY, variants=["CA", "DA1", "DAinf", "DS"]
    )
    assert list(found.variants) == ["CA", "DA1", "DAinf", "DS"]
    assert found.lower_bound == min(v.lower_bound for v in found.variants.values() if v.is_conservative)
    assert found.neutral is not None and found.neutral.name == "DS"
    assert any(warning.code == "few_starts" for warning in found.warnings)
    assert all(warning.message and warning.help for warning in found.warnings)
    assert found.settings["adversary"]["max_rounds"] == 2


def test_a_preset_is_the_papers_method(data: hambo.Dataset) -> None:
    ensemble = hambo.Ensemble.paper(hidden=[16], max_steps=60, evaluate_every=20)
    assert (ensemble.members, ensemble.bootstrap, ensemble.tables, ensemble.random_functions) == (5, False, False, 0.0)
    model = hambo.fit(data, ensemble, seed=0)
    found = hambo.evaluate(model, still, horizon=5, episodes=60, adversary=ADVERSARY, preset="paper")
    assert list(found.variants) == ["CA", "DA1", "DAinf", "DS"] and found.settings["narrow_box"]
    weaker = {warning.details["setting"] for warning in found.warnings if warning.code == "weaker_setting"}
    assert {"narrow_box", "variants"} <= weaker
    with pytest.raises(hambo.errors.SettingError, match="the only one is 'paper'"):
        hambo.evaluate(model, still, horizon=5, preset="papre")  # type: ignore[arg-type]


def test_off_the_data_every_step_earns_the_floor(model: hambo.Model) -> None:
    def rush(states: Array) -> Array:
        return np.full((len(states), 1), 50.0, dtype=np.float32)

    options: dict[str, Any] = {"horizon": 40, "episodes": 60, "reward": "0*state_0"}
    off = hambo.evaluate(model, rush, **options)
    assert "foreign_actions" in {warning.code for warning in off.warnings}
    found = hambo.evaluate(model, rush, floor=-2.0, **options)
    assert found.variants["worlds"].floored == 1.0
    # Two of forty steps may be off the data; the other 38 earn the floor.
    assert found.variants["worlds"].estimate.mean == pytest.approx(-76.0)
    assert "foreign_actions" not in {warning.code for warning in found.warnings}


def test_states_that_are_names_are_counted() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    data = hambo.collect(gymnasium.make("FrozenLake-v1"), steps=3_000)
    model = hambo.fit(data, hambo.Ensemble(tables=True))
    assert model.fit_report["model"] == "table"
    drawn = model.draw(np.zeros((200, 1)), np.eye(4)[np.full(200, 2)], seed=1)
    # To the right of the first field, slippery: right, down, or against the wall.
    assert set(drawn[:, 0]) == {0.0, 1.0, 4.0} and set(drawn[:, 1]) == {0.0}

    def right(states: Array) -> Array:
        return np.tile(np.eye(4, dtype=np.float32)[2], (len(states), 1))

    final = [5, 7, 11, 12, 15]
    found = hambo.evaluate(
        model, right, horizon=20, episodes=200, termination=lambda s, a, after: np.isin(after[:, 0], final)
    )
    assert found.deciding == "worlds" and found.second_opinion is None
    with pytest.raises(hambo.errors.SettingError, match="tables = false"):
        hambo.evaluate(model, right, horizon=20, variants=["CA"])
    with pytest.raises(hambo.errors.SettingError, match="at most 1,000 different values"):
        hambo.fit(simulate("pendulum", SwingUp.weak(), episodes=10, horizon=200), hambo.Ensemble(tables=True))


def test_observations_that_are_several_spaces_are_refused() -> None:
    gymnasium = pytest.importorskip("gymnasium")

    class Two(gymnasium.Env):  # type: ignore[misc,name-defined]
        observation_space = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)] * 2)
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(hambo.errors.SettingError, match="a Tuple of several spaces"):
        hambo.collect(Two(), steps=10)


def test_a_policy_is_called_once_per_step(model: hambo.Model) -> None:
    shapes = []

    def policy(states: Array) -> Array:
        shapes.append(states.shape)
        assert states.dtype == np.float32 and states.flags.c_contiguous
        return still(states)

    hambo.evaluate(model, policy, horizon=7, episodes=50, variants=["DS"])
    # The variant, then the second opinion.
    assert shapes == [(50, 3)] * 7 + [(300, 3)] * 7


def test_a_result_shows_itself(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    text, page = repr(found), found._repr_html_()
    assert text.startswith(f"INCONCLUSIVE: {found.lower_bound:.6g}, {len(found.warnings)} warnings, second opinion ")
    assert "DAinf" in text and "warning: " in text
    assert "<table>" in page and "DAinf" in page


def test_a_result_survives_json_pickle_and_copy(model: hambo.Model, tmp_path: Path) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    found.save(tmp_path / "found.json")
    for again in (
        hambo.Evaluation.from_json(found.to_json()),
        hambo.Evaluation.load(tmp_path / "found.json"),
        pickle.loads(pickle.dumps(found)),
        copy.copy(found),
        copy.deepcopy(found),
    ):
        assert again == found
        assert again.warnings == found.warnings
    with pytest.raises(ValueError, match="no result of this version"):
        hambo.Evaluation.from_json('{"lower_bound": 1}')


def test_a_report_is_one_page(model: hambo.Model, tmp_path: Path) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    found.report(tmp_path / "report.html", policy="still <b>", threshold=-1e9)
    page = (tmp_path / "report.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "still &lt;b&gt;" in page


def test_verdicts_follow_the_threshold(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    assert found.verdict(1e9) == "not_certified"
    assert found.verdict(-1e9) == "inconclusive"
    disqualifying = {warning.code for warning in found.warnings if warning.disqualifies}
    assert "weaker_setting" in disqualifying
    weaker, *of_fit = [warning for warning in found.warnings if warning.code == "weaker_setting"]
    assert [warning.details["setting"] for warning in of_fit] == ["max_steps", "hidden"]
    assert weaker.details == {
        "setting": "variants",
        "value": "DAinf, DS",
        "default": "worlds",
        "accepted": False,
    }
    assert weaker.setting == "evaluation.accept_weaker"


def test_accepted_weaknesses_and_loose_thresholds_certify(model: hambo.Model) -> None:
    loose = hambo.Thresholds(
        weak_calibration=1.0, persistent_errors=1.0, outside_data=1.0, skewed_returns=1e9, reward_difference=1e9
    )
    names = [f"thresholds.{name}" for name in ("weak_calibration", "persistent_errors", "outside_data")]
    names += ["thresholds.skewed_returns", "thresholds.reward_difference", "variants", "max_steps", "hidden"]
    found = hambo.evaluate(model, still, thresholds=loose, accept_weaker=names, **QUICK)
    assert {warning.code for warning in found.warnings if warning.disqualifies} == set()
    assert found.verdict(-1e9) == "certified"
    again = hambo.evaluate(model, still, thresholds=loose, accept_weaker=names[1:], **QUICK)
    assert again.verdict(-1e9) == "inconclusive"


def test_the_deciding_variant_is_the_one_with_the_bound(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    assert found.deciding == "DAinf"
    assert found.variants["DAinf"].lower_bound == found.lower_bound


def test_a_constraint_called_return_is_refused(model: hambo.Model) -> None:
    with pytest.raises(ValueError, match="not `return`"):
        hambo.evaluate(model, still, constraints={"return": "1"}, **QUICK)


def test_state_bounds_go_by_name_by_number_and_by_task(model: hambo.Model) -> None:
    names = {"state_0": 1.0, "state_1": 1.0, "state_2": 8.0}
    low = {name: -limit for name, limit in names.items()}
    given: list[Any] = [
        hambo.StateBounds(low, names, angles=[("state_0", "state_1")]),
        hambo.StateBounds([-1.0, -1.0, -8.0], [1.0, 1.0, 8.0], angles=[(0, 1)]),
        "pendulum",
    ]
    bounds = [hambo.evaluate(model, still, state_bounds=bounds, **QUICK).lower_bound for bounds in given]
    assert bounds[0] == bounds[1] == bounds[2]
    wrong = hambo.StateBounds({"sped": -1.0}, {"state_2": 8.0})
    with pytest.raises(ValueError, match="no state column `sped`"):
        hambo.evaluate(model, still, state_bounds=wrong, **QUICK)


def test_rewards_of_all_kinds_agree(model: hambo.Model) -> None:
    def cost(states: Array, actions: Array, next_states: Array) -> Any:
        angle = np.arctan2(states[:, 1], states[:, 0])
        return -(angle**2 + 0.1 * states[:, 2] ** 2 + 0.001 * actions[:, 0] ** 2)

    text = "-(atan2(state_1, state_0)^2 + 0.1*state_2^2 + 0.001*action_0^2)"
    bounds = [hambo.evaluate(model, still, reward=reward, **QUICK).lower_bound for reward in (cost, text, "pendulum")]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-5)
    assert bounds[0] == pytest.approx(bounds[2], rel=1e-5)
    learned = hambo.evaluate(model, still, **QUICK).lower_bound
    assert learned != bounds[0]


def test_terminations_end_episodes(model: hambo.Model) -> None:
    def one(states: Array, actions: Array, next_states: Array) -> Any:
        return np.ones(len(states))

    def ended(states: Array, actions: Array, next_states: Array) -> Any:
        return np.ones(len(states), dtype=bool)

    options = {**QUICK, "reward": one}
    assert hambo.evaluate(model, still, **options).lower_bound == pytest.approx(10.0)
    assert hambo.evaluate(model, still, termination=ended, **options).lower_bound == pytest.approx(1.0)
    assert hambo.evaluate(model, still, termination="state_0 > -2", **options).lower_bound == pytest.approx(1.0)


def test_constraints_are_bounded(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, constraints={"low": "-1", "high": lambda s, a, n: np.ones(len(s))}, **QUICK)
    assert found.constraints["low"].lower_bound == pytest.approx(-1.0)
    assert found.constraints["high"].lower_bound == pytest.approx(1.0)
    assert found.verdict(-1e9) == "not_certified"


def test_initial_states_of_all_kinds(model: hambo.Model) -> None:
    def start(states: Array, actions: Array, next_states: Array) -> Any:
        return states[:, 2]

    options: dict[str, Any] = {"horizon": 1, "episodes": 60, "variants": ["DAinf"], "reward": start}
    hanging = np.array([[-1.0, 0.0, 3.0]])
    assert hambo.evaluate(model, still, initial_states=hambo.Fixed(hanging), **options).lower_bound == 3.0
    with pytest.raises(ValueError, match="declare that there are no others"):
        hambo.evaluate(model, still, initial_states=hanging, **options)
    with pytest.raises(ValueError, match="shape"):
        hambo.evaluate(model, still, initial_states=np.zeros((4, 2)), **options)

    def draw(rng: np.random.Generator, count: int) -> Any:
        return np.tile(hanging, (count, 1)) * rng.uniform(1, 1 + 1e-6, (count, 1))

    drawn = [hambo.evaluate(model, still, initial_states=draw, **options) for _ in range(2)]
    assert drawn[0].lower_bound == drawn[1].lower_bound == pytest.approx(3.0, abs=1e-4)


def test_state_bounds_hold(model: hambo.Model) -> None:
    seen = []

    def policy(states: Array) -> Array:
        seen.append(np.abs(states).max(axis=0))
        return still(states)

    bounds = hambo.StateBounds([-1, -1, -0.5], [1, 1, 0.5], angles=[(0, 1)])
    hambo.evaluate(model, policy, state_bounds=bounds, **QUICK)
    assert max(high[2] for high in seen[1:10]) <= 0.5
    with pytest.raises(ValueError, match="no built-in task `swing`"):
        hambo.evaluate(model, still, state_bounds="swing", **QUICK)  # type: ignore[arg-type]


def test_policies_are_ranked_by_their_bounds(model: hambo.Model) -> None:
    ranking = hambo.rank(model, {"still": still, "weak": SwingUp.weak(noise=0.0), "good": SwingUp()}, **QUICK)
    bounds = [found.lower_bound for found in ranking.values()]
    assert bounds == sorted(bounds, key=lambda bound: -(bound or 0.0))
    assert ranking.best == next(iter(ranking)) and len(ranking) == 3
    assert "\npolicy " in repr(ranking) and "<table>" in ranking._repr_html_()
    assert dict(hambo.Ranking.from_json(ranking.to_json())) == dict(ranking)
    assert dict(pickle.loads(pickle.dumps(ranking))) == dict(ranking)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda states: "left", "the policy returned a `str`"),
        (lambda states: np.zeros((len(states), 2)), r"returned shape \(60, 2\).*return \[60, 1\]"),
        (lambda states: np.full((len(states), 1), np.nan), "the policy returned NaN at row 0, column 0"),
        (3, "the policy is a `int`; give a callable"),
    ],
)
def test_policies_that_make_no_sense_are_refused(model: hambo.Model, policy: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        hambo.evaluate(model, policy, **QUICK)
    assert isinstance(caught.value, hambo.HamboError)


def test_missing_and_broken_onnx_files_are_told_apart(model: hambo.Model, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"policy\.onnx"):
        hambo.evaluate(model, tmp_path / "policy.onnx", **QUICK)
    (tmp_path / "policy.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(hambo.errors.OnnxError, match="not an ONNX file"):
        hambo.evaluate(model, str(tmp_path / "policy.onnx"), **QUICK)


def test_wrong_expressions_are_explained(model: hambo.Model) -> None:
    with pytest.raises(hambo.errors.ExpressionError, match="there is no column `state_7`"):
        hambo.evaluate(model, still, reward="state_7", **QUICK)


def test_settings_out_of_range_are_refused(model: hambo.Model) -> None:
    with pytest.raises(ValueError, match="setting `delta` is 2; expected between 0 and 1"):
        hambo.evaluate(model, still, delta=2, **QUICK)
    with pytest.raises(ValueError, match="unknown variant"):
        hambo.evaluate(model, still, horizon=3, variants=["CB"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="horizon"):
        hambo.evaluate(model, still, horizon=0, variants=["DS"])


def test_a_model_without_reward_needs_one(data: hambo.Dataset) -> None:
    import dataclasses

    model = hambo.fit(data, dataclasses.replace(TINY, learn_reward=False))
    with pytest.raises(ValueError, match="give a reward"):
        hambo.evaluate(model, still, **QUICK)
    assert hambo.evaluate(model, still, reward="pendulum", **QUICK).lower_bound is not None


def test_verdicts_and_fits_are_logged_in_one_line_each(
    model: hambo.Model, data: hambo.Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="hambo"):
        hambo.evaluate(model, still, **QUICK)
        hambo.fit(data, TINY)
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.INFO]
    assert "still: INCONCLUSIVE: " in caplog.text and "fitted EnsembleModel" in caplog.text


def test_the_truth_of_a_built_in_task_is_at_hand() -> None:
    good = simulate("pendulum", SwingUp(), episodes=50, horizon=100).returns.mean()
    weak = simulate("pendulum", SwingUp.weak(), episodes=50, horizon=100).returns.mean()
    assert good > weak


def test_plots_need_matplotlib_only(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **QUICK)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["DAinf", "DS"]
