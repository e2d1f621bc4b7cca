"""The authors' mean scaled bounds, by environment, data set, size, horizon and variant; and their learners' scores."""

AUTHORS: dict[tuple[str, str, int, int], dict[str, float]] = {
    ("pendulum", "mixed", 10_000, 200): {"CA": 0.48, "DAinf": -0.07, "DA1": -1.06},
    ("pendulum", "mixed", 100_000, 200): {"CA": 0.50, "DAinf": 0.13, "DA1": -0.54},
    ("pendulum", "mixed", 1_000_000, 200): {"CA": 0.74, "DAinf": 0.26, "DA1": -0.42},
    ("pendulum", "mixed", 100_000, 400): {"CA": -0.08, "DAinf": -1.23, "DA1": -2.51},
    ("hopper", "mixed", 10_000, 200): {"CA": 0.24, "DAinf": 0.36, "DA1": 0.17},
    ("hopper", "mixed", 100_000, 200): {"CA": 0.21, "DAinf": 0.81, "DA1": 0.31},
    ("hopper", "mixed", 1_000_000, 200): {"CA": 0.74, "DAinf": 0.88, "DA1": 0.46},
    ("hopper", "mixed", 100_000, 400): {"CA": 0.30, "DAinf": 0.52, "DA1": -0.43},
    ("halfcheetah", "mixed", 100_000, 100): {"CA": 0.57, "DAinf": 0.80, "DA1": 0.49},
    ("halfcheetah", "mixed", 1_000_000, 100): {"CA": 0.71, "DAinf": 0.84, "DA1": 0.54},
}

LEARNERS: dict[tuple[str, str], dict[str, float]] = {
    ("halfcheetah", "random"): {"CA": 37.1, "DA1": 35.1},
    ("halfcheetah", "medium"): {"CA": 66.9, "DA1": 67.9},
}
"""Scores as D4RL's of policies that the authors learned, on D4RL's own data sets of 10^6 transitions."""
