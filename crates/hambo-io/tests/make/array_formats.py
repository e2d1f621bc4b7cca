"""D4RL's flat HDF5 files and NumPy archives, written and read back by h5py and numpy."""

from pathlib import Path

import h5py
import numpy as np

from random_logs import Log
from rows import random_table

D4RL_NAMES = {
    "state": "observations",
    "action": "actions",
    "reward": "rewards",
    "next_state": "next_observations",
    "terminated": "terminals",
    "truncated": "timeouts",
}


def d4rl(log: Log, folder: Path, rng):
    table = random_table(
        log,
        rng,
        names=D4RL_NAMES,
        layouts=("matrix",),
        ids=("absent",),
        steps_allowed=False,
        flag_types=(np.bool_, np.bool_, np.uint8),
    )
    path = folder / "d4rl.hdf5"
    with h5py.File(path, "w") as file:
        for name, values in table.columns.items():
            file.create_dataset(name, data=values, **random_storage(rng, values.shape))
        if rng.random() < 0.7:
            add_d4rl_extras(file, rng, len(table.columns["rewards"]))
    with h5py.File(path, "r") as file:
        columns = {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}
    return path.name, table, columns


def random_storage(rng, shape) -> dict:
    compression = [None, "gzip", "lzf"][rng.integers(3)]
    if compression is None and rng.random() < 0.5:
        return {}  # contiguous
    chunks = (int(rng.integers(max(1, shape[0] // 20), shape[0] + 1)), *shape[1:])
    return {
        "compression": compression,
        "chunks": True if rng.random() < 0.3 else chunks,
        "maxshape": (None, *shape[1:]) if rng.random() < 0.3 else None,
        "shuffle": bool(compression and rng.random() < 0.3),
    }


def add_d4rl_extras(file: h5py.File, rng, rows: int) -> None:
    """What real D4RL files carry beside the transitions."""
    file.create_dataset("infos/qpos", data=rng.standard_normal((rows, 5)), compression="gzip")
    file.create_dataset("infos/action_log_probs", data=rng.standard_normal(rows))
    file.create_dataset("infos/rewards", data=rng.standard_normal(rows))
    file.create_dataset("metadata/algorithm", data="SAC")
    file.create_dataset("metadata/policy/fc0/weight", data=rng.standard_normal((4, 3)))
    file.create_dataset("metadata/iteration", data=3)
    file.attrs["description"] = "random numbers"


def npz(log: Log, folder: Path, rng):
    table = random_table(
        log,
        rng,
        layouts=("matrix",),
        own_names=bool(rng.random() < 0.3),
        ids=("integers", "absent"),
        flag_types=(np.bool_, np.bool_, np.uint8, np.float32),
    )
    path = folder / "npz.npz"
    arrays = dict(table.columns)
    if rng.random() < 0.2:
        arrays = {name: np.asfortranarray(values) for name, values in arrays.items()}
    if rng.random() < 0.4:
        arrays["env_name"] = np.array("Random-v0")
        arrays["gamma"] = np.array(0.99)
    save = np.savez if rng.random() < 0.5 else np.savez_compressed
    save(path, **arrays)
    with np.load(path) as archive:
        columns = {name: archive[name] for name in archive.files}
    return path.name, table, columns
