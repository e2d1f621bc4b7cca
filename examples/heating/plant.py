"""Two heated buildings with a slab under the floor, in winter, logged every quarter of an hour.

The heater warms the slab, the slab warms the room, the room loses heat to the outside, and the sun helps. Today's
controllers hold a temperature that is lower at night. A day costs energy, and discomfort below 20 degrees.

    python plant.py --days 60 --seed 7 --out logs.csv
    python plant.py --truth
"""

import argparse
import csv
import datetime
import time
from collections.abc import Callable

import numpy as np
from policies import POLICIES, today

STEP_HOURS = 0.25
STEPS_PER_DAY = 96
BUILDINGS = ("A", "B")
# Hours in which the room loses its warmth: building B is the draughtier one.
TO_OUTSIDE_HOURS = {"A": 9.0, "B": 7.5}
MEASURED = ("room_temp_C", "slab_temp_C", "outdoor_temp_C", "solar_W_m2", "hour_sin", "hour_cos")
FIRST_DAY = datetime.datetime(2025, 11, 1)

Policy = Callable[[np.ndarray], np.ndarray]


def clear_sky(hour: float) -> float:
    """Sunshine in W/m2 without clouds."""
    return max(0.0, np.sin((hour - 7.5) / 10 * np.pi)) * 450 if 7.5 < hour < 17.5 else 0.0


def usual_outdoor(hour: float) -> float:
    """What the temperature outside goes back to."""
    return 2.0 + 4.5 * np.sin((hour - 9) / 24 * 2 * np.pi)


def clock(step: int) -> tuple[float, float]:
    """Time of day as an angle's sine and cosine."""
    angle = 2 * np.pi * step / STEPS_PER_DAY
    return np.sin(angle), np.cos(angle)


def inputs(plant: np.ndarray, building: str, step: int) -> np.ndarray:
    """What the policies look at: the columns INPUTS."""
    others = np.tile([clock(step)[1], float(building == "B")], (len(plant), 1))
    return np.concatenate([plant[:, :1], others], axis=1)


def advance(plant: np.ndarray, heater: np.ndarray, building: str, step: int, rng: np.random.Generator) -> np.ndarray:
    """A quarter of an hour later."""
    room, slab, outdoor, sun = plant.T
    hour, soon = step * STEP_HOURS, (step + 1) % STEPS_PER_DAY * STEP_HOURS
    noise = rng.normal(0, [0.04, 0.03, 0.35, 18.0], plant.shape).T
    room_gain = (slab - room) / 3.0 + (outdoor - room) / TO_OUTSIDE_HOURS[building] + 0.0011 * sun
    slab_gain = (2.6 * heater - (slab - room)) / 3.0
    shines = clear_sky(soon) > 0
    next_sun = np.maximum(0.0, sun + 0.35 * (0.6 * clear_sky(soon) - sun) + noise[3]) if shines else 0.7 * sun
    return np.stack(
        [
            room + STEP_HOURS * room_gain + noise[0],
            slab + STEP_HOURS * slab_gain + noise[1],
            outdoor + 0.03 * (usual_outdoor(hour) - outdoor) + noise[2],
            np.where(next_sun > 1, next_sun, 0.0),
        ],
        axis=1,
    )


def cost(heater: np.ndarray, next_room: np.ndarray) -> np.ndarray:
    """EUR of a step: 0.30 a kWh, and discomfort below 20 degrees."""
    return 0.30 * heater * STEP_HOURS + 0.4 * np.maximum(0.0, 20 - next_room) ** 2


def play_day(
    plant: np.ndarray, policy: Policy, building: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """What a day costs, where it ends, and its steps, for many plants at a time."""
    total, steps = np.zeros(len(plant)), []
    for step in range(STEPS_PER_DAY):
        before, heater = plant, np.clip(policy(inputs(plant, building, step))[:, 0], 0.0, 8.0)
        plant = advance(plant, heater, building, step, rng)
        eur = cost(heater, plant[:, 0])
        total += eur
        steps.append((before, heater, eur))
    return total, plant, steps


def settled(count: int, building: str, rng: np.random.Generator) -> np.ndarray:
    """Plants at midnight, after a week with today's controller."""
    plant = np.tile([20.3, 23.5, -1.5, 0.0], (count, 1))
    for _ in range(7):
        _, plant, _ = play_day(plant, today, building, rng)
    return plant


def logs(days: int, seed: int, missing: float = 0.002) -> tuple[list[str], list[list[str]]]:
    """A header and rows, as a historian exports them: building after building, some sensors silent at times."""
    rng = np.random.default_rng(seed)
    rows = []
    for building in BUILDINGS:
        plant = settled(1, building, rng)
        for day in range(days):
            _, plant, steps = play_day(plant, today, building, rng)
            for step, (measured, heater, eur) in enumerate(steps):
                when = FIRST_DAY + datetime.timedelta(days=day, hours=step * STEP_HOURS)
                cells = [f"{value:.4f}" for value in (*measured[0], *clock(step))]
                for column in (0, 2, 3):
                    if rng.random() < missing:
                        cells[column] = ""
                rows.append([str(when), building, *cells, f"{heater[0]:.4f}", f"{eur[0]:.4f}"])
    return ["timestamp", "building", *MEASURED, "heater_kW", "cost_eur"], rows


def true_return(policy: Policy, days: int, seed: int) -> tuple[float, float]:
    """Minus what a day costs, over both buildings, from where logged days start, and its standard error."""
    rng = np.random.default_rng(seed)
    found = []
    for building in BUILDINGS:
        total, _, _ = play_day(settled(days // 2, building, rng), policy, building, rng)
        found.append(-total)
    means = [float(np.mean(part)) for part in found]
    error = np.sqrt(sum(np.var(part) / len(part) for part in found)) / 2
    return float(np.mean(means)), float(error)


def main() -> None:
    """Write the log, or print the true returns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=60, help="days per building")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", default="logs.csv")
    parser.add_argument("--truth", action="store_true", help="what the policies really earn a day")
    args = parser.parse_args()
    if args.truth:
        for name, policy in POLICIES.items():
            begun = time.perf_counter()
            mean, error = true_return(policy, 4000, args.seed)
            print(f"{name}: {mean:.2f} EUR a day, standard error {error:.2f}, {time.perf_counter() - begun:.1f} s")
        return
    header, rows = logs(args.days, args.seed)
    with open(args.out, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    print(f"{len(rows)} rows written to {args.out}")


if __name__ == "__main__":
    main()
