"""Memory over many tiny fits and evaluations, which should not grow.

Usage: memory.py [ROUNDS]; needs /proc.
"""

import gc
import logging
import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import hambo
from hambo.tasks import SwingUp, simulate


def still(states: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """A policy that does nothing."""
    return np.zeros((len(states), 1), dtype=np.float32)


def resident() -> float:
    """Mebibytes of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


logging.getLogger("hambo").setLevel(logging.ERROR)
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
data = simulate("pendulum", SwingUp.weak(), episodes=10, horizon=40)
settings = hambo.Ensemble(members=2, hidden=[16], max_steps=5, evaluate_every=5)
for seed in range(rounds + 1):
    if seed % max(rounds // 10, 1) == 0:
        print(f"{seed:6} fits and evaluations: {resident():7.1f} MiB", flush=True)
    model = hambo.fit(data, settings, seed=seed)
    hambo.evaluate(model, still, horizon=5, episodes=50, variants=["DAinf", "DS"], seed=seed)
