"""Real objects of other packages; each test is skipped where its package is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp

from .conftest import QUICK, Array


def pendulum() -> Any:
    return pytest.importorskip("gymnasium").make("Pendulum-v1", max_episode_steps=50)


@pytest.fixture(scope="module", params=["hdf5", "arrow"])
def minari_dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    minari = pytest.importorskip("minari")
    patch = pytest.MonkeyPatch()
    patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
    collector = minari.DataCollector(pendulum(), data_format=request.param)
    for episode in range(4):
        collector.reset(seed=episode)
        ended = False
        while not ended:
            *_, terminated, truncated, _ = collector.step(collector.action_space.sample())
            ended = terminated or truncated
    yield collector.create_dataset(f"local/pendulum-{request.param}-v0")
    patch.undo()


def test_minari_by_id_folder_and_object_is_the_same(minari_dataset: Any) -> None:
    by_id = hambo.Dataset.from_minari(minari_dataset.spec.dataset_id)
    by_folder = hambo.Dataset.from_minari(Path(minari_dataset.spec.data_path))
    by_object = hambo.Dataset.from_minari(minari_dataset)
    assert by_id.fingerprint == by_folder.fingerprint == by_object.fingerprint
    assert (len(by_id), len(by_id.episodes)) == (200, 4)
    first = next(iter(minari_dataset.iterate_episodes()))
    np.testing.assert_array_equal(by_id.states[:50], first.observations[:-1])
    np.testing.assert_array_equal(by_id.next_states[:50], first.observations[1:])
    np.testing.assert_allclose(by_id.rewards[:50], first.rewards, rtol=1e-6)


def test_a_filtered_minari_dataset_stays_filtered(minari_dataset: Any) -> None:
    some = minari_dataset.filter_episodes(lambda episode: episode.id in (1, 3))
    assert len(hambo.Dataset.from_minari(some).episodes) == 2


def test_gymnasium_environments_are_logged() -> None:
    data = hambo.collect(pendulum(), SwingUp.weak(), 120, seed=3)
    assert [len(episode.rewards) for episode in data.episodes] == [50, 50, 20]
    assert [episode.truncated for episode in data.episodes] == [True] * 3
    assert hambo.Dataset.from_gymnasium(pendulum(), SwingUp.weak(), 120, seed=3) == data
    choices = hambo.collect("CartPole-v1", steps=60)
    assert choices.actions.shape == (60, 2) and set(choices.actions.sum(axis=1)) == {1.0}


@pytest.fixture(scope="module")
def gym_model() -> hambo.Model:
    data = hambo.collect(pendulum(), SwingUp.weak(), 500)
    return hambo.fit(data, hambo.Ensemble(members=2, hidden=[16], max_steps=50))


def bound_of(model: hambo.Model, policy: Any, **options: Any) -> float:
    found = hambo.evaluate(model, policy, **{**QUICK, **options}).lower_bound
    assert found is not None
    return found


@pytest.mark.parametrize("algorithm", ["SAC", "PPO"])
def test_stable_baselines_models_are_policies(algorithm: str, gym_model: hambo.Model) -> None:
    agents = pytest.importorskip("stable_baselines3")
    agent = getattr(agents, algorithm)("MlpPolicy", pendulum(), seed=0, device="cpu")

    def same(states: Array) -> Any:
        return agent.predict(states, deterministic=True)[0]

    assert bound_of(gym_model, agent) == bound_of(gym_model, same)
    assert bound_of(gym_model, agent.policy) == bound_of(gym_model, same)
    assert bound_of(gym_model, agent, deterministic=False) != bound_of(gym_model, same)


@pytest.mark.parametrize("algorithm", ["SAC", "TD3", "PPO", "A2C"])
def test_stable_baselines_models_are_exported(algorithm: str, gym_model: hambo.Model, tmp_path: Path) -> None:
    agents, onnx = pytest.importorskip("stable_baselines3"), pytest.importorskip("onnx.reference")
    agent = getattr(agents, algorithm)("MlpPolicy", pendulum(), seed=0, device="cpu")
    hambo.export_policy(agent, tmp_path / "policy.onnx")
    states = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    (actions,) = onnx.ReferenceEvaluator(str(tmp_path / "policy.onnx")).run(None, {"state": states})
    assert np.allclose(actions, agent.predict(states, deterministic=True)[0], atol=1e-5)
    assert abs(bound_of(gym_model, str(tmp_path / "policy.onnx")) - bound_of(gym_model, agent)) < 1e-3


def test_normalised_observations_are_exported(tmp_path: Path) -> None:
    agents, onnx = pytest.importorskip("stable_baselines3"), pytest.importorskip("onnx.reference")
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    env = VecNormalize(DummyVecEnv([pendulum]))
    agent = agents.PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu").learn(64)
    hambo.export_policy(agent, tmp_path / "policy.onnx", normalize=env)
    states = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    (actions,) = onnx.ReferenceEvaluator(str(tmp_path / "policy.onnx")).run(None, {"state": states})
    assert np.allclose(actions, agent.predict(env.normalize_obs(states), deterministic=True)[0], atol=1e-5)


def test_only_such_models_are_exported(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(hambo.HamboError, match="is no model of Stable-Baselines3 or d3rlpy"):
        hambo.export_policy(lambda states: states, tmp_path / "policy.onnx")


def test_d3rlpy_algos_are_policies(gym_model: hambo.Model) -> None:
    d3rlpy = pytest.importorskip("d3rlpy")
    algo = d3rlpy.algos.CQLConfig().create(device="cpu:0")
    algo.create_impl((3,), 1)
    assert bound_of(gym_model, algo) == bound_of(gym_model, lambda states: algo.predict(states))


def test_torch_modules_are_policies(gym_model: hambo.Model) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def same(states: Array) -> Any:
        with torch.no_grad():
            return module(torch.from_numpy(states)).numpy()

    assert bound_of(gym_model, module) == bound_of(gym_model, same)
    assert bound_of(gym_model, lambda states: module(torch.from_numpy(states))) == bound_of(gym_model, same)


def test_an_exported_policy_gives_the_same_bound(gym_model: hambo.Model, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    path = tmp_path / "policy.onnx"
    torch.onnx.export(
        module,
        (torch.zeros(1, 3),),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=["obs"],
        output_names=["action"],
        dynamic_axes={"obs": {0: "batch"}, "action": {0: "batch"}},
    )
    assert bound_of(gym_model, str(path)) == pytest.approx(bound_of(gym_model, module), rel=1e-4)


def table_columns() -> dict[str, Any]:
    data = hambo.tasks.simulate("pendulum", SwingUp.weak(), episodes=3, horizon=20)
    flags = np.zeros(60, dtype=bool)
    flags[19::20] = True
    return {
        "episode": np.arange(60) // 20,
        "cosine": data.states[:, 0],
        "sine": data.states[:, 1],
        "speed": data.states[:, 2],
        "next_cosine": data.next_states[:, 0],
        "next_sine": data.next_states[:, 1],
        "next_speed": data.next_states[:, 2],
        "torque": data.actions[:, 0],
        "reward": data.rewards,
        "truncated": flags,
    }


MAPPING: dict[str, Any] = {
    "state": ["cosine", "sine", "speed"],
    "next_state": ["next_cosine", "next_sine", "next_speed"],
    "action": "torque",
}


def expected() -> str:
    columns = table_columns()
    return hambo.Dataset.from_arrays(
        np.stack([columns[name] for name in MAPPING["state"]], axis=1),
        columns["torque"],
        columns["reward"],
        np.stack([columns[name] for name in MAPPING["next_state"]], axis=1),
        truncated=columns["truncated"],
    ).fingerprint


def test_polars_tables_are_read() -> None:
    polars = pytest.importorskip("polars")
    data = hambo.Dataset.from_arrow(polars.DataFrame(table_columns()), **MAPPING)
    assert data.fingerprint == expected()
    assert data.state_names == ["cosine", "sine", "speed"]
    lists = polars.DataFrame(
        {
            "observations": [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]],
            "actions": [[1.0], [1.0], [1.0]],
            "rewards": [0.0, 0.0, 0.0],
            "truncated": [False, False, True],
        }
    )
    assert hambo.Dataset.from_arrow(lists).states.tolist() == [[0.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="DataFrame: no column for `reward`"):
        hambo.Dataset.from_arrow(lists.drop("rewards"))


def test_pyarrow_tables_of_several_batches_are_read() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(table_columns())
    parts = pyarrow.concat_tables([table.slice(0, 7), table.slice(7, 30), table.slice(37)])
    assert hambo.Dataset.from_arrow(parts, **MAPPING).fingerprint == expected()


def test_duckdb_relations_are_read() -> None:
    duckdb = pytest.importorskip("duckdb")
    columns = table_columns()  # noqa: F841 (the query names it)
    connection = duckdb.connect()
    names = ", ".join(f"unnest($1['{name}']) AS {name}" for name in columns)
    relation = connection.sql(f"SELECT {names}", params=[{name: column.tolist() for name, column in columns.items()}])
    assert len(hambo.Dataset.from_arrow(relation, **MAPPING)) == 60


def test_parquet_files_are_read(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame(table_columns()).write_parquet(tmp_path / "log.parquet")
    assert hambo.Dataset.from_parquet(tmp_path / "log.parquet", **MAPPING).fingerprint == expected()


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no `__arrow_c_stream__`"):
        hambo.Dataset.from_arrow({"a": 1})  # type: ignore[arg-type]
