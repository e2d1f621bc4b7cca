"""Settings as plain values. Their defaults are those of the Rust library, which a test holds them to."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Adversary", "Ensemble", "Fixed", "GaussianProcess", "Kernel", "StateBounds"]

KernelKind = Literal["linear", "rbf", "matern12", "matern32", "matern52"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensemble:
    """A Bayesian neural network as an ensemble, the model for most data.

    Parameters
    ----------
    members
        Number of networks.
    hidden
        Widths of the hidden layers; none makes the model linear.
    prior_temperature
        Weight of the standard normal prior against the mean log-likelihood.
    kernel_length_scale
        Length scale of the repulsion between the networks, or ``"median"`` to follow their spread.
    target
        ``"difference"`` to predict how the state changes, ``"next_state"`` to predict where it goes.
    learning_rate
        Adam's step at the start; it falls to zero along a cosine.
    batch_size
        Rows per gradient step.
    max_steps
        Most gradient steps.
    evaluate_every
        Steps between two looks at the held-out likelihood.
    patience
        Looks without improvement before fitting stops.
    held_out
        Share of the rows, in whole episodes, held out for stopping.
    learn_reward
        Learn the reward as one more output, for evaluations that give none. (In Rust this is off.)
    """

    members: int = 5
    hidden: Sequence[int] = (256, 256, 256, 256)
    prior_temperature: float = 1e-4
    kernel_length_scale: float | Literal["median"] = 10.0
    target: Literal["difference", "next_state"] = "difference"
    learning_rate: float = 1e-3
    batch_size: int = 256
    max_steps: int = 5_000
    evaluate_every: int = 100
    patience: int = 20
    held_out: float = 0.1
    learn_reward: bool = True

    def _document(self) -> dict[str, Any]:
        document = dataclasses.asdict(self)
        document["hidden"] = [int(width) for width in self.hidden]
        scale = document.pop("kernel_length_scale")
        document["kernel"] = "median" if scale == "median" else {"length_scale": float(scale)}
        return document


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel whose hyper-parameters are known, in standardised units.

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
class GaussianProcess:
    """Exact Gaussian processes, the model with a proof, for at most 5,000 transitions.

    Parameters
    ----------
    kernel
        The kernel's shape.
    fixed
        Hyper-parameters that were chosen before the data was seen, which the guarantee is for. They are
        learned if there are none.
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
        Learn the reward as one more output, for evaluations that give none. (In Rust this is off.)
    """

    kernel: KernelKind = "rbf"
    fixed: Kernel | None = None
    starts: int = 2
    likelihood_rows: int = 400
    deterministic: bool = False
    norm_bound: float | None = None
    norm_factor: float = 2.0
    learn_reward: bool = True

    def _document(self) -> dict[str, Any]:
        document = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        document["fixed"] = None if self.fixed is None else self.fixed._document()
        return document


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adversary:
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
        Discount inside the critics; the bound itself uses the task's.
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


@dataclasses.dataclass(frozen=True)
class StateBounds:
    """What every state obeys: limits per column, and columns that are an angle's cosine and sine.

    Parameters
    ----------
    low, high
        One limit per state column; they may be infinite.
    angles
        Pairs of columns that are the cosine and the sine of one angle.
    """

    low: Sequence[float]
    high: Sequence[float]
    angles: Sequence[tuple[int, int]] = ()

    def _document(self) -> dict[str, Any]:
        largest = float(np.finfo(np.float32).max)

        # JSON has no infinity, and no float32 state lies beyond the largest number.
        def limits(values: Sequence[float]) -> list[float]:
            return [min(max(float(value), -largest), largest) for value in values]

        angles = [[int(cosine), int(sine)] for cosine, sine in self.angles]
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
