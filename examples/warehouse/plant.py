"""One product in two warehouses: stock in whole pieces, reviewed every hour.

What happens in an hour: the rule looks at the shelf and orders; customers come (Poisson, with a
pattern over the day) and whoever finds an empty shelf buys elsewhere; then the van that is due in
one hour arrives. An order arrives after four hours. The planner gives each warehouse a level for
every day of the week, and the logged rule fills up to it whenever more than 20 pieces are missing.

The cost of an hour: 0.04 EUR for each piece left on the shelf, 3 EUR for each piece that a customer
wanted and did not get, 6 EUR for each order. All that matters for the next hour is in the log.

    python plant.py --days 60 --seed 0 --out logs.csv
    python plant.py --truth
"""

import argparse
import csv
import time
from datetime import datetime, timedelta

import numpy as np
import policies

HOURS = 24
FIRST_DAY = datetime(2025, 11, 1)
WARM_UP_DAYS = 7  # after a week nothing is left of the made-up first state
MISSING = 0.003  # share of cells that the scanner failed to send
MEASURED = ["stock_pcs", "demand_pcs"]

BEFORE_NOON = [0.3, 0.2, 0.2, 0.2, 0.4, 0.8, 2, 4, 6, 7, 8, 8]
AFTER_NOON = [7, 6, 6, 7, 8, 8, 6, 4, 2, 1, 0.6, 0.4]
MEAN_DEMAND = np.array(BEFORE_NOON + AFTER_NOON)  # pieces per hour
WAREHOUSES = ["north", "south"]
NORTH = [60, 60, 62, 64, 68, 70, 64]  # Monday to Sunday
SOUTH = [54, 54, 56, 58, 62, 64, 58]
LEVELS = np.array([NORTH, SOUTH])
HOLDING_EUR, LOST_EUR, ORDER_EUR = 0.04, 3.0, 6.0


def first_states(warehouse, weekday):
    """Midnight with 50 pieces on the shelf and nothing on order; columns as in INPUTS."""
    states = np.zeros((len(warehouse), len(policies.INPUTS)))
    states[:, policies.STOCK] = 50
    states[:, policies.LEVEL] = LEVELS[warehouse, weekday]
    return states


def step(states, order, next_level, rng):
    """One hour for a batch of warehouses: next states and costs in EUR."""
    hour, _, stock, due_1, due_2, due_3, _ = states.T
    demand = rng.poisson(MEAN_DEMAND[hour.astype(int)])
    left = np.maximum(stock - demand, 0)
    lost = np.maximum(demand - stock, 0)
    cost = HOLDING_EUR * left + LOST_EUR * lost + ORDER_EUR * (order > 0)
    next_hour = (hour + 1) % HOURS
    return np.stack([next_hour, next_level, left + due_1, due_2, due_3, order, demand], 1), cost


def run(policy, states, warehouse, weekday, hours, rng):
    """Play `policy` from midnight on; yields states, orders and costs hour by hour."""
    for t in range(hours):
        order = np.clip(np.round(policy(states)[:, 0]), 0, policies.MAX_ORDER)
        next_day = (weekday + (t + 1) // HOURS) % 7
        next_states, cost = step(states, order, LEVELS[warehouse, next_day], rng)
        yield states, order, cost
        states = next_states


def warmed_up(warehouse, weekday, rng):
    """States at midnight of `weekday` as the logged rule leaves them."""
    week_ago = first_states(warehouse, weekday)
    hours = WARM_UP_DAYS * HOURS + 1
    *_, last = run(policies.today, week_ago, warehouse, weekday, hours, rng)
    return last[0]


def logs(days, seed):
    """The log of both warehouses, as a list of rows; None is a missing value."""
    rng = np.random.default_rng(seed)
    warehouse = np.arange(len(WAREHOUSES))
    weekday = np.full(len(WAREHOUSES), FIRST_DAY.weekday())
    states = warmed_up(warehouse, weekday, rng)
    played = list(run(policies.today, states, warehouse, weekday, days * HOURS, rng))
    rows = []
    for w, name in enumerate(WAREHOUSES):
        for t, (states, order, cost) in enumerate(played):
            rows.append(row(name, t, states[w], order[w], cost[w], rng))
    return rows


def row(name, t, state, order, cost, rng):
    """One line of the log."""
    values = {"timestamp": str(FIRST_DAY + timedelta(hours=t)), "warehouse": name}
    values |= {column: int(x) for column, x in zip(policies.INPUTS, state, strict=True)}
    values["on_order_pcs"] = values["due_1_pcs"] + values["due_2_pcs"] + values["due_3_pcs"]
    values |= {"order_pcs": int(order), "cost_eur": round(float(cost), 2)}
    for column in MEASURED:
        if rng.random() < MISSING:
            values[column] = None
    return values


def daily_returns(policy, horizon, episodes, seed):
    """Returns (minus the cost in EUR) of days that start as the logged ones do."""
    rng = np.random.default_rng(seed)
    warehouse = np.arange(episodes) % len(WAREHOUSES)
    weekday = rng.integers(0, 7, episodes)
    states = warmed_up(warehouse, weekday, rng)
    return -sum(cost for _, _, cost in run(policy, states, warehouse, weekday, horizon, rng))


def true_return(policy, horizon=HOURS, episodes=20_000, seed=1):
    """Mean return in EUR of `policy` over `horizon` hours from midnight, and its standard error."""
    returns = daily_returns(policy, horizon, episodes, seed)
    return returns.mean(), returns.std() / np.sqrt(episodes)


def print_truth():
    """What the three policies really earn in a day."""
    for name, policy in policies.POLICIES.items():
        began = time.perf_counter()
        returns = daily_returns(policy, HOURS, 20_000, 1)
        mean, error = returns.mean(), returns.std() / np.sqrt(len(returns))
        seconds = time.perf_counter() - began
        spread = 100 * returns.std() / abs(mean)
        days = f"days vary by {spread:.0f} %"
        print(f"{name:7} {mean:8.2f} +- {error:.2f} EUR, {days}, {seconds:.1f} s")


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
