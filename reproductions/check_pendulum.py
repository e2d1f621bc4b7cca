"""Gymnasium's Pendulum-v1 and the built-in one agree, step by step: 10^4 random steps to 1e-5.

python reproductions/check_pendulum.py
"""

import gymnasium
import numpy as np

import hambo

TOLERANCE = 1e-5


def main() -> None:
    rng = np.random.default_rng(0)
    # Torques beyond the limit as well: both must clip them.
    data = hambo.tasks.simulate(
        "pendulum", lambda states: rng.uniform(-2.5, 2.5, (len(states), 1)), episodes=50, horizon=200
    )
    env = gymnasium.make("Pendulum-v1").unwrapped
    env.reset(seed=0)
    worst_state = worst_reward = 0.0
    for state, action, reward, following in zip(data.states, data.actions, data.rewards, data.next_states, strict=True):
        cosine, sine, speed = state.astype(np.float64)
        env.state = np.array([np.arctan2(sine, cosine), speed])
        observed, received, *_ = env.step(action.astype(np.float64))
        worst_state = max(worst_state, float(np.abs(observed - following).max()))
        # Rewards reach -16; float32 keeps seven digits of them.
        worst_reward = max(worst_reward, abs(float(received) - float(reward)) / max(1.0, abs(float(received))))
    print(f"{len(data)} steps: states differ by at most {worst_state:.1e}, rewards by {worst_reward:.1e} of their size")
    assert worst_state < TOLERANCE and worst_reward < TOLERANCE


if __name__ == "__main__":
    main()
