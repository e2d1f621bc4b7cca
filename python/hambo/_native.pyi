from collections.abc import Callable
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Dataset",
    "Model",
    "__version__",
    "backtest",
    "backtest_parts",
    "baselines",
    "cache",
    "cached",
    "check_evaluation",
    "command",
    "decimals",
    "default_settings",
    "dominated",
    "evaluate",
    "how_close",
    "learn",
    "look",
    "ranking",
    "ranking_html",
    "report_html",
    "simulate",
    "verdict",
]

__version__: str

_Array = npt.NDArray[np.float32]
_Names = tuple[list[str], list[str]]
_Report = Callable[[str, int, int, tuple[str, float] | None, str | None], object]

@final
class Dataset:
    @staticmethod
    def open(source: str, mapping_json: str) -> Dataset: ...
    @staticmethod
    def convert(source: str, into: str, mapping_json: str) -> Dataset: ...
    @staticmethod
    def from_stream(table: object, name: str, mapping_json: str) -> Dataset: ...
    @staticmethod
    def from_table(columns: list[tuple[str, npt.NDArray[Any]]], name: str, mapping_json: str) -> Dataset: ...
    @staticmethod
    def from_marked(
        states: _Array,
        actions: _Array,
        rewards: _Array,
        next_states: _Array,
        terminated: npt.NDArray[np.bool_] | None,
        truncated: npt.NDArray[np.bool_] | None,
        episode: npt.NDArray[np.int64] | None,
        names: _Names | None,
        gaps: list[int],
    ) -> Dataset: ...
    def with_sources(self, of_episodes: list[str]) -> Dataset: ...
    def with_exogenous(self, columns: list[int]) -> Dataset: ...
    def with_log_probs(self, of_rows: list[float]) -> Dataset: ...
    @property
    def log_probs(self) -> npt.NDArray[np.float64] | None: ...
    @property
    def exogenous(self) -> list[int]: ...
    @property
    def gaps(self) -> list[int]: ...
    def selected(self, episodes: list[int]) -> Dataset: ...
    def without(self, other: Dataset) -> Dataset: ...
    @property
    def sources(self) -> list[str] | None: ...
    @property
    def format(self) -> str: ...
    @property
    def notes(self) -> list[tuple[str, str]]: ...
    @property
    def rows(self) -> int: ...
    @property
    def names(self) -> _Names | None: ...
    @property
    def states(self) -> _Array: ...
    @property
    def actions(self) -> _Array: ...
    @property
    def rewards(self) -> _Array: ...
    @property
    def next_states(self) -> _Array: ...
    @property
    def episodes(self) -> list[tuple[int, int, bool, bool]]: ...
    def summary(self) -> str: ...
    def identity(self) -> str: ...

@final
class Model:
    @staticmethod
    def fit(
        data: Dataset,
        settings_json: str,
        effort: str,
        seed: int,
        *,
        progress: _Report | None,
        threads: int | None,
        checkpoint: str | None,
    ) -> Model: ...
    def save(self, directory: str) -> None: ...
    def fingerprint(self) -> str: ...
    @staticmethod
    def load(directory: str) -> Model: ...
    def predict(self, states: _Array, actions: _Array) -> tuple[_Array, _Array, _Array]: ...
    def predict_member(self, member: int, states: _Array, actions: _Array) -> tuple[_Array, _Array]: ...
    def draw(self, states: _Array, actions: _Array, seed: int) -> _Array: ...
    @property
    def initial_states(self) -> _Array | None: ...
    def about(self) -> str: ...

def evaluate(
    model: Model,
    policy: Callable[[_Array], _Array] | str,
    plan_json: str,
    seed: int,
    *,
    reward: Callable[[_Array, _Array, _Array], _Array] | str | None,
    termination: Callable[[_Array, _Array, _Array], _Array] | str | None,
    starts: Callable[[int, int], _Array] | tuple[str, _Array] | None,
    constraints: list[tuple[str, Callable[[_Array, _Array, _Array], _Array] | str]],
    baseline: Callable[[_Array], _Array] | str | None,
    log_prob: Callable[[_Array, _Array, _Array], _Array] | str | None,
    trained_on: Dataset | None,
    progress: _Report | None,
    threads: int | None,
    checkpoint: str | None,
) -> str: ...
def baselines(
    model: Model,
    policy: Callable[[_Array], _Array] | str,
    plan_json: str,
    seed: int,
    *,
    data: Dataset | None,
    reward: Callable[[_Array, _Array, _Array], _Array] | str | None,
    termination: Callable[[_Array, _Array, _Array], _Array] | str | None,
    starts: Callable[[int, int], _Array] | tuple[str, _Array] | None,
    log_prob: Callable[[_Array, _Array, _Array], _Array] | str | None,
    progress: _Report | None,
    threads: int | None,
) -> str: ...
def look(
    model: Model,
    policies: list[Callable[[_Array], _Array] | str],
    plan_json: str,
    seed: int,
    *,
    reward: Callable[[_Array, _Array, _Array], _Array] | str | None,
    termination: Callable[[_Array, _Array, _Array], _Array] | str | None,
    starts: Callable[[int, int], _Array] | tuple[str, _Array] | None,
    progress: _Report | None,
    threads: int | None,
) -> list[str]: ...
def dominated(looks: list[str]) -> list[int | None]: ...
def ranking(evaluations: list[str]) -> str: ...
def cached(folder: str, depends_on: str) -> str | None: ...
def cache(folder: str, depends_on: str, result: str) -> None: ...
def backtest_parts(data: Dataset) -> list[str]: ...
def backtest(
    data: Dataset,
    model_json: str,
    plan_json: str,
    seed: int,
    *,
    part: int | None,
    claims: list[str] | None,
    reward: Callable[[_Array, _Array, _Array], _Array] | str | None,
    termination: Callable[[_Array, _Array, _Array], _Array] | str | None,
    progress: _Report | None,
    threads: int | None,
) -> str: ...
def learn(
    model: Model,
    out: str,
    settings_json: str,
    plan_json: str,
    seed: int,
    *,
    reward: Callable[[_Array, _Array, _Array], _Array] | str | None,
    termination: Callable[[_Array, _Array, _Array], _Array] | str | None,
    starts: Callable[[int, int], _Array] | tuple[str, _Array] | None,
    progress: _Report | None,
    threads: int | None,
    checkpoint: str | None,
) -> str: ...
def simulate(
    policy: Callable[[_Array], _Array] | str, task: str, horizon: int, episodes: int, seed: int
) -> Dataset: ...
def check_evaluation(json: str) -> str: ...
def command(words: list[str]) -> int: ...
def verdict(
    json: str, threshold: float | None
) -> Literal["certified", "not_certified", "inconclusive", "no_threshold"]: ...
def how_close(json: str, threshold: float) -> tuple[tuple[float, float] | None, int | None]: ...
def decimals(json: str, threshold: float | None) -> int: ...
def report_html(
    json: str,
    *,
    title: str,
    policy: str | None,
    data: str | None,
    date: str | None,
    threshold: float | None,
) -> str: ...
def ranking_html(policies: list[tuple[str, str]], *, title: str, date: str | None) -> str: ...
def default_settings() -> str: ...
