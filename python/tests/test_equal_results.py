"""Results know what they are about, and the same question has the same answer."""

from __future__ import annotations

import functools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp

from .conftest import QUICK, Array, still


def cost(states: Array, actions: Array, next_states: Array) -> Array:
    return -np.abs(states[:, 2])


def test_the_same_seed_gives_equal_results(model: hambo.Model) -> None:
    one, two, other = (hambo.evaluate(model, still, seed=seed, **QUICK) for seed in (0, 0, 1))
    assert one.timings != two.timings
    assert one == two and hash(one) == hash(two) and one != other
    assert len({one, two, other}) == 2
    assert hambo.rank(model, {"a": still}, **QUICK) == hambo.rank(model, {"a": still}, **QUICK)


def test_another_reward_or_name_is_another_result(model: hambo.Model) -> None:
    learned = hambo.evaluate(model, still, **QUICK)
    assert hambo.evaluate(model, still, name="idle", **QUICK) != learned
    assert hambo.evaluate(model, still, reward="pendulum", **QUICK) != learned


def test_a_result_names_its_policy_and_its_task(model: hambo.Model, tmp_path: Path) -> None:
    bounds = hambo.StateBounds([-1.0, -1.0, -9.0], [1.0, 1.0, 9.0])
    found = hambo.evaluate(
        model,
        still,
        reward=cost,
        termination="next_state_2 > 7",
        state_bounds=bounds,
        reward_bounds=(-10.0, 0.0),
        initial_states=hambo.Fixed(np.zeros((4, 3))),
        constraints={"slow": "8 - abs(state_2)"},
        **QUICK,
    )
    assert found.policy is not None and found.policy.endswith("conftest.still")
    task = found.task
    assert task["reward"].endswith("test_equal_results.cost") and task["termination"] == "next_state_2 > 7"
    assert task["state_bounds"]["high"] == [1.0, 1.0, 9.0] and task["reward_bounds"] == [-10.0, 0.0]
    assert task["initial_states"] == "4 states (fixed)" and task["constraints"] == {"slow": "8 - abs(state_2)"}
    assert (task["horizon"], task["discount"], task["floor"]) == (10, 1.0, None)
    assert "termination next_state_2 > 7" in repr(found) and "conftest.still" in repr(found)
    found.save(tmp_path / "found.json")
    for again in (hambo.Evaluation.load(tmp_path / "found.json"), pickle.loads(pickle.dumps(found))):
        assert again == found and again.task == task and again.policy == found.policy
    found.report(tmp_path / "report.html")
    assert "conftest.still" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (SwingUp(), "hambo.tasks.SwingUp"),
        (SwingUp().__call__, "hambo.tasks.SwingUp.__call__"),
        (functools.partial(np.multiply, 0.0), "partial of "),
    ],
)
def test_objects_go_by_their_qualified_names(policy: Any, name: str) -> None:
    from hambo._asked import in_words

    assert in_words(policy).startswith(name)


def test_in_a_ranking_policies_have_the_given_names(model: hambo.Model) -> None:
    ranking = hambo.rank(model, {"idle": still, "lazy": still}, **QUICK)
    assert [found.policy for found in ranking.values()] == ["idle", "lazy"]


def test_what_the_command_wrote_names_its_task_too(model: hambo.Model) -> None:
    document = {
        **json.loads(hambo.evaluate(model, still, **QUICK).to_json()),
        "policy": {"file": "p.onnx", "blake3": "0"},
        "config": {"task": {"reward": "-x^2", "horizon": 10}},
        "threshold": -1e6,
    }
    del document["asked"]
    found = hambo.Evaluation.from_json(json.dumps(document))
    assert (found.policy, found.task["reward"], found.threshold) == ("p.onnx", "-x^2", -1e6)
    assert "(threshold -1e+06)" in repr(found).splitlines()[0]
