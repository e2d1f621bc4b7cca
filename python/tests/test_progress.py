"""Signs of life name the policy and the stage, and say how long all of it still takes."""

from __future__ import annotations

import logging
import time

import pytest

import hambo
from hambo import _progress
from hambo._progress import Course, duration

from .conftest import QUICK, still


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "perf_counter", found)
    return found


def test_time_left_is_that_of_all_passes_and_policies(clock: Clock) -> None:
    events: list[hambo.Progress] = []
    course = Course(events.append, policies=3)
    course.begin("first", 4)
    for _ in range(4):
        for step in (0, 5):
            course.report("final rollouts", step, 10, None)
            clock.now += 5.0
    # The last sign of life came after 35 of 40 seconds; the other two take as long.
    assert events[-1].policy == "first" and events[-1].seconds_left == pytest.approx(5.0 + 2 * 40.0)
    course.end()
    course.begin("second", None)
    clock.now += 10.0
    course.report("adversary", 1, 30, ("attained return", 3.0))
    # Nobody knows how long an adversary trains: the first policy is the measure.
    assert events[-1].seconds_left == pytest.approx(30.0 + 40.0)
    assert events[-1][:5] == ("adversary", 1, 30, ("attained return", 3.0), "second")


def test_time_left_is_not_guessed_from_nothing(clock: Clock) -> None:
    events: list[hambo.Progress] = []
    course = Course(events.append)
    course.report("fit", 1, 1000, None)
    clock.now += 0.5
    course.report("fit", 2, 1000, None)
    assert [event.seconds_left for event in events] == [None, None]
    clock.now += 9.5
    course.report("fit", 101, 1000, None)
    assert events[-1].seconds_left == pytest.approx(10.0 / 100 * 899)


def test_one_line_says_how_long_it_takes(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="hambo"):
        course = Course(None)
        assert course.listener is not None
        for step in range(0, 1000, 10):
            course.report("fit", step, 1000, None)
            clock.now += 1.0
    assert [record.getMessage() for record in caplog.records] == [
        "fit: about 1 min 38 s left, or less, at the speed so far"
    ]
    caplog.set_level(logging.WARNING, logger="hambo")
    assert Course(None).listener is None


def test_where_there_is_no_bar_the_line_is_printed(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "_somebody_looks", lambda: True)
    monkeypatch.setattr(_progress._Bar, "of_tqdm", lambda: None)
    with _progress.watched(None) as course:
        assert course.listener is not None
        for step in range(5):
            course.report("fit", step, 100, None)
            clock.now += 1.0
    assert capsys.readouterr().err == "fit: about 1 min 38 s left, or less, at the speed so far\n"
    with pytest.raises(hambo.errors.SettingError, match="needs tqdm"), _progress.watched(True):
        pass


def test_a_bar_names_policy_and_stage(clock: Clock) -> None:
    made: list[dict[str, object]] = []

    class Bar:
        def __init__(self, **options: object) -> None:
            made.append(options)
            self.total, self.n = options["total"], 0

        def update(self, steps: int) -> None:
            self.n += steps

        def set_postfix(self, shown: dict[str, str], refresh: bool) -> None:
            made[-1].update(shown)

        def close(self) -> None:
            pass

    course = Course(_progress._Bar(Bar).show)
    course.begin("mine", 1)
    course.report("final rollouts", 0, 50, None)
    clock.now += 2.0
    course.report("final rollouts", 25, 50, None)
    assert made[-1]["desc"] == "mine: final rollouts" and made[-1]["left in all"] == "2 s"


def test_a_ranking_reports_every_policy(model: hambo.Model) -> None:
    events: list[hambo.Progress] = []
    hambo.rank(model, {"one": still, "two": still}, progress=events.append, **QUICK)
    assert list(dict.fromkeys(event.policy for event in events)) == ["one", "two"]
    assert {event.stage for event in events} >= {"final rollouts", "second opinion"}


def test_durations_are_as_the_command_writes_them() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.0, 200.0, 1800.0, 7500.0)] == [
        "0 s",
        "59 s",
        "3 min 20 s",
        "30 min",
        "2 h 5 min",
    ]
