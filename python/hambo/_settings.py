"""Settings as plain values. Their defaults are those of the Rust library, which a test holds them to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Adversary",
    "BaselineSettings",
    "Ensemble",
    "Fixed",
    "GaussianProcess",
    "Kernel",
    "StateBounds",
    "Thresholds",
]

KernelKind = Literal["linear", "rbf", "matern12", "matern32", "matern52"]


class _RemembersGiven:
    """Remembers which fields somebody gave: these win over a preset of effort."""

    _given: frozenset[str]

    def __new__(cls, **given: Any) -> Self:
        self = super().__new__(cls)
        # The classes are frozen.
        object.__setattr__(self, "_given", frozenset(given))
        return self


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensemble(_RemembersGiven):
    """A Bayesian neural network as an ensemble, the model for most data.

    Parameters
    ----------
    members
        Number of networks.
    bootstrap
        Every network sees its own draw of the episodes, or of the sources if there are enough of them, with
        replacement. All rows are then fitted on, and each is judged by the networks that did not see it.
    tables
        Set this if states are names, such as fields of a board, and not numbers. Outcomes are then counted for every
        pair of a state and an action instead of predicted. Needs `bootstrap`.
    random_functions
        Size of the frozen random function that each network is added to, in standard deviations of the target; zero
        for none. Networks agree where the data makes them, and nowhere else.
    hidden
        Widths of the hidden layers; none makes the model linear. With fewer units in all than by default nothing is
        certified, unless ``accept_weaker`` of an evaluation names ``"hidden"``.
    activation
        What hidden layers do with their sums: ``"silu"``, which is smooth, or ``"relu"``.
    least_squares
        How errors are weighed, from 0, by maximum likelihood, to 1, by least squares. The likelihood alone is content
        to call a rare kind of transition noise.
    prior_temperature
        Weight of the standard normal prior against the mean log-likelihood. By default it counts for as much as ten
        rows of the data: 1e-3 for 10,000 rows or fewer, 1e-4 for 100,000.
    kernel_length_scale
        Length scale of the repulsion between the networks, or ``"median"`` to follow their spread.
    target
        ``"difference"`` to predict how the state changes, ``"next_state"`` to predict where it goes.
    learning_rate
        Adam's step at the start; it falls to zero along a cosine.
    batch_size
        Rows per gradient step.
    max_steps
        Most gradient steps. By default they grow with the data: 2,500 for 10,000 rows and otherwise in proportion to
        the square root, but not below 1,000 nor above 25,000. With fewer than that nothing is certified, unless
        ``accept_weaker`` of an evaluation names ``"max_steps"``.
    evaluate_every
        Steps between two looks at the held-out likelihood.
    patience
        Looks without improvement before fitting stops.
    held_out
        Share of the rows that fitting is stopped by. With `bootstrap`, random ones, each for the networks that have
        not seen it; otherwise whole episodes that are held out.
    learn_reward
        Learn the reward as one more output, for evaluations that give none.
    device
        Where the networks are trained and evaluated: ``"cpu"``, or ``"wgpu"`` or ``"cuda"`` in a build that has it.
    """

    members: int = 10
    bootstrap: bool = True
    tables: bool = False
    random_functions: float = 0.3
    hidden: Sequence[int] = (256, 256, 256, 256)
    activation: Literal["silu", "relu"] = "silu"
    least_squares: float = 0.5
    prior_temperature: float | None = None
    kernel_length_scale: float | Literal["median"] = 10.0
    target: Literal["difference", "next_state"] = "difference"
    learning_rate: float = 4e-3
    batch_size: int = 256
    max_steps: int | None = None
    evaluate_every: int = 200
    patience: int = 20
    held_out: float = 0.1
    learn_reward: bool = True
    device: Literal["cpu", "wgpu", "cuda"] = "cpu"

    @classmethod
    def paper(cls, **changes: Any) -> Ensemble:
        """As in the paper: five networks with ReLU that see the same episodes, by maximum likelihood.

        `changes` are as for the class.
        """
        paper: dict[str, Any] = {"members": 5, "bootstrap": False, "tables": False, "random_functions": 0.0}
        paper |= {"activation": "relu", "least_squares": 0.0, "prior_temperature": 1e-4, "learning_rate": 1e-3}
        return cls(**{**paper, **changes})

    def _document(self) -> dict[str, Any]:
        document = dataclasses.asdict(self)
        document["hidden"] = [int(width) for width in self.hidden]
        scale = document.pop("kernel_length_scale")
        document["kernel"] = "median" if scale == "median" else {"length_scale": float(scale)}
        return document


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel whose hyper-parameters are known, in the units of `GaussianProcess`'s ``scales``.

    Parameters
    ----------
    length_scales
        One per column of states and actions.
    kind
        The kernel's shape.
    variance
        Factor on the whole kernel.
    noise_variance
        Variance of the noise on every output.
    """

    length_scales: Sequence[float]
    kind: KernelKind = "rbf"
    variance: float = 1.0
    noise_variance: float = 0.01

    def _document(self) -> dict[str, Any]:
        kernel = {
            "kind": self.kind,
            "variance": self.variance,
            "length_scales": [float(scale) for scale in self.length_scales],
        }
        return {"kernel": kernel, "noise_variance": self.noise_variance}


@dataclasses.dataclass(frozen=True, kw_only=True)
class GaussianProcess(_RemembersGiven):
    """Exact Gaussian processes, the model with a proof, for at most 5,000 transitions.

    Parameters
    ----------
    kernel
        The kernel's shape.
    fixed
        Hyper-parameters that were chosen before the data was seen, which the guarantee is for. They are
        learned if there are none.
    scales
        The units of ``fixed``: one per column of states and actions, and one per output (the change of each state
        column, then the reward, if it is learned). Without them the data chooses the units, and so the kernel,
        for which the guarantee is not.
    starts
        Searches for the hyper-parameters, from different starts.
    likelihood_rows
        Most rows that hyper-parameters are learned on.
    deterministic
        The system has no noise.
    norm_bound
        Largest norm of an output's function in the kernel's space. Without it, the norm of the posterior
        mean times ``norm_factor`` stands in.
    norm_factor
        See there.
    learn_reward
        Learn the reward as one more output, for evaluations that give none.
    """

    kernel: KernelKind = "rbf"
    fixed: Kernel | None = None
    scales: tuple[Sequence[float], Sequence[float]] | None = None
    starts: int = 2
    likelihood_rows: int = 400
    deterministic: bool = False
    norm_bound: float | None = None
    norm_factor: float = 2.0
    learn_reward: bool = True

    def _document(self) -> dict[str, Any]:
        document = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        document["fixed"] = None if self.fixed is None else self.fixed._document()
        if self.scales is not None:
            inputs, outputs = ([float(scale) for scale in scales] for scales in self.scales)
            document["scales"] = {"inputs": inputs, "outputs": outputs}
        return document


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adversary(_RemembersGiven):
    """How the adversaries of CA and DA1 are trained.

    Parameters
    ----------
    hidden
        Widths of the hidden layers of actor and critics.
    learning_rate, entropy_learning_rate
        Adam's steps for actor and critics, and for the entropy coefficient.
    entropy_coef
        Entropy coefficient at the start, in units of the reward's standard deviation.
    discount
        Largest discount inside the critics, who use the task's if that is smaller.
    target_rate
        Share of the way that target critics go towards the critics in every step.
    batch_size
        Rows per gradient step.
    episodes
        Episodes per round, for learning and again for judging.
    gradient_steps
        Gradient steps per round.
    replay_capacity
        Steps remembered.
    exploration
        Least share of exploration while learning.
    max_rounds
        Most rounds.
    patience
        Rounds without improvement after which training has converged.
    tolerance
        Share of its effect by which an adversary must improve for it to count.
    max_restarts
        Most restarts, each with a third of the learning rate, after training diverged.
    """

    hidden: Sequence[int] = (256, 256)
    learning_rate: float = 1e-3
    entropy_learning_rate: float = 5e-5
    entropy_coef: float = 0.01
    discount: float = 0.99
    target_rate: float = 5e-3
    batch_size: int = 1024
    episodes: int = 1000
    gradient_steps: int = 1000
    replay_capacity: int = 1_000_000
    exploration: float = 0.1
    max_rounds: int = 30
    patience: int = 4
    tolerance: float = 0.01
    max_restarts: int = 2

    def _document(self) -> dict[str, Any]:
        document = dataclasses.asdict(self)
        document["hidden"] = [int(width) for width in self.hidden]
        return document


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thresholds:
    """When a reason to doubt a bound becomes a warning.

    Looser ones than the defaults forbid the verdict ``"certified"``, unless they are accepted by name.

    Parameters
    ----------
    weak_calibration
        Calibration error.
    persistent_errors
        Correlation between the model's errors in successive steps.
    errors_matter
        Such errors count only if their variance exceeds this share of the variance of what is predicted.
    outside_data
        Share of the steps that are less certain than the data, whose action is like none in the data, or whose
        state was moved back into the data's range.
    unlike_logs
        How many times as uncertain as on the logs the model may typically be.
    many_ends, more_ends
        Share of the episodes that terminate, if the reward is learned, and the same as a multiple of the share of
        logged episodes that terminated. Both must be exceeded.
    missed_ends, invented_ends
        Shares of the logged terminations that the task's termination misses, and of the other logged steps at which
        it ends the episode.
    reward_difference
        Mean difference between the task's reward and the logged one, as a share of how much the logged one varies.
    under_trained
        Standard errors by which DA1 may lie above DAinf.
    skewed_returns
        Share of its margin by which the Monte Carlo limit may be wider for skewed returns.
    few_starts, few_calibration_episodes
        Fewer observed initial states, and fewer episodes behind the calibration or played again in the worlds, than
        this are warned about.
    """

    weak_calibration: float = 0.01
    persistent_errors: float = 0.2
    errors_matter: float = 0.01
    outside_data: float = 0.05
    unlike_logs: float = 4.0
    many_ends: float = 0.05
    more_ends: float = 2.0
    missed_ends: float = 0.05
    invented_ends: float = 1e-3
    reward_difference: float = 0.01
    under_trained: float = 2.0
    skewed_returns: float = 0.5
    few_starts: int = 30
    few_calibration_episodes: int = 20

    def _document(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BaselineSettings:
    """How the field's estimators are computed.

    Parameters
    ----------
    members
        Value functions of fitted Q evaluation, each on a draw of the episodes.
    hidden
        Widths of their hidden layers.
    steps
        Steps of gradient descent.
    batch_size
        Transitions per step.
    learning_rate
        Of Adam, at the beginning; it falls to zero along a cosine.
    weight_decay
        Share of the learning rate by which the networks' weights shrink in every step.
    target_rate
        Share of the way that the targets follow the values in every step; by default so large that values are carried
        over the horizon five times, and 0.02 at least.
    episodes
        Rollouts behind MOPO, MOReL and the bootstrap of models.
    penalties
        Weights on MOPO's penalty; none to do without it.
    resamples
        Resampled sets of episodes behind a bootstrap limit.
    estimate_probabilities
        Estimate the probabilities of logged actions where the logs do not say them. Whatever is weighed by them is as
        wrong as they are.
    refit
        How worlds without random functions are fitted again, on the same logs, for a plain bootstrap of models; by
        default not at all, because it takes as long as the fit.
    """

    members: int = 10
    hidden: Sequence[int] = (64, 64)
    steps: int = 5_000
    batch_size: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    target_rate: float | None = None
    episodes: int = 1_000
    penalties: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 5.0)
    resamples: int = 2_000
    estimate_probabilities: bool = False
    refit: Ensemble | None = None

    def _document(self) -> dict[str, Any]:
        plain = {**dataclasses.asdict(self), "hidden": list(self.hidden), "penalties": list(self.penalties)}
        refit = plain.pop("refit")
        return plain if refit is None or self.refit is None else {**plain, "refit": self.refit._document()}


@dataclasses.dataclass(frozen=True)
class StateBounds:
    """What every state obeys: limits per column, and columns that are an angle's cosine and sine.

    Parameters
    ----------
    low, high
        One limit per state column, which may be infinite; or limits by the columns' names, of which those that are
        left out have none.
    angles
        Pairs of columns that are the cosine and the sine of one angle, by name or number.
    """

    low: Sequence[float] | Mapping[str, float] = dataclasses.field(default_factory=dict)
    high: Sequence[float] | Mapping[str, float] = dataclasses.field(default_factory=dict)
    angles: Sequence[tuple[int | str, int | str]] = ()

    def _document(self) -> dict[str, Any]:
        largest = float(np.finfo(np.float32).max)

        # JSON has no infinity, and no float32 state lies beyond the largest number.
        def finite(value: float) -> float:
            return min(max(float(value), -largest), largest)

        def limits(values: Sequence[float] | Mapping[str, float]) -> list[float] | dict[str, float]:
            if isinstance(values, Mapping):
                return {name: finite(value) for name, value in values.items()}
            return [finite(value) for value in values]

        def column(given: int | str) -> int | str:
            return given if isinstance(given, str) else int(given)

        angles = [[column(cosine), column(sine)] for cosine, sine in self.angles]
        return {"low": limits(self.low), "high": limits(self.high), "angles": angles}


@dataclasses.dataclass(frozen=True)
class Fixed:
    """Initial states that are all there are, each as likely as the others.

    A plain array of initial states counts as a sample of more, and how well so few stand for the others
    is part of the bound's error. This says that there are no others.

    Parameters
    ----------
    states
        ``[count, d_s]``
    """

    states: npt.ArrayLike
