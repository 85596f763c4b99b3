"""Writing a lot: JSON Lines, CSV and Parquet against the pyarrow loop that one would write by hand, and the memory.

    python tests/benchmarks/bench_files_write.py [--gb 1] [--repeats 3] [--only parquet] [--folder /tmp]

Ratios are of throughput to the baseline's, both synced to the disk, medians over interleaved repeats; with a disk that
others use, `--folder /dev/shm` and processor time tell more. Each measurement is a process of its own, whose peak of
memory is shown for a quarter of the data and for all of it.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import pullstream as ps
from adapters import files

ROWS = 65_536
"""In a batch."""

CHUNK = 4096
"""Rows a hand-written loop over rows turns into a batch at a time."""


def batch() -> Any:
    numbers = list(range(ROWS))
    return pa.record_batch(
        {
            "id": pa.array([n * 7919 % 1_000_003 for n in numbers], pa.int64()),
            "when": pa.array([1_700_000_000_000_000 + n * 1_013 for n in numbers], pa.timestamp("us", "UTC")),
            "value": pa.array([n * 0.37 % 101 for n in numbers], pa.float64()),
            "name": pa.array([f"sensor-{n % 997}" for n in numbers]),
            "note": pa.array([None if n % 5 else f"a note of {n * 104_729 % 100_003} words" for n in numbers]),
        }
    )


def rows() -> list[dict[str, Any]]:
    return [{**row, "when": row["when"].isoformat()} for row in batch().to_pylist()]


def batches(count: int) -> Iterator[Any]:
    one = batch()
    for _ in range(count):
        yield one


def chunks(count: int) -> Iterator[Any]:
    """Rows, as a source would answer them."""
    one = rows()
    for _ in range(count):
        for start in range(0, ROWS, CHUNK):
            yield one[start : start + CHUNK]


@ps.source
async def batch_source(ctx: ps.Context, count: int):
    for one in batches(count):
        yield ps.Batch(0, [one])


@ps.source
async def row_source(ctx: ps.Context, count: int):
    for some in chunks(count):
        yield ps.Batch(0, some)


def synced(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def parquet_by_hand(path: Path, count: int) -> None:
    with pa_parquet.ParquetWriter(path, batch().schema) as writer:
        for one in batches(count):
            writer.write_batch(one)
    synced(path)


def parquet_rows_by_hand(path: Path, count: int) -> None:
    writer = None
    for some in chunks(count):
        made = pa.RecordBatch.from_pylist(some)
        writer = writer or pa_parquet.ParquetWriter(path, made.schema)
        writer.write_batch(made, row_group_size=131_072)
    writer.close()
    synced(path)


def csv_by_hand(path: Path, count: int) -> None:
    with pa_csv.CSVWriter(path, batch().schema) as writer:
        for one in batches(count):
            writer.write_batch(one)
    synced(path)


def csv_rows_by_hand(path: Path, count: int) -> None:
    writer = None
    for some in chunks(count):
        made = pa.RecordBatch.from_pylist(some)
        writer = writer or pa_csv.CSVWriter(path, made.schema)
        writer.write_batch(made)
    writer.close()
    synced(path)


def jsonl_by_hand(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for some in chunks(count):
            for row in some:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    synced(path)


def write(source: Callable[[int], Any], sink: Callable[..., Any]) -> Callable[[Path, int], None]:
    def written(path: Path, count: int) -> None:
        ps.run(ps.pipe(source(count), sink(path.parent / f"{{time}}-{path.name}")))

    return written


CASES: dict[str, tuple[Callable[[Path, int], None], Callable[[Path, int], None]]] = {
    "parquet, of batches": (parquet_by_hand, write(batch_source, files.write_parquet)),
    "csv, of batches": (csv_by_hand, write(batch_source, files.write_csv)),
    "jsonl, of rows": (jsonl_by_hand, write(row_source, files.write_jsonl)),
    "csv, of rows": (csv_rows_by_hand, write(row_source, files.write_csv)),
    "parquet, of rows": (parquet_rows_by_hand, write(row_source, files.write_parquet)),
}


def child(name: str, which: int, count: int, folder: Path) -> None:
    began, before = time.perf_counter(), time.process_time()
    CASES[name][which](folder / "out", count)
    seconds, worked = time.perf_counter() - began, time.process_time() - before
    (path,) = (path for path in folder.iterdir() if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, path.stat().st_size, peak, worked]))


def measured(name: str, which: int, count: int, folder: str | None) -> tuple[float, float, float, float]:
    place = tempfile.mkdtemp(dir=folder)
    try:
        command = [sys.executable, __file__, "--child", name, str(which), str(count), place]
        return tuple(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    finally:
        shutil.rmtree(place)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder")
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.child:
        name, which, count, folder = given.child
        child(name, int(which), int(count), Path(folder))
        return
    # About 75 bytes a row in Arrow's form; a little more as text.
    count = max(4, int(given.gb * 1e9 / 75 / ROWS))
    for name in (name for name in CASES if given.only in name):
        pairs = [[measured(name, which, count, given.folder) for which in (0, 1)] for _ in range(given.repeats)]
        small = measured(name, 1, count // 4, given.folder)
        ratio = statistics.median(hand[0] / ours[0] for hand, ours in pairs)
        worked = statistics.median(hand[3] / ours[3] for hand, ours in pairs)
        hand, ours = (min(pair[which][0] for pair in pairs) for which in (0, 1))
        size, peak = pairs[0][1][1] / 1e6, max(pair[1][2] for pair in pairs)
        base = max(pair[0][2] for pair in pairs)
        print(
            f"{name:22} {size:6.0f} MB  by hand {hand:6.1f} s, {base:4.0f} MiB  here {ours:6.1f} s  "
            f"throughput {ratio:.2f} x (by processor time {worked:.2f} x)  "
            f"peak {small[2]:4.0f} MiB at a quarter, {peak:4.0f} MiB at all",
            flush=True,
        )


if __name__ == "__main__":
    main()
