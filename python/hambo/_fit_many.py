"""Several fits: of one data set with several seeds, or of several data sets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._checks import checked_mapping, checked_seed
from ._dataset import Dataset
from ._model import Model, fit
from ._progress import ProgressOption, watched
from ._ray import on_cluster
from ._settings import Ensemble, GaussianProcess
from .errors import SettingError

__all__ = ["fit_many"]


def fit_many(
    data: Mapping[str, Dataset | str | os.PathLike[str]],
    settings: Ensemble | GaussianProcess | None = None,
    *,
    seeds: Sequence[int] = (0,),
    on: str | None = None,
    progress: ProgressOption = None,
    **options: Any,
) -> dict[tuple[str, int], Model]:
    """Fit a model of every data set with every seed.

    Parameters
    ----------
    data
        Data sets by name, or what `Dataset.open` reads, which must then be there on every machine.
    settings, progress, options
        As for `fit`.
    seeds
        One model each.
    on
        ``"ray"`` or the address of a Ray cluster: every model is a task there. As for `rank`.

    Returns
    -------
    dict
        Models by the name of the data and the seed.
    """
    named = checked_mapping(data, "data", "data sets")
    if not named or not seeds:
        raise SettingError("there is nothing to fit; give at least one data set and one seed")
    jobs: dict[tuple[str, int], dict[str, Any]] = {}
    for name, one in named.items():
        given = one if isinstance(one, Dataset) else str(Path(one).absolute())
        for seed in map(checked_seed, seeds):
            jobs[name, seed] = {"data": given, "settings": settings, "seed": seed, **options}
    with watched(progress, len(jobs)) as course:
        if on is None:
            return {key: _fitted(None, **job, progress=course) for key, job in jobs.items()}
        tasks = {f"{name}, seed {seed}": job for (name, seed), job in jobs.items()}
        found = on_cluster(on, _fitted, None, tasks, course)
        return dict(zip(jobs, found.values(), strict=True))


def _fitted(_shared: None, *, data: Dataset | str, settings: Any, **options: Any) -> Model:
    opened = data if isinstance(data, Dataset) else Dataset.open(data)
    model: Model = fit(opened, settings, **options)
    return model
