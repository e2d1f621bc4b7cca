"""Gymnasium's Acrobot-v1: swing two links up with a motor between them."""

import numpy as np
from system import Array, Parameters, Rng, System, column, mixed_up, one_hot

SECONDS, GRAVITY = 0.2, 9.8
FASTEST = np.array([4 * np.pi, 9 * np.pi])


class Acrobot(System):
    name = "acrobot"
    difficulty = "chaotic, and six columns for four numbers"
    horizon = 100
    ends = True
    states = ["cosine_1", "sine_1", "cosine_2", "sine_2", "speed_1", "speed_2"]
    actions = ["back", "none", "forth"]
    episodes = 20
    logged = {"first": (-1.0, 0.0, 0.0), "second": (0.0, 1.0, 0.0), "both": (-0.5, 0.5, 0.0)}
    close = (-0.8, 0.3, 0.0)
    further = (-1.0, 0.5, 1.0)
    reckless = (1.0, -1.0, 0.0)
    search = ((-2.0, -2.0, -2.0), (2.0, 2.0, 2.0))

    def starts(self, rng: Rng, count: int) -> Array:
        first, second, speed_1, speed_2 = rng.uniform(-0.1, 0.1, (4, count))
        return column(np.cos(first), np.sin(first), np.cos(second), np.sin(second), speed_1, speed_2)

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        torque = np.argmax(actions, axis=1) - 1.0
        angles = (np.arctan2(states[:, 1], states[:, 0]), np.arctan2(states[:, 3], states[:, 2]))
        now = column(*angles, states[:, 4], states[:, 5])
        # Gymnasium's Runge-Kutta step of fourth order.
        first = derivative(now, torque)
        second = derivative(now + SECONDS / 2 * first, torque)
        third = derivative(now + SECONDS / 2 * second, torque)
        fourth = derivative(now + SECONDS * third, torque)
        now = now + SECONDS / 6 * (first + 2 * second + 2 * third + fourth)
        speeds = np.clip(now[:, 2:], -FASTEST, FASTEST)
        return column(np.cos(now[:, 0]), np.sin(now[:, 0]), np.cos(now[:, 1]), np.sin(now[:, 1]), *speeds.T)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return self.ended(states, actions, next_states) - 1.0

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        cosine_1, sine_1, cosine_2, sine_2 = next_states[:, :4].T
        return -cosine_1 - (cosine_1 * cosine_2 - sine_1 * sine_2) > 1.0

    def act(self, parameters: Parameters, states: Array) -> Array:
        first, second, lean = parameters
        wanted = first * states[:, 4] + second * states[:, 5] + lean * states[:, 3]
        return one_hot(np.where(wanted > 0, 2, 0), 3)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return mixed_up(rng, actions, 0.2)


def derivative(state: Array, torque: Array) -> Array:
    """Speeds and accelerations of both links, of mass, length and inertia 1, their centres halfway."""
    angle_1, angle_2, speed_1, speed_2 = state.T
    cosine, sine = np.cos(angle_2), np.sin(angle_2)
    inertia_1 = 0.25 + (1.25 + cosine) + 2.0
    inertia_2 = (0.25 + 0.5 * cosine) + 1.0
    weight_2 = 0.5 * GRAVITY * np.cos(angle_1 + angle_2 - np.pi / 2)
    weight_1 = (
        -0.5 * speed_2**2 * sine - speed_2 * speed_1 * sine + 1.5 * GRAVITY * np.cos(angle_1 - np.pi / 2) + weight_2
    )
    acceleration_2 = (torque + inertia_2 / inertia_1 * weight_1 - 0.5 * speed_1**2 * sine - weight_2) / (
        0.25 + 1.0 - inertia_2**2 / inertia_1
    )
    acceleration_1 = -(inertia_2 * acceleration_2 + weight_1) / inertia_1
    return column(speed_1, speed_2, acceleration_1, acceleration_2)
