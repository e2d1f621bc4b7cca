"""How often a policy that hambo learned ends its episodes, beside how often the logs did that taught and judged it.

    python reproductions/zoo/ends.py gusty_cliff 52 [64 ...]

Learns it again, as `learned.py` does by default, and prints one line per seed.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

# Last, because `learned` is this folder's.
sys.path.append(str(Path(__file__).parent.parent))
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from learned import LEARNER, actor, taught
from system import Policy, System, make_logs, play, policy
from systems import SYSTEMS

EPISODES = 200_000


def logged_ends(system: System, seed: int) -> list[str]:
    """Of the half that teaches and of the one that judges: how many episodes end early, of how many."""
    lines = []
    for half in make_logs(system, seed).dataset(system).split(0.5, seed=seed):
        ends = system.ended(*(np.asarray(part, float) for part in (half.states, half.actions, half.next_states)))
        lines.append(f"{np.count_nonzero(ends)} of {len(half.returns)}")
    return lines


def simulated(system: System, act: Policy, *, exploring: bool = False) -> str:
    """The share of episodes that end early, and the mean return of those and of the others."""
    returns, ended = np.zeros(EPISODES), np.zeros(EPISODES, dtype=bool)
    for steps in play(system, act, np.random.default_rng(1), EPISODES, exploring=exploring):
        returns[steps.numbers] += steps.rewards
        ended[steps.numbers] |= steps.ended
    means = [f"{returns[which].mean():.2f}" if which.any() else "none" for which in (ended, ~ended)]
    return f"{100 * ended.mean():.2f} % end early and earn {means[0]}, the others {means[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("seeds", nargs="+", type=int)
    arguments = parser.parse_args()
    system = SYSTEMS[arguments.system]
    for source, parameters in system.logged.items():
        print(f"{source}: {simulated(system, policy(system, parameters), exploring=True)}", flush=True)
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy.onnx"
            taught(system, seed, LEARNER.against, path)
            said = simulated(system, actor(path))
        print(f"seed {seed}, logged ends {' and '.join(logged_ends(system, seed))}; learned: {said}", flush=True)


if __name__ == "__main__":
    main()
