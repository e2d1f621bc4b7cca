"""Parquet, Arrow IPC and CSV, written and read back by pyarrow and polars.

Every function writes a log below `folder`, and returns the file's name, the table that was meant, and the columns that the library reads.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from random_logs import Log
from rows import Table, random_table

PARQUET_COMPRESSIONS = ["none", "snappy", "zstd", "lz4", "gzip"]
IPC_COMPRESSIONS = [None, "lz4", "zstd"]
RLLIB_NAMES = {
    "state": "obs",
    "action": "actions",
    "reward": "rewards",
    "next_state": "new_obs",
    "terminated": "terminateds",
    "truncated": "truncateds",
    "episode": "eps_id",
    "step": "t",
}
PLAIN_NAMES = {
    "state": "obs",
    "action": "action",
    "reward": "reward",
    "next_state": "next_obs",
    "terminated": "terminated",
    "truncated": "truncated",
    "episode": "episode",
    "step": "step",
}


def parquet_wide(log: Log, folder: Path, rng):
    table = random_table(log, rng, names=PLAIN_NAMES, layouts=("wide",))
    path = folder / "parquet_wide.parquet"
    compression = str(rng.choice(PARQUET_COMPRESSIONS))
    pl.DataFrame(with_distractions(table.columns, rng)).write_parquet(
        path,
        compression="uncompressed" if compression == "none" else compression,
        row_group_size=random_chunk(rng, rows_of(table)),
        statistics=bool(rng.random() < 0.5),
    )
    return path.name, table, polars_columns(pl.read_parquet(path))


def parquet_list(log: Log, folder: Path, rng):
    names = PLAIN_NAMES | {"state": "observation", "next_state": "next_observation"}
    table = random_table(log, rng, names=names, layouts=("matrix",))
    path = folder / "parquet_list.parquet"
    write_parquet(arrow_table(table, rng, ("fixed",)), path, rng)
    return path.name, table, arrow_columns(pq.read_table(path))


def parquet_dir(log: Log, folder: Path, rng):
    table = random_table(log, rng, names=RLLIB_NAMES, layouts=("matrix",))
    path = folder / "parquet_dir"
    path.mkdir()
    whole = arrow_table(table, rng, ("list",))
    rows = rows_of(table)
    # Cuts fall anywhere, so episodes continue from one file into the next.
    cuts = sorted(rng.choice(np.arange(1, rows), size=min(rows - 1, int(rng.integers(1, 8))), replace=False))
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, rows], strict=True)):
        write_parquet(whole.slice(start, end - start), path / f"part-{number:05}.parquet", rng)
    if rng.random() < 0.3:
        (path / "_SUCCESS").touch()  # Spark's mark of a finished job; not data
    parts = [pq.read_table(part) for part in sorted(path.glob("*.parquet"))]
    return path.name, table, arrow_columns(pa.concat_tables(parts))


def parquet_named(log: Log, folder: Path, rng):
    table = random_table(log, rng, layouts=("wide", "matrix"), own_names=True)
    path = folder / "parquet_named.parquet"
    write_parquet(arrow_table(table, rng, ("fixed", "list", "large")), path, rng)
    return path.name, table, arrow_columns(pq.read_table(path))


def arrow_ipc(log: Log, folder: Path, rng):
    table = random_table(log, rng, layouts=("wide", "matrix"), own_names=bool(rng.random() < 0.3))
    path = folder / "arrow_ipc.arrow"
    write_ipc(pa.ipc.new_file, arrow_table(table, rng, ("fixed", "list", "large")), path, rng)
    with pa.ipc.open_file(path) as reader:
        return path.name, table, arrow_columns(reader.read_all())


def arrow_stream(log: Log, folder: Path, rng):
    table = random_table(log, rng, layouts=("wide", "matrix"))
    path = folder / "arrow_stream.arrows"
    write_ipc(pa.ipc.new_stream, arrow_table(table, rng, ("fixed", "list", "large")), path, rng)
    with pa.ipc.open_stream(path) as reader:
        return path.name, table, arrow_columns(reader.read_all())


def csv(log: Log, folder: Path, rng):
    own = bool(rng.random() < 0.4)
    # Flags are true/false, or 0/1 as spreadsheets and pandas users write them.
    table = random_table(log, rng, layouts=("wide",), own_names=own, flag_types=(np.bool_, np.int64))
    path = folder / "csv.csv"
    # Without a fixed precision polars writes the shortest digits that give the same number back.
    pl.DataFrame(with_distractions(table.columns, rng)).write_csv(path)
    return path.name, table, polars_columns(pl.read_csv(path, infer_schema_length=None))


def rows_of(table: Table) -> int:
    return sum(len(episode.rewards) for episode in table.log.episodes)


def random_chunk(rng, rows: int) -> int:
    """Mostly shorter than the log, so that episodes cross chunks, but never more than some twenty chunks."""
    return int(rng.integers(max(1, rows // 20), rows + 1))


def with_distractions(columns: dict[str, np.ndarray], rng) -> dict:
    """Columns that a reader must not mistake for data."""
    columns = dict(columns)
    rows = len(next(iter(columns.values())))
    if rng.random() < 0.4:
        columns["note"] = ["nothing, really" if draw < 0.5 else None for draw in rng.random(rows)]
    if rng.random() < 0.4:
        columns["wall_time"] = [None if draw < 0.1 else draw for draw in rng.random(rows)]
    return columns


def arrow_table(table: Table, rng, list_kinds: tuple[str, ...]) -> pa.Table:
    columns = {}
    for name, values in with_distractions(table.columns, rng).items():
        if isinstance(values, np.ndarray) and values.ndim == 2:
            columns[name] = arrow_lists(values, str(rng.choice(list_kinds)))
        else:
            columns[name] = pa.array(values)
    return pa.table(columns)


def arrow_lists(values: np.ndarray, kind: str) -> pa.Array:
    rows, dim = values.shape
    flat = pa.array(values.reshape(-1))
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(flat, dim)
    offsets = np.arange(0, (rows + 1) * dim, dim)
    if kind == "large":
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), flat)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)


def write_parquet(data: pa.Table, path: Path, rng) -> None:
    dictionary = bool(rng.random() < 0.5)
    pq.write_table(
        data,
        path,
        compression=str(rng.choice(PARQUET_COMPRESSIONS)),
        row_group_size=random_chunk(rng, len(data)),
        use_dictionary=dictionary,
        data_page_version=str(rng.choice(["1.0", "2.0"])),
        data_page_size=int(rng.choice([200, 1024 * 1024])),
        store_schema=bool(rng.random() < 0.8),
    )


def write_ipc(opened, data: pa.Table, path: Path, rng) -> None:
    options = pa.ipc.IpcWriteOptions(compression=IPC_COMPRESSIONS[rng.integers(3)])
    with opened(path, data.schema, options=options) as writer:
        writer.write_table(data, max_chunksize=random_chunk(rng, len(data)))


def polars_columns(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    return {name: frame[name].to_numpy() for name in frame.columns}


def arrow_columns(data: pa.Table) -> dict[str, np.ndarray]:
    columns = {}
    for name in data.column_names:
        column = data[name].combine_chunks()
        if pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            elements = column.flatten().to_numpy(zero_copy_only=False)
            columns[name] = elements.reshape(len(column), -1)
        else:
            columns[name] = column.to_numpy(zero_copy_only=False)
    return columns
