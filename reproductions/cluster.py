"""A ranking on a Ray cluster of this machine: the same bits as in one process, how much of the time is work, and what
happens when a worker, a node and the head are killed.

    python reproductions/cluster.py [--part speed | deaths]

The head has no cores, two worker nodes have one each. Speed: 64 policies, tasks of ten seconds or more. Deaths: 16
smaller ones. One row per part in `results/cluster.csv`. Needs Ray, which it starts on loopback.
"""

import argparse
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAYON_NUM_THREADS": "1"}
# A token of this cluster's own, which all processes that are started from here know.
os.environ["RAY_AUTH_MODE"] = "token"
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

import numpy as np
from tidy import Row, read_rows, write_rows

import hambo
from hambo.tasks import SwingUp, simulate

RESULTS = Path(__file__).parent / "results" / "cluster.csv"
COLUMNS = ["part", "policies", "seconds_alone", "seconds_there", "work_there", "efficiency", "shortest_task", "same"]
PORT, NODES = 6_399, 2
TASK: dict[str, Any] = {"horizon": 100, "reward": "pendulum", "state_bounds": "pendulum", "evaluate_all": True}


def policies(count: int) -> dict[str, SwingUp]:
    rng = np.random.default_rng(7)
    usual: dict[str, Any] = {name: value for name, value in vars(SwingUp()).items() if isinstance(value, float)}
    drawn = [{name: value * rng.uniform(0.2, 1.8) for name, value in usual.items()} for _ in range(count)]
    return {f"controller {number}": SwingUp(**gains) for number, gains in enumerate(drawn)}


class Cluster:
    """A head and worker nodes, each a process of its own with its children."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._nodes = folder, {}
        self.start_head()
        for number in range(NODES):
            self.start_node(f"node{number}")

    def start_head(self) -> None:
        arguments = ["--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false"]
        self._start("head", [*arguments, f"--temp-dir={self._folder}", "--node-ip-address=127.0.0.1"])

    def start_node(self, name: str) -> None:
        self._start(name, [f"--address=127.0.0.1:{PORT}", "--num-cpus=1", "--node-ip-address=127.0.0.1"])

    def kill(self, name: str) -> None:
        """All processes of a node at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._nodes.pop(name).pid, signal.SIGKILL)

    def stop(self) -> None:
        for name in list(self._nodes):
            self.kill(name)

    def _start(self, name: str, arguments: list[str]) -> None:
        ray = Path(sys.executable).with_name("ray")
        command = [str(ray), "start", "--block", "--disable-usage-stats", *arguments]
        log = (self._folder.parent / f"{name}.log").open("w")
        self._nodes[name] = subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)
        time.sleep(15)


def fitted(hidden: int) -> hambo.Model:
    logs = simulate("pendulum", SwingUp.weak(), episodes=80, horizon=100, seed=0)
    ensemble = hambo.Ensemble(hidden=[hidden, hidden], max_steps=500, learn_reward=False)
    return hambo.fit(logs, ensemble, seed=0, progress=False, threads=1)


def ranked(model: hambo.Model, asked: dict[str, SwingUp], **options: Any) -> tuple[hambo.Ranking, float]:
    begun = time.perf_counter()
    found = hambo.rank(model, asked, **TASK, seed=0, progress=False, **options)
    return found, time.perf_counter() - begun


def same(a: hambo.Ranking, b: hambo.Ranking) -> bool:
    return list(a) == list(b) and dict(a) == dict(b)


def speed(address: str) -> Row:
    """Some of the policies are evaluated by one process alone as well."""
    model, count = fitted(128), 64
    options = {"separate": True, "delta": 0.05 / count, "episodes": 800}
    there, seconds_there = ranked(model, policies(count), on=address, **options)
    tasks = [sum(one.to_dict()["timings"].values()) for one in there.values()]
    print(f"there in {seconds_there:.0f} s, {sum(tasks):.0f} s of work", flush=True)
    some = dict(list(policies(count).items())[::8])
    alone, seconds_alone = ranked(model, some, threads=1, **options)
    return {
        "part": "speed",
        "policies": count,
        "seconds_alone": round(seconds_alone / len(some) * count, 1),
        "seconds_there": round(seconds_there, 1),
        "work_there": round(sum(tasks), 1),
        "efficiency": round(sum(tasks) / (seconds_there * NODES), 3),
        "shortest_task": round(min(tasks), 1),
        "same": all(there[name] == one for name, one in alone.items()),
    }


def deaths(address: str, cluster: Cluster, cache: Path) -> list[Row]:
    """The policies are evaluated by a process of its own, because it may die with the head."""
    model, count, rows = fitted(64), 16, []
    model.save(cache.parent / "model")
    alone, seconds_alone = ranked(model, policies(count), threads=1, episodes=500)
    for part in ("worker", "node", "head"):
        folder = cache / part
        begun = time.perf_counter()
        first = another_process(address, folder)
        time.sleep(20)
        if part == "worker":
            # Of those that work on a task one is killed.
            found = subprocess.run(["pgrep", "-f", "^ray::controller"], capture_output=True, text=True, check=True)
            os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
        elif part == "node":
            cluster.kill("node0")
        else:
            cluster.stop()
            first.wait()
            cluster.start_head()
            for number in range(NODES):
                cluster.start_node(f"node{number}")
            first = another_process(address, folder)
        if first.wait() != 0:
            raise SystemExit(f"{part}: the ranking failed")
        there = hambo.Ranking.load(folder / "ranking.json")
        if part == "node":
            cluster.start_node("node0")
        row: Row = {"part": f"{part} killed", "policies": count, "seconds_alone": round(seconds_alone, 1)}
        rows.append(row | {"seconds_there": round(time.perf_counter() - begun, 1), "same": same(alone, there)})
        print(rows[-1], flush=True)
    return rows


def another_process(address: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--address", address, "--folder", str(folder)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["speed", "deaths"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.address:
        model = hambo.load(arguments.folder.parent.parent / "model")
        found, _ = ranked(model, policies(16), on=arguments.address, episodes=500, checkpoint=arguments.folder / "kept")
        found.save(arguments.folder / "ranking.json")
        return
    with tempfile.TemporaryDirectory(prefix="hambo-") as place:
        folder = Path(place)
        (folder / "ray").mkdir()
        cluster, address = Cluster(folder / "ray"), f"127.0.0.1:{PORT}"
        try:
            rows = []
            if arguments.part != "deaths":
                rows.append(speed(address))
                print(rows[-1], flush=True)
            if arguments.part != "speed":
                rows += deaths(address, cluster, folder / "cache")
        finally:
            cluster.stop()
    new = {row["part"] for row in rows}
    rows += [row for row in read_rows(arguments.results) if row["part"] not in new]
    write_rows(arguments.results, rows, COLUMNS, lambda row: row["part"])


if __name__ == "__main__":
    main()
