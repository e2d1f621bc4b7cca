"""Logs as d3rlpy takes them."""

from typing import Any

import d3rlpy
import pyarrow
from data import block
from environments import Environment


def as_d3rlpy(environment: Environment, table: pyarrow.Table) -> tuple[d3rlpy.dataset.MDPDataset, dict[str, Any]]:
    """The data, and what brings it to standardised observations and actions within [-1, 1], as d3rlpy recommends."""
    data = d3rlpy.dataset.MDPDataset(
        block(table, "obs"),
        block(table, "action"),
        table["reward"].to_numpy(),
        table["terminated"].to_numpy(),
        table["truncated"].to_numpy(),
    )
    space = environment.make().action_space
    scalers = {
        "observation_scaler": d3rlpy.preprocessing.StandardObservationScaler(),
        "action_scaler": d3rlpy.preprocessing.MinMaxActionScaler(minimum=space.low, maximum=space.high),
    }
    return data, scalers
