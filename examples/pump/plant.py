"""A pump fills a water tank through a filter that clogs.

A town takes water from the tank, more in the morning and evening, with chance swings that last for
hours. The pump lifts water through a filter into the tank. The filter's resistance is dp / flow; it
grows with the water that went through and falls when the filter is backwashed: at 02:00, if dp
would be above 72 kPa at 300 m3/h. A backwash takes 60 m3 from the tank. It never brings back a new
filter: what stays behind grows by 2 % of the new filter's resistance a day, so later days differ.

The cost of 15 minutes: energy at the hour's price, 10 EUR if the tank is below 0.5 m at their end,
10 EUR if it is full and overflows. A row tells level, demand and price now, and flow and dp as they
were over the past 15 minutes.

    python plant.py --days 60 --seed 0 --out logs.csv
    python plant.py --truth
"""

import argparse
import copy
import csv
import time
from datetime import datetime, timedelta

import numpy as np
import policies

STEPS = 96
STEP_H = 24 / STEPS
FIRST_DAY = datetime(2025, 11, 1)
LOGGED = range(60)
WARM_UP_DAYS = 8  # two backwashes, so that nothing is left of the made-up first state
MISSING = 0.003  # share of cells that the historian failed to store
MEASURED = ["tank_level_m", "filter_dp_kPa"]

TANK_M2, TANK_M, LOW_M, FINE_EUR = 300.0, 4.0, 0.5, 10.0
SETPOINTS_M = np.array([2.0, 2.4, 2.8])  # three crews take turns, a day each
MEAN_DEMAND = 240.0  # m3/h
SWING, SWING_KEPT = 0.055, 0.97  # spread of the chance swings, and how much of one stays per step

PRESSURE, STATIC, PIPE = 400.0, 10.0, 0.0012  # kPa at full speed; kPa; kPa / (m3/h)^2
IDLE_KW, LOAD_KW = 60.0, 0.12  # at full speed; per m3/h
NEW_FILTER, AGEING = 0.06, 0.02  # kPa / (m3/h); share per day
CLOGGING = 8e-6  # kPa / (m3/h) per m3
WASH_HOUR, WASH_ABOVE, WASH_M3 = 2.0, 72 / 300, 60.0
SENSOR = 0.003  # relative noise of flow and dp


def price(hour):
    """The tariff in EUR/kWh: cheap nights, dear evenings."""
    night = (hour < 6) | (hour >= 22)
    evening = (hour >= 17) & (hour < 21)
    return np.where(night, 0.14, np.where(evening, 0.36, 0.24))


def usual_demand(hour):
    """Mean demand in m3/h: little at night, peaks around 08:00 and 19:00."""
    peaks = np.exp(-(((hour - 8) / 2.5) ** 2)) + np.exp(-(((hour - 19) / 2.5) ** 2))
    return MEAN_DEMAND * (0.72 + 0.76 * peaks)


def pump_flow(speed, resistance):
    """Flow in m3/h at which the pump's pressure balances lift, pipe and filter."""
    drive = np.maximum(PRESSURE * speed**2 - STATIC, 0)
    return (np.sqrt(resistance**2 + 4 * PIPE * drive) - resistance) / (2 * PIPE)


class Plant:
    """A batch of plants that advance together."""

    def __init__(self, count, rng):
        """Midnight before the warm-up, with filters somewhere between clean and clogged."""
        self.rng, self.day, self.steps = rng, -WARM_UP_DAYS, 0
        self.level = rng.uniform(2.0, 3.0, count)
        self.swing = rng.normal(0, SWING, count)
        self.resistance = rng.uniform(NEW_FILTER, WASH_ABOVE, count)
        self.flow = pump_flow(0.5, self.resistance)
        self.dp = self.resistance * self.flow

    def hour(self):
        """Time of day in hours."""
        return self.steps * STEP_H

    def states(self):
        """What the sensors show, in the order of INPUTS, to three decimals."""
        setpoint = SETPOINTS_M[self.day % 3]
        hour = self.hour()
        demand = usual_demand(hour) * np.exp(self.swing)
        columns = [hour, price(hour), setpoint, self.level, demand, self.flow, self.dp]
        return np.round(np.stack(np.broadcast_arrays(*columns), 1), 3)

    def step(self, speed_pct):
        """Run the pump for 15 minutes; gives the cost in EUR."""
        n, states, now = len(self.level), self.states(), price(self.hour())
        speed = np.clip(speed_pct, 20, 100) / 100
        washed = self.backwash(states)
        flow = pump_flow(speed, self.resistance)
        gained = (flow - states[:, policies.DEMAND]) * STEP_H - washed
        self.level = np.clip(states[:, policies.LEVEL] + gained / TANK_M2, 0, TANK_M)
        self.flow = flow * (1 + self.rng.normal(0, SENSOR, n))
        self.dp = self.resistance * flow * (1 + self.rng.normal(0, SENSOR, n))
        dirt = self.rng.gamma(4, 1 / 4, n)  # mean 1, never negative
        self.resistance = self.resistance + CLOGGING * flow * STEP_H * dirt
        fresh = np.sqrt(1 - SWING_KEPT**2)  # keeps the spread of the swings at SWING
        self.swing = SWING_KEPT * self.swing + fresh * self.rng.normal(0, SWING, n)
        self.steps = (self.steps + 1) % STEPS
        self.day += self.steps == 0
        energy = (IDLE_KW * speed**3 + LOAD_KW * flow * speed**2) * STEP_H  # affinity laws
        return energy * now + FINE_EUR * ((self.level < LOW_M) | (self.level >= TANK_M))

    def backwash(self, states):
        """Clean the filters that need it; gives the water in m3 that this took."""
        seen = states[:, policies.DP] / np.maximum(states[:, policies.FLOW], 1)
        wash = (self.hour() == WASH_HOUR) & (seen > WASH_ABOVE)
        clean = NEW_FILTER * (1 + AGEING * max(self.day, 0))
        self.resistance = np.where(wash, clean, self.resistance)
        return WASH_M3 * wash


def run(plant, policy, steps):
    """Play `policy`; yields states, speeds and costs step by step."""
    for _ in range(steps):
        states = plant.states()
        speed = policy(states)[:, 0]
        yield states, speed, plant.step(speed)


def midnights(days, count, rng):
    """Plants at midnight of each of `days`, as the logged controller leaves them."""
    plant, found = Plant(count, rng), []
    for day in range(-WARM_UP_DAYS, max(days) + 1):
        if day in days:
            found.append(copy.copy(plant))
        list(run(plant, policies.today, STEPS))
    return found


def logs(days, seed):
    """The log as a list of rows; None is a missing value."""
    rng = np.random.default_rng(seed)
    (plant,) = midnights([0], 1, rng)
    played = run(plant, policies.today, days * STEPS)
    return [row(t, s[0], speed[0], cost[0], rng) for t, (s, speed, cost) in enumerate(played)]


def row(t, state, speed, cost, rng):
    """One line of the log."""
    values = {"timestamp": str(FIRST_DAY + timedelta(hours=t * STEP_H))}
    values |= {column: float(x) for column, x in zip(policies.INPUTS, state, strict=True)}
    values |= {"pump_speed_pct": round(float(speed), 2), "cost_eur": round(float(cost), 4)}
    for column in MEASURED:
        if rng.random() < MISSING:
            values[column] = None
    return values


def daily_returns(policy, horizon, episodes, seed, days=LOGGED):
    """Returns (minus the cost in EUR), [history, day], that start as the logged days do."""
    histories = max(episodes // len(days), 2)
    starts = midnights(days, histories, np.random.default_rng(seed))
    return np.stack([-sum(c for *_, c in run(plant, policy, horizon)) for plant in starts], 1)


def true_return(policy, horizon=STEPS, episodes=12_000, seed=1, days=LOGGED):
    """Mean return in EUR of `policy` from midnight of one of `days`, and its standard error."""
    returns = daily_returns(policy, horizon, episodes, seed, days)
    histories = returns.mean(1)  # days of one history are not independent
    return histories.mean(), histories.std(ddof=1) / np.sqrt(len(histories))


def print_truth():
    """What the three policies really earn in a day, in the log's 60 days and in the 30 after."""
    for name, policy in policies.POLICIES.items():
        began = time.perf_counter()
        mean, error = true_return(policy)
        later, later_error = true_return(policy, days=range(60, 90))
        print(f"{name:7} {mean:.2f} +- {error:.2f} EUR, in the 30 days after", end=" ")
        print(f"{later:.2f} +- {later_error:.2f}, {time.perf_counter() - began:.1f} s")


def main():
    """Write the log, or print the true returns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="logs.csv")
    parser.add_argument("--truth", action="store_true", help="print the true returns instead")
    arguments = parser.parse_args()
    if arguments.truth:
        print_truth()
        return
    rows = logs(arguments.days, arguments.seed)
    with open(arguments.out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
