"""Writes files that a reader must refuse, and beside them what its message must say.

    python make_broken.py ../data/broken

`cases.json` lists for each file the mapping to read it with and words that the message must contain:
where the problem is, and what to do.
"""

import io
import json
import pathlib
import struct
import sys
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

OUT = pathlib.Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
CASES = []
RNG = np.random.default_rng(0)


def case(file, words, mapping=None):
    CASES.append({"file": file, "mapping": mapping or {}, "words": words})
    return OUT / file


def good(steps=(5, 4), state_dim=2, action_dim=1):
    """Columns of a small clean log."""
    parts = []
    for number, length in enumerate(steps):
        path = RNG.normal(size=(length + 1, state_dim)).astype(np.float32)
        last = np.arange(length) == length - 1
        parts.append(
            {
                "observations": path[:-1],
                "actions": RNG.uniform(-1, 1, (length, action_dim)).astype(np.float32),
                "rewards": RNG.normal(size=length).astype(np.float32),
                "next_observations": path[1:],
                "terminals": last & (number == 0),
                "timeouts": last & (number != 0),
                "episode": np.full(length, number, np.int64),
                "step": np.arange(length, dtype=np.int64),
            }
        )
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def hdf5(path, columns, **options):
    with h5py.File(path, "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, **options)


def table(columns):
    arrays = {}
    for name, values in columns.items():
        values = np.asarray(values)
        if values.ndim == 2:
            arrays[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


def parquet(path, columns, **options):
    pq.write_table(table(columns), path, **options)


def arrow(path, columns, compression=None):
    data = table(columns)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, data.schema, options=options) as writer:
        writer.write_table(data)


def stream(path, columns):
    data = table(columns)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)


def csv(path, columns):
    wide = {}
    for name, values in columns.items():
        values = np.asarray(values)
        if values.ndim == 2:
            wide.update({f"{name}_{i}": values[:, i] for i in range(values.shape[1])})
        else:
            wide[name] = values
    rows = zip(*wide.values())
    text = ",".join(wide) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_text(text)


def npz(path, columns):
    np.savez(path, **columns)


WRITERS = {"hdf5": hdf5, "parquet": parquet, "arrow": arrow, "arrows": stream, "csv": csv, "npz": npz}


def changed(**changes):
    columns = good()
    for name, change in changes.items():
        if change is None:
            columns.pop(name)
        else:
            columns[name] = change(columns[name]) if callable(change) else change
    return columns


def with_value(index, value):
    def change(values):
        values = values.copy()
        values[index] = value
        return values

    return change


# What every format must notice about the data itself.
for ext, write in WRITERS.items():
    def row(number):
        """As a message counts it: in text as editors do, with the header as the first line."""
        return f"row {number + 2}" if ext == "csv" else f"row {number}"

    refuse = {"missing": "refuse"}
    write(case(f"nan_state.{ext}", [row(6), "missing", "split"], refuse), changed(
        observations=with_value((6, 1), np.nan)))
    write(case(f"infinite_reward.{ext}", ["episode 0, step 2", "inf", "reward"]), changed(
        rewards=with_value(2, np.inf)))
    write(case(f"crossing_transition.{ext}", ["episode 0", "next state of step 2 is not the state of step 3",
                                              "boundary may be missing"]), changed(
        next_observations=with_value((2, 0), 40.0)))
    write(case(f"episode_returns.{ext}", [row(7), "episode 0 comes back", "sort"]), changed(
        episode=with_value(slice(7, 9), 0)))
    write(case(f"step_gap.{ext}", [row(3), "step 7 follows step 2", "missing"], refuse), changed(
        step=with_value(3, 7)))
    write(case(f"goes_on_after_the_end.{ext}", [row(1), "marked terminated", "goes on"]), changed(
        terminals=with_value(1, True)))
    write(case(f"no_reward_column.{ext}", ["no column for `reward`", "mapping"]), changed(rewards=None))
    write(case(f"bad_flag.{ext}", [row(2), "`terminals`", "a flag is"]), changed(
        terminals=lambda v: with_value(2, 7)(v.astype(np.int64))))
    write(case(f"ambiguous_done.{ext}", ["`done` may mean", "terminated = "]), {
        **changed(terminals=None, timeouts=None), "done": good()["terminals"]})
    write(case(f"no_boundaries.{ext}", ["nothing says where episodes end"]), changed(
        terminals=None, timeouts=None, episode=None, step=None))
    write(case(f"wrong_mapping.{ext}", ["no column for `reward`", "`income`"], {"reward": "income"}), good())
    write(case(f"discrete_out_of_range.{ext}", [row(4), "the value is 3", "discrete_actions"],
               {"discrete_actions": 3}), changed(actions=np.array([0, 1, 2, 0, 3, 1, 0, 0, 0])))
    write(case(f"fractional_step.{ext}", [row(1), "whole numbers"], {"step": "step"}), changed(
        step=lambda v: v + np.where(np.arange(len(v)) == 1, 0.5, 0.0)))
    write(case(f"next_state_too_narrow.{ext}", ["next_state", "has 1 values a row where 2"]), changed(
        next_observations=lambda v: v[:, :1]))

# Truncated and scrambled files.
for ext, write in WRITERS.items():
    if ext == "csv":
        continue
    path = OUT / "whole"
    write(path, good(steps=(50, 40)))
    path = path if path.exists() else OUT / "whole.npz"
    whole = path.read_bytes()
    path.unlink()
    case(f"truncated.{ext}", ["damaged"]).write_bytes(whole[: len(whole) * 2 // 3])
    case(f"head_only.{ext}", []).write_bytes(whole[:16])
    scrambled = bytearray(whole)
    start = len(whole) // 2
    scrambled[start : start + 64] = bytes(RNG.integers(0, 256, 64, dtype=np.uint8))
    # Values in the middle of a file may be any bits; what must not happen is a crash. `null` allows both.
    CASES.append({"file": f"scrambled.{ext}", "mapping": {}, "words": None})
    (OUT / f"scrambled.{ext}").write_bytes(bytes(scrambled))

# Rows that do not match.
hdf5(case("one_observation_too_many.hdf5", ["`observations` has 10 rows, the rewards have 9", "final observation"]),
     changed(next_observations=None, observations=lambda v: np.concatenate([v, v[-1:]])))
npz(case("one_observation_too_many.npz", ["`observations` has 10 rows, the rewards have 9"]),
    changed(next_observations=None, observations=lambda v: np.concatenate([v, v[-1:]])))

# Types that hold no numbers.
hdf5(case("text_reward.hdf5", ["`rewards`", "text"]), changed(rewards=np.array([b"a"] * 9)))
hdf5(case("complex_reward.hdf5", ["`rewards`", "no plain numbers"]), changed(
    rewards=lambda v: v.astype(np.complex64)))
parquet(case("text_reward.parquet", ["`rewards`", "text"]), changed(rewards=np.array(["a"] * 9)))
arrow(case("text_reward.arrow", ["`rewards`", "text"]), changed(rewards=np.array(["a"] * 9)))
csv(case("text_reward.csv", ["`rewards`", "text"]), changed(rewards=np.array(["a"] * 9)))
npz(case("object_array.npz", ["`rewards`", "never"]), changed(rewards=np.array([{}] * 9, dtype=object)))
npz(case("text_reward.npz", ["`rewards`"]), changed(rewards=np.array(["a"] * 9)))

# Missing values.
for ext, write in (("parquet", pq.write_table), ("arrow", None)):
    data = table(good())
    at = data.column_names.index("rewards")
    data = data.set_column(at, "rewards", pa.array([1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))
    path = case(f"missing_reward.{ext}", ["row 2", "reward", "missing"], {"missing": "refuse"})
    if write:
        write(data, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, data.schema) as writer:
            writer.write_table(data)
ragged = table(good())
lists = pa.array([[1.0, 2.0]] * 3 + [[1.0]] + [[1.0, 2.0]] * 5)
ragged = ragged.set_column(ragged.column_names.index("observations"), "observations", lists)
pq.write_table(ragged, case("ragged_lists.parquet", ["row 3", "a list of 1", "same length"]))
text = "obs,action,reward,terminated,truncated\n1,2,3,0,0\n1,2\n1,2,3,1,0\n"
case("ragged.csv", ["text", "equally many"]).write_text(text)
case("empty_cell.csv", ["row 3", "`reward`"], {"missing": "refuse"}).write_text(
    "obs,action,reward,terminated,truncated\n1,2,3,0,0\n1,2,,1,0\n")
case("twice.csv", ["`obs` comes twice"]).write_text("obs,obs,action,reward,terminated\n1,1,2,3,1\n")
case("header_only.csv", ["was its export cut short"]).write_text("obs,action,reward,terminated\n")

# Not data at all.
case("empty.parquet", ["empty"]).write_bytes(b"")
case("gzip.csv.gz", ["gzip", "decompress"]).write_bytes(bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0]))
case("pickle.pkl", ["pickle", "never loaded"]).write_bytes(b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00K\x01.")
case("array.npy", ["single NumPy array", "np.savez"]).write_bytes(b"\x93NUMPY\x01\x00")
case("noise.bin", ["neither text"]).write_bytes(bytes(RNG.integers(1, 31, 500, dtype=np.uint8)))
case("does_not_exist.parquet", ["neither a file"])

# Claims that no memory could honour.
with h5py.File(case("huge_shape.hdf5", ["claims", "stored"]), "w") as file:
    for name, values in good().items():
        shape = (2**40, *values.shape[1:])
        file.create_dataset(name, shape=shape, dtype=values.dtype, chunks=(64, *values.shape[1:]))


def npy(shape, descr="<f4", data=b"\0" * 64, version=1):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    size = struct.pack("<H", len(text) + 1) if version == 1 else struct.pack("<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + b"\n" + data


def archive(path, changes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, values in good().items():
            content = io.BytesIO()
            np.save(content, values)
            file.writestr(f"{name}.npy", changes.get(name, content.getvalue()))


archive(case("huge_shape.npz", ["`rewards` claims"]), {"rewards": npy((2**60,))})
archive(case("overflowing_shape.npz", ["`rewards` claims"]), {"rewards": npy((2**62, 2**62))})
archive(case("short_array.npz", ["`rewards`"]), {"rewards": npy((9,), data=b"\0" * 8)})
archive(case("long_header.npz", ["header is too long"]), {
    "rewards": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{}"})
archive(case("nested_header.npz", ["`rewards`"]), {
    "rewards": b"\x93NUMPY\x01\x00" + struct.pack("<H", 3000) + b"(" * 3000})
# 2 GB of zeros in 2 MB: more than its bytes can honour.
bomb = case("zip_bomb.npz", ["`rewards` claims"])
with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
    for name, values in good().items():
        if name != "rewards":
            content = io.BytesIO()
            np.save(content, values)
            file.writestr(f"{name}.npy", content.getvalue())
    with file.open("rewards.npy", "w", force_zip64=True) as entry:
        entry.write(npy((2**26,), data=b""))
        for _ in range(2**8):
            entry.write(b"\0" * 2**20)
path = case("huge_body.arrow", ["claimed beyond", "damaged"])
arrow(path, good())
content = bytearray(path.read_bytes())
(length,) = struct.unpack("<i", content[-10:-6])
footer = len(content) - 10 - length
# The body's length of the only record batch is the last of its block's 24 bytes.
blocks = content.rfind(struct.pack("<q", 0), footer)
for at in range(footer, len(content) - 32):
    offset, meta, pad, body = struct.unpack("<qiiq", content[at : at + 24])
    if 0 < offset < footer and 0 < meta < footer and pad == 0 and offset + meta + body <= footer and body > 0:
        content[at + 16 : at + 24] = struct.pack("<q", 2**50)
        break
path.write_bytes(bytes(content))

(OUT / "cases.json").write_text(json.dumps(CASES, indent=1) + "\n")
print(len(CASES), "cases")
