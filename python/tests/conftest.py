"""What the tests share: small data, a small model, settings that take no time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

Array = npt.NDArray[np.float32]

TINY = hambo.Ensemble(members=3, hidden=[16], max_steps=60, evaluate_every=20)
QUICK: dict[str, Any] = {"horizon": 10, "episodes": 60, "variants": ["DAinf", "DS"]}
"""Options of a quick evaluation, without learned adversaries."""


def still(states: Array) -> Array:
    """A policy that does nothing."""
    return np.zeros((len(states), 1), dtype=np.float32)


@pytest.fixture(scope="session")
def data() -> hambo.Dataset:
    return simulate("pendulum", SwingUp.weak(), episodes=10, horizon=40)


@pytest.fixture(scope="session")
def model(data: hambo.Dataset) -> hambo.Model:
    return hambo.fit(data, TINY, seed=0)
