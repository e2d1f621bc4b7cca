"""Policies of Stable-Baselines3 as ONNX files, for the command."""

from __future__ import annotations

import os
from typing import Any

from ._checks import given_as
from .errors import SettingError

__all__ = ["export_onnx"]


def export_onnx(model: Any, path: str | os.PathLike[str], *, normalize: Any = None) -> None:
    """Write the best actions of a Stable-Baselines3 model as an ONNX file, in the units of its action space.

    Needs torch, which such a model has brought, and `pip install onnx`.

    Parameters
    ----------
    model
        PPO, A2C, SAC, TD3, DDPG or DQN, or another algorithm with a `policy`.
    path
        The file to write.
    normalize
        The `VecNormalize` that the model was trained with, if there was one: the file then takes observations as they
        are logged.
    """
    policy = getattr(model, "policy", model)
    if not hasattr(policy, "_predict") or not hasattr(policy, "action_space"):
        raise SettingError(f"{given_as(model)} is no model of Stable-Baselines3; export it by its own library")
    width = getattr(policy.observation_space, "shape", None)
    if not width or len(width) != 1:
        raise SettingError("the model's observations are not one row of numbers; flatten them before training")
    try:
        import onnx  # noqa: F401, torch's exporter needs it
        import torch
    except ImportError as missing:
        raise SettingError(f"exporting a policy needs {missing.name}: pip install {missing.name}") from None
    module = _best_actions(policy, normalize)
    axes = {"state": {0: "batch"}, "action": {0: "batch"}}
    names: dict[str, Any] = {"input_names": ["state"], "output_names": ["action"], "dynamic_axes": axes}
    # Two rows, so that nothing takes one row for the rule. The newer exporter fails on SAC.
    example = torch.zeros((2, width[0]))
    torch.onnx.export(module, (example,), os.fspath(path), dynamo=False, opset_version=17, **names)


def _best_actions(policy: Any, normalize: Any) -> Any:
    """A module from observations to actions as the environment takes them, or to one score per choice."""
    import torch

    space = policy.action_space
    is_choice = hasattr(space, "n")

    class BestActions(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.policy = policy
            if normalize is not None:
                spread = normalize.obs_rms.var + normalize.epsilon
                self.register_buffer("mean", torch.as_tensor(normalize.obs_rms.mean, dtype=torch.float32))
                self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float32).sqrt())
            if not is_choice:
                self.register_buffer("low", torch.as_tensor(space.low))
                self.register_buffer("high", torch.as_tensor(space.high))

        def forward(self, state: Any) -> Any:
            if normalize is not None:
                state = ((state - self.mean) / self.spread).clamp(-normalize.clip_obs, normalize.clip_obs)
            if is_choice:
                if hasattr(self.policy, "q_net"):
                    return self.policy.q_net(state)
                return self.policy.get_distribution(state).distribution.logits
            actions = self.policy._predict(state, deterministic=True)
            if self.policy.squash_output:
                return self.low + 0.5 * (actions + 1.0) * (self.high - self.low)
            return torch.max(torch.min(actions, self.high), self.low)

    policy.set_training_mode(False)
    return BestActions().to("cpu").eval()
