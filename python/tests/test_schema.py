"""Results keep the promises of docs/result.schema.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hambo

from .conftest import QUICK, still

SCHEMA = Path(__file__).parents[2] / "docs" / "result.schema.json"


def valid(document: dict[str, Any]) -> bool:
    jsonschema: Any = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    validator.check_schema(validator.schema)
    for error in validator.iter_errors(document):
        print(error.json_path, error.message)
        return False
    return True


def test_results_are_as_promised(model: hambo.Model) -> None:
    usual = hambo.evaluate(model, still, horizon=5, episodes=40, against="logged", margin=1.0)
    constrained = hambo.evaluate(model, still, constraints={"calm": "2 - abs(action_0)"}, effort="quick", **QUICK)
    asked = hambo.BaselineSettings(members=3, hidden=[8], steps=20, episodes=20, resamples=100)
    opinions = hambo.evaluate(model, still, baselines=asked, **QUICK)
    for found in (usual, constrained, opinions):
        assert valid(json.loads(found.to_json()))


def test_what_is_missing_or_of_another_kind_is_noticed(model: hambo.Model) -> None:
    document = json.loads(hambo.evaluate(model, still, **QUICK).to_json())
    assert not valid({name: value for name, value in document.items() if name != "lower_bound"})
    assert not valid(document | {"delta": "0.05"})
    assert not valid(document | {"warnings": [{"code": "outside_data"}]})
