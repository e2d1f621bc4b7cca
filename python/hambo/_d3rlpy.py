"""Replay buffers of d3rlpy, by way of the files that they write."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ._checks import given_as
from ._dataset import Dataset
from .errors import SettingError

__all__ = ["from_d3rlpy"]


def from_d3rlpy(buffer: Any) -> Dataset:
    """The episodes of a buffer, as its file has them."""
    if isinstance(buffer, (str, os.PathLike)):
        return Dataset.open(buffer)
    if not callable(getattr(buffer, "dump", None)) or not hasattr(buffer, "dataset_info"):
        raise SettingError(f"{given_as(buffer)} is no replay buffer of d3rlpy; give one, or the file that it dumped")
    about = buffer.dataset_info
    is_choice = getattr(about.action_space, "name", "") == "DISCRETE"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "buffer.h5"
        with path.open("w+b") as file:
            buffer.dump(file)
        return Dataset.open(path, discrete_actions=int(about.action_size) if is_choice else None)
