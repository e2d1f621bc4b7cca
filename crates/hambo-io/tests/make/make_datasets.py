"""Random datasets in every format that hambo reads, and beside each the transitions that Python reads from it.

    python make_datasets.py OUT --count 1000 --seed 0          # OUT/<k>/<format>...
    python make_datasets.py --fixtures ../data/datasets        # the small ones that are committed

See README.md for the layout of the expectations.
"""

import argparse
import shutil
import time
from pathlib import Path

import numpy as np

import array_formats
import columnar_formats
import lerobot_formats
import minari_formats
from expectation import from_log, from_minari, from_rows
from random_logs import Limits, random_log

TABLE_FORMATS = {
    "d4rl": array_formats.d4rl,
    "parquet_wide": columnar_formats.parquet_wide,
    "parquet_list": columnar_formats.parquet_list,
    "parquet_dir": columnar_formats.parquet_dir,
    "parquet_named": columnar_formats.parquet_named,
    "arrow_ipc": columnar_formats.arrow_ipc,
    "arrow_stream": columnar_formats.arrow_stream,
    "csv": columnar_formats.csv,
    "npz": array_formats.npz,
}
FORMATS = ["minari_hdf5", "minari_arrow", *TABLE_FORMATS, "minari_parquet", "lerobot"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--fixtures", type=Path, help="replace this folder by two small datasets of each format, and Pendulum-v1")
    arguments = parser.parse_args()
    if (arguments.out is None) == (arguments.fixtures is None):
        parser.error("give either OUT or --fixtures")

    started = time.monotonic()
    if arguments.fixtures is not None:
        out, count = arguments.fixtures, 2
        make_datasets(out, count, 0, FORMATS, Limits(state_dim=5, action_dim=3, episodes=6, length=9, fewest_episodes=3))
        make_pendulum(out / "pendulum")
    else:
        out, count = arguments.out, arguments.count
        make_datasets(out, count, arguments.seed, arguments.formats, Limits())
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{count} datasets in {len(files)} files, {size / 1e6:.1f} MB, {time.monotonic() - started:.0f} s")


def make_datasets(out: Path, count: int, seed: int, formats: list[str], limits: Limits) -> None:
    for number in range(count):
        folder = out / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        log = random_log(np.random.default_rng([seed, number]), limits)
        for name in formats:
            # Each format draws from a stream of its own: leaving one out changes no other.
            make_dataset(log, folder, name, np.random.default_rng([seed, number, 1 + FORMATS.index(name)]))
        if (number + 1) % 100 == 0:
            print(f"{number + 1} datasets", flush=True)


def make_dataset(log, folder: Path, name: str, rng) -> None:
    if name.startswith("minari_"):
        mapping, stored_next = log.mapping, True
        source, dataset = minari_formats.write_minari(log, folder, name.removeprefix("minari_"), rng)
        found = from_minari(dataset, mapping)
    elif name == "lerobot":
        # An episode's last frame has no next state.
        mapping, stored_next = log.mapping, False
        source, found = lerobot_formats.write_lerobot(log, folder, rng)
    else:
        source, table, columns = TABLE_FORMATS[name](log, folder, rng)
        log, mapping, stored_next = table.log, table.mapping, table.next_states_stored
        found = from_rows(columns, mapping)
    found.must_equal(from_log(log, next_states_stored=stored_next), where=f"{folder}/{name}")
    found.write(folder / name, source, mapping)


def make_pendulum(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for storage in ("hdf5", "arrow"):
        source, dataset = minari_formats.collect_pendulum(folder, storage, seed=0)
        from_minari(dataset, {}).write(folder / f"minari_{storage}", source, {})


if __name__ == "__main__":
    main()
