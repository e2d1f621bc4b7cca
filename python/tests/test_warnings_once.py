"""A doubt is said once, however many variants share it."""

from __future__ import annotations

import hambo
from hambo._warning import each_once

from .conftest import Array, still

SHARED = {"code": "outside_data", "help": "collect data", "governed_by": "evaluation.thresholds.outside_data"}


def document(variant: str, disqualifies: bool = True, objective: str = "return") -> dict[str, object]:
    about = {"variant": variant, "objective": objective, "disqualifies": disqualifies}
    return {**SHARED, **about, "message": f"{objective}, {variant}: far away"}


def test_variants_share_a_warning_and_the_deciding_one_speaks() -> None:
    given = [document("ca"), document("dainf"), document("ds", disqualifies=False)]
    [found] = each_once(given, "DAinf")
    assert found.variants == ("DAinf", "CA", "DS") and found.message == "return, dainf: far away"
    assert found.disqualifies and found.details["variant"] == "DAinf"
    assert str(found) == "return, dainf: far away (also CA, DS); collect data"


def test_different_doubts_are_not_merged() -> None:
    setting = {"code": "weaker_setting", "message": "m", "help": "h", "governed_by": None, "disqualifies": True}
    given: list[dict[str, object]] = [
        document("ca"),
        document("ca", objective="slow"),
        {**setting, "setting": "beta"},
        {**setting, "setting": "noise"},
    ]
    found = each_once(given, None)
    assert [warning.details.get("setting") for warning in found] == [None, None, "beta", "noise"]


def test_every_message_is_printed_once(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, horizon=30, episodes=60, variants=["DAinf", "TS1", "TSinf"])
    stored = [warning["code"] for warning in found.to_dict()["warnings"]]
    assert len(stored) > len(found.warnings), stored
    for text in (repr(found), found._repr_html_()):
        for warning in found.warnings:
            assert text.count(warning.message) == 1
    keys = [(warning.code, str(warning.details.get("objective")), str(warning.details)) for warning in found.warnings]
    assert len(set(keys)) == len(keys)


def test_advice_names_arguments_of_this_package(model: hambo.Model) -> None:
    def loop(states: Array, actions: Array, next_states: Array) -> Array:
        return still(states)[:, 0]

    found = hambo.evaluate(model, still, horizon=5, episodes=60, variants=["DAinf"], reward=loop)
    by_code = {warning.code: warning for warning in found.warnings}
    assert by_code["weaker_setting"].argument == "evaluate(accept_weaker=...)"
    assert by_code["few_starts"].argument == "evaluate(initial_states=...)"
    assert "see evaluate(accept_weaker=...)" in repr(found)
