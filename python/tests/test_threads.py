"""How many threads compute is said before anything else, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import hambo

PROGRAM = textwrap.dedent("""
    import os, hambo
    hambo.set_threads({count})
    from hambo.tasks import SwingUp, simulate
    before = len(os.listdir("/proc/self/task"))
    data = simulate("pendulum", SwingUp.weak(), episodes=3, horizon=40)
    model = hambo.fit(data, hambo.Ensemble(members=2, hidden=[16], max_steps=20))
    print(len(os.listdir("/proc/self/task")) - before)
    print(hambo.evaluate(model, SwingUp(), horizon=5, episodes=60).lower_bound)
""")


def run(count: int) -> list[str]:
    environment = {key: value for key, value in os.environ.items() if key != "RAYON_NUM_THREADS"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(count=count)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=environment,
    )
    return found.stdout.split()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_so_many_threads_find_the_same_bound() -> None:
    few, many = run(1), run(5)
    assert int(many[0]) - int(few[0]) == 4
    assert few[1] == many[1]


def test_later_it_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hambo.Dataset is not None
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    with pytest.raises(hambo.errors.SettingError, match="too late for 3 threads"):
        hambo.set_threads(3)
    monkeypatch.setenv("RAYON_NUM_THREADS", "3")
    hambo.set_threads(3)
    with pytest.raises(hambo.errors.SettingError, match="at least one"):
        hambo.set_threads(0)
