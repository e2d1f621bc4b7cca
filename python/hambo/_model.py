"""Fitted models: made once per dataset, used by every evaluation."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._checks import checked_count, checked_folder, checked_seed, checked_threads, given_as
from ._dataset import Dataset
from ._documents import with_arrays
from ._effort import Effort, checked_effort, with_effort
from ._functions import Array
from ._progress import ProgressOption, watched
from ._settings import Ensemble, GaussianProcess
from .errors import SettingError

__all__ = ["EnsembleModel", "GaussianProcessModel", "Model", "Prediction", "fit", "load"]

_log = logging.getLogger("hambo")


class Prediction(NamedTuple):
    """Predictions ``[batch, outputs]``: the next state, followed by the reward if it is learned."""

    mean: Array
    epistemic_std: Array
    """What more data would remove."""
    aleatoric_std: Array
    """What no data would remove."""


def _blocks(states: npt.ArrayLike, actions: npt.ArrayLike) -> tuple[Array, Array]:
    rows = (np.require(states, np.float32, ["C", "A"]), np.require(actions, np.float32, ["C", "A"]))
    for name, block in zip(("states", "actions"), rows, strict=True):
        if block.ndim != 2:
            raise SettingError(f"`{name}` has shape {block.shape}; give [batch, width]")
    return rows


class Model:
    """A fitted and calibrated model of the dynamics. Made by `fit` or `load`."""

    __slots__ = ("_about", "_identity", "_inner")
    _inner: _native.Model
    _about: dict[str, Any]
    _identity: str | None

    def __init__(self) -> None:
        raise TypeError("make a model with hambo.fit or hambo.load")

    @staticmethod
    def load(directory: str | os.PathLike[str]) -> Model:
        """Load what `save` wrote. Loading executes nothing, and refuses files that have changed."""
        return _wrap(_native.Model.load(os.fspath(directory)))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Save the model, with its data's initial states, to a folder that does not exist yet.

        The ``hambo`` command and the Rust library load it, too.
        """
        self._inner.save(os.fspath(directory))

    def predict(self, states: npt.ArrayLike, actions: npt.ArrayLike) -> Prediction:
        """What follows states ``[batch, d_s]`` and actions ``[batch, d_a]``, and how sure that is.

        A model with a `history` takes them for the first states of their episodes.
        """
        return Prediction(*self._inner.predict(*_blocks(states, actions)))

    def predict_member(self, member: int, states: npt.ArrayLike, actions: npt.ArrayLike) -> tuple[Array, Array]:
        """What one network alone says follows: mean and noise, each ``[batch, outputs]``."""
        return self._inner.predict_member(member, *_blocks(states, actions))

    def draw(self, states: npt.ArrayLike, actions: npt.ArrayLike, *, seed: int = 0) -> Array:
        """One draw per row of what follows, ``[batch, outputs]``, each by a random member with its noise."""
        return self._inner.draw(*_blocks(states, actions), checked_seed(seed))

    @property
    def initial_states(self) -> Array | None:
        """The first states of the data's episodes, or None for a model that was saved without them."""
        return self._inner.initial_states

    @property
    def state_dim(self) -> int:
        """Columns of a state."""
        return int(self._about["state_dim"])

    @property
    def action_dim(self) -> int:
        """Columns of an action."""
        return int(self._about["action_dim"])

    @property
    def choices(self) -> list[int]:
        """What actions are made of: how many values each choice has, and 0 for a number."""
        return list(self._about["choices"])

    @property
    def state_names(self) -> list[str]:
        """Names of the state columns, as expressions use them."""
        return list(self._about["state_names"])

    @property
    def action_names(self) -> list[str]:
        """Names of the action columns, as expressions use them."""
        return list(self._about["action_names"])

    @property
    def history(self) -> int:
        """Earlier steps that the model sees beside the present one."""
        return int(self._about["history"])

    @property
    def predicts_reward(self) -> bool:
        """Whether the reward was learned, so that evaluations need none."""
        return bool(self._about["predicts_reward"])

    @property
    def calibration(self) -> dict[str, Any]:
        """Temperatures, calibration errors and the reliability curve, with one row or value per output."""
        return dict(with_arrays(self._about["calibration"]))

    @property
    def persistence(self) -> dict[str, Any]:
        """Per output: ``autocorrelation``, of an error with the one in the step before, and ``unexplained``, the
        errors' variance as a share of that of what is predicted. Both are measured on episodes that were not seen."""
        return dict(with_arrays(self._about["persistence"]))

    @property
    def data(self) -> dict[str, Any]:
        """Which data it was made of: counts and fingerprint."""
        return dict(self._about["data"])

    @property
    def fit_report(self) -> dict[str, Any]:
        """How the fitting went."""
        return dict(with_arrays(self._about["report"]))

    @property
    def effort(self) -> str | None:
        """The `effort` that it was fitted with; None for a model that the ``hambo`` command made without a preset."""
        effort: str | None = self._about["preset"]
        return effort

    def __repr__(self) -> str:
        data = self.data
        return (
            f"{type(self).__name__}({self.state_dim} states, {self.action_dim} actions, "
            f"{'with' if self.predicts_reward else 'without'} reward; of {data['rows']:,} transitions in "
            f"{data['episodes']:,} episodes; calibration error {self.calibration['error_after']:.4f})"
        )

    def _fingerprint(self) -> str:
        """Changes with everything that an evaluation depends on."""
        if self._identity is None:
            self._identity = self._inner.fingerprint()
        return self._identity

    def __reduce__(self) -> tuple[Any, ...]:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "model"
            self.save(directory)
            files = {path.name: path.read_bytes() for path in directory.iterdir()}
        return _unpickled, (files,)


class EnsembleModel(Model):
    """A Bayesian neural network: nothing is proven about it, its uncertainty is a calibrated heuristic."""

    __slots__ = ()

    @property
    def members(self) -> int:
        """Number of networks."""
        return int(self._about["members"])


class GaussianProcessModel(Model):
    """Gaussian processes, whose confidence region is proven on assumptions that results list."""

    __slots__ = ()


def _wrap(native: _native.Model) -> Model:
    about = json.loads(native.about())
    cls = EnsembleModel if about["members"] else GaussianProcessModel
    self = object.__new__(cls)
    self._inner, self._about, self._identity = native, about, None
    return self


def _unpickled(files: dict[str, bytes]) -> Model:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return _wrap(_native.Model.load(folder))


def load(directory: str | os.PathLike[str]) -> Model:
    """Load a saved model. Loading executes nothing, and refuses files that have changed."""
    return Model.load(directory)


@overload
def fit(
    data: Dataset,
    settings: Ensemble | None = None,
    *,
    effort: Effort = "standard",
    seed: int = 0,
    calibration_share: float = 0.1,
    temperatures: Literal["per_output", "shared"] = "per_output",
    range_widening: float = 0.5,
    history: int = 0,
    progress: ProgressOption = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> EnsembleModel: ...


@overload
def fit(
    data: Dataset,
    settings: GaussianProcess,
    *,
    effort: Effort = "standard",
    seed: int = 0,
    calibration_share: float = 0.1,
    temperatures: Literal["per_output", "shared"] = "per_output",
    range_widening: float = 0.5,
    progress: ProgressOption = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> GaussianProcessModel: ...


def fit(
    data: Dataset,
    settings: Ensemble | GaussianProcess | None = None,
    *,
    effort: Effort = "standard",
    seed: int = 0,
    calibration_share: float = 0.1,
    temperatures: Literal["per_output", "shared"] = "per_output",
    range_widening: float = 0.5,
    history: int = 0,
    progress: ProgressOption = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Model:
    """Fit a model of the dynamics, and calibrate it on episodes that it has not seen.

    Parameters
    ----------
    data
        At least three episodes.
    settings
        `Ensemble` (the default) or `GaussianProcess`.
    effort
        ``"quick"`` for small networks and few steps, ``"thorough"`` for more steps. What the settings were given wins.
        Bounds from a quick model are a first look, which certifies nothing unless ``accept_weaker`` of an evaluation
        names ``max_steps`` and ``hidden``.
    seed
        The same seed and data give the same model, on any number of threads.
    calibration_share
        Share of the rows, in whole episodes, set aside for calibration.
    temperatures
        One calibration temperature per output, or one for all.
    range_widening
        Hallucinated states of evaluations without `state_bounds` stay in the data's range, widened on
        both sides by this share of its width.
    history
        Earlier steps that the model sees beside the present one: for states that leave out something with a memory,
        such as the temperature of a wall. Policies and rules see the present state as before.
    progress
        A callback for `Progress` events, True or False for a bar or none; by default a bar if tqdm is
        installed and somebody looks.
    threads
        How many threads compute; one per core by default, or what `set_threads` said. No result depends on it.
    checkpoint
        A folder in which unfinished work is kept, and what is finished. The same call, given the same folder, goes on
        there after an interruption, and ends with the same result. One folder may serve several calls.
    """
    if not isinstance(data, Dataset):
        raise SettingError(
            f"the data is {given_as(data)}; make a Dataset of it, for instance with Dataset.from_arrays or Dataset.open"
        )
    checked_effort(effort)
    settings = _with_effort(settings, effort)
    kind = "gp" if isinstance(settings, GaussianProcess) else "ensemble"
    document = {
        kind: settings._document(),
        "calibration_share": calibration_share,
        "temperatures": temperatures,
        "range_widening": range_widening,
        "history": checked_count(history, "history"),
    }
    seed = checked_seed(seed)
    text, folder, threads = json.dumps(document), checked_folder(checkpoint), checked_threads(threads)
    finished = None if folder is None else Path(folder) / f"model-{_name(text, effort, seed, data)}"
    if finished is not None and finished.exists():
        _log.info("the model is in %s already", finished)
        return load(finished)
    with watched(progress) as course:
        native = _native.Model.fit(
            data._inner, text, effort, seed, progress=course.listener, threads=threads, checkpoint=folder
        )
    model = _wrap(native)
    _log.info("fitted %r", model)
    if finished is not None:
        model.save(finished)
    return model


def _name(settings: str, effort: str, seed: int, data: Dataset) -> str:
    """Changes with everything that a fit depends on."""
    about = [
        settings,
        effort,
        seed,
        data._inner.identity(),
        data._inner.gaps,
        data._inner.exogenous,
        _native.__version__,
    ]
    return hashlib.blake2b(json.dumps(about).encode(), digest_size=8).hexdigest()


def _with_effort(settings: Ensemble | GaussianProcess | None, effort: str) -> Ensemble | GaussianProcess:
    settings = Ensemble() if settings is None else settings
    if isinstance(settings, GaussianProcess):
        return with_effort(settings, effort)
    if isinstance(settings, Ensemble):
        return with_effort(settings, effort)
    raise SettingError(
        f"`settings` is {given_as(settings)}; give hambo.Ensemble(...) or hambo.GaussianProcess(...), such as "
        "hambo.Ensemble(hidden=[64, 64])"
    )
