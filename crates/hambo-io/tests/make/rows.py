"""A log as a table of rows: which columns it has, how they are named and which types they have."""

from dataclasses import dataclass

import numpy as np

from expectation import CONVENTIONAL_NAMES
from random_logs import BOOLEAN, FLOAT, Log, with_visible_ends


@dataclass
class Table:
    """`columns` are [rows] or [rows, dim]; `mapping` is what a reader must be told about them."""

    log: Log
    columns: dict[str, np.ndarray]
    mapping: dict
    next_states_stored: bool


def random_table(
    log: Log,
    rng: np.random.Generator,
    *,
    names: dict[str, str] | None = None,
    layouts: tuple[str, ...],
    own_names: bool = False,
    ids: tuple[str, ...] = ("integers", "strings", "absent"),
    flag_types: tuple[type, ...] = (np.bool_,),
    steps_allowed: bool = True,
) -> Table:
    """`layouts` are the ways to store vectors: "wide" (one column per element) or "matrix"; `names` are fixed names, others are drawn."""
    id_kind = str(rng.choice(ids))
    has_steps = steps_allowed and rng.random() < 0.5
    has_next = rng.random() < 0.5
    has_truncations = rng.random() < 0.8
    log = with_visible_ends(log, rng, ids=id_kind != "absent", steps=has_steps, truncations=has_truncations)

    naming = Naming(rng, names or {}, own_names)
    table = Table(log, {}, dict(log.mapping), has_next)
    parts = split_into_parts(rng, log.state_kinds, layouts, naming)
    states = np.concatenate([episode.states[:-1] for episode in log.episodes])
    next_states = np.concatenate([episode.states[1:] for episode in log.episodes])
    add_parts(table, rng, "state", parts, states, naming)
    if has_next:
        add_parts(table, rng, "next_state", [part.after() for part in parts], next_states, naming)
    add_actions(table, rng, layouts, naming)

    rewards = np.concatenate([episode.rewards for episode in log.episodes])
    table.columns[naming.single(table, "reward")] = rewards.astype(random_type(rng, [log.reward_kind]))
    flag_type = flag_types[rng.integers(len(flag_types))]
    table.columns[naming.single(table, "terminated")] = flags(log, "terminated").astype(flag_type)
    if has_truncations:
        table.columns[naming.single(table, "truncated")] = flags(log, "truncated").astype(flag_type)
    lengths = [len(episode.rewards) for episode in log.episodes]
    if id_kind != "absent":
        table.columns[naming.single(table, "episode")] = np.repeat(random_ids(rng, id_kind, len(lengths)), lengths)
    if has_steps:
        first, stride = int(rng.integers(0, 2)), int(rng.choice([1, 1, 4]))
        numbers = np.concatenate([first + stride * np.arange(length) for length in lengths])
        table.columns[naming.single(table, "step")] = numbers.astype(rng.choice([np.int32, np.int64]))
    if rng.random() < 0.5:  # readers must find columns by name
        order = rng.permutation(list(table.columns))
        table.columns = {str(name): table.columns[str(name)] for name in order}
    return table


@dataclass
class Part:
    """Some neighbouring elements of the state, stored under one name."""

    name: str
    layout: str
    kinds: list[str]
    dtypes: list
    next_name: str

    def after(self) -> "Part":
        return Part(self.next_name, self.layout, self.kinds, self.dtypes, self.next_name)


class Naming:
    """Conventional names, or a user's own, which then need a mapping."""

    OWN_SINGLES = {
        "reward": ["score", "r", "income"],
        "terminated": ["failed", "goal reached"],
        "truncated": ["time_up", "cut"],
        "episode": ["run", "trajectory", "patient"],
        "step": ["tick", "minute"],
    }
    OWN_VECTORS = ["position", "speed", "joint", "lidar", "temperature", "pressure (bar)", "sensor_a", "x", "y", "z", "load", "price"]

    def __init__(self, rng, fixed: dict[str, str], own: bool):
        self.rng, self.fixed, self.own = rng, fixed, own
        self.unused_vectors = [str(name) for name in rng.permutation(self.OWN_VECTORS)]
        self.next_style = str(rng.choice(["next_{}", "{}_after", "{}'"]))

    def conventional(self, role: str) -> str:
        return self.fixed.get(role) or str(self.rng.choice(CONVENTIONAL_NAMES[role]))

    def single(self, table: Table, role: str) -> str:
        # A mapping may be partial: some of the names are then still the conventional ones.
        if not self.own or self.rng.random() < 0.3:
            return self.conventional(role)
        table.mapping[role] = str(self.rng.choice(self.OWN_SINGLES[role]))
        return table.mapping[role]


def split_into_parts(rng, kinds: list[str], layouts, naming: Naming) -> list[Part]:
    if not naming.own:
        state, following = naming.conventional("state"), naming.conventional("next_state")
        layout = random_layout(rng, layouts, len(kinds))
        return [Part(state, layout, kinds, part_types(rng, kinds, layout), following)]
    parts, start = [], 0
    while start < len(kinds):
        end = min(len(kinds), start + int(rng.integers(1, 6)))
        layout = random_layout(rng, layouts, end - start)
        name = naming.unused_vectors.pop()
        dtypes = part_types(rng, kinds[start:end], layout)
        parts.append(Part(name, layout, kinds[start:end], dtypes, naming.next_style.format(name)))
        start = end
    return parts


def random_layout(rng, layouts, dim: int) -> str:
    if dim == 1 and rng.random() < 0.5:
        return "scalar"
    return str(rng.choice(layouts))


def part_types(rng, kinds: list[str], layout: str) -> list:
    """A matrix has one type, wide columns one each."""
    return [random_type(rng, [kind]) for kind in kinds] if layout == "wide" else [random_type(rng, kinds)] * len(kinds)


def random_type(rng, kinds: list[str]):
    allowed = [np.float32, np.float64]
    if FLOAT not in kinds:
        allowed = [np.float32, np.float64, np.int64, np.int64]
    if set(kinds) == {BOOLEAN}:
        allowed = [np.float32, np.float64, np.int32, np.int64, np.bool_, np.bool_, np.uint8]
    return allowed[rng.integers(len(allowed))]


def narrowed(rng, values: np.ndarray, dtype):
    """int64 that fits becomes int32 half of the time."""
    if dtype == np.int64 and np.abs(values).max() < 2**31 and rng.random() < 0.5:
        return values.astype(np.int32)
    return values.astype(dtype)


def add_parts(table: Table, rng, role: str, parts: list[Part], values: np.ndarray, naming: Naming) -> None:
    start = 0
    for part in parts:
        end = start + len(part.kinds)
        if part.layout == "wide":
            for number in range(end - start):
                column = narrowed(rng, values[:, start + number], part.dtypes[number])
                table.columns[f"{part.name}_{number}"] = column
        elif part.layout == "scalar":
            table.columns[part.name] = narrowed(rng, values[:, start], part.dtypes[0])
        else:
            table.columns[part.name] = narrowed(rng, values[:, start:end], part.dtypes[0])
        start = end
    if naming.own:
        table.mapping[role] = [part.name for part in parts]


def add_actions(table: Table, rng, layouts, naming: Naming) -> None:
    log = table.log
    actions = np.concatenate([episode.actions for episode in log.episodes])
    name = str(rng.choice(["torque", "dose", "u"])) if naming.own else naming.conventional("action")
    if log.discrete_actions is not None:
        layout, dtypes = random_layout(rng, layouts, 1), [[np.int32, np.int64, np.uint8][rng.integers(3)]]
    else:
        layout = random_layout(rng, layouts, len(log.action_kinds))
        dtypes = part_types(rng, log.action_kinds, layout)
    add_parts(table, rng, "action", [Part(name, layout, log.action_kinds, dtypes, name)], actions, naming)


def flags(log: Log, name: str) -> np.ndarray:
    """True at most in an episode's last row."""
    columns = []
    for episode in log.episodes:
        column = np.zeros(len(episode.rewards), dtype=bool)
        column[-1] = getattr(episode, name)
        columns.append(column)
    return np.concatenate(columns)


def random_ids(rng, kind: str, count: int) -> np.ndarray:
    if kind == "strings":
        prefix = str(rng.choice(["ep-", "Ä ", "run,"]))
        return np.array([f"{prefix}{number}" for number in rng.choice(1000, size=count, replace=False)], dtype=object)
    style = rng.choice(["counted", "scattered", "large"])
    if style == "counted":
        return np.arange(count, dtype=rng.choice([np.int32, np.int64]))
    if style == "scattered":
        numbers = np.arange(-500, 100_000)
        return rng.choice(numbers, size=count, replace=False).astype(rng.choice([np.int32, np.int64]))
    # As RLlib draws them. Neighbours are one apart, which float64 cannot tell at this size.
    return (2**61 + rng.permutation(count)).astype(np.int64)
