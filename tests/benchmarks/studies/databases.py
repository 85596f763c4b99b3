"""Rows written to tables, against each driver's own bulk load of the same rows in one transaction, and the memory.

    python -m tests.benchmarks --only databases [-- ROWS [TIMES]]    # a million, at ten times, by default

A ratio is the median over interleaved repeats, of the bulk load's seconds to those of `write_rows`, which commits once
per time; then the same of the process's processor time. PostgreSQL is measured if PULLSTREAM_POSTGRESQL is the URL of
an empty database. The memory is what the process had in use at most, when it wrote that many rows at so many times, and
ten times as many rows at ten times as many.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pyarrow as pa

import pullstream as ps
from pullstream import tables

REPEATS = 5
TIMES = 10
BATCH = 10_000
SERVER = os.environ.get("PULLSTREAM_POSTGRESQL", "")
KINDS = [
    kind
    for kind, package in (
        ("sqlite", "sqlite3"),
        ("duckdb", "duckdb"),
        ("postgresql", "adbc_driver_postgresql"),
        ("delta", "deltalake"),
        ("iceberg", "pyiceberg"),
    )
    if find_spec(package) and (kind != "postgresql" or SERVER)
]


def batches(rows):
    """Rows of a number, a real number and a text, a batch after the other."""
    assert rows % (TIMES * BATCH) == 0, "a batch has one time"
    for begin in range(0, rows, BATCH):
        numbers = range(begin, begin + BATCH)
        yield pa.record_batch(
            {
                "time": pa.array([number * TIMES // rows for number in numbers], pa.int64()),
                "number": pa.array(numbers, pa.int64()),
                "real": pa.array([number / 7 for number in numbers]),
                "text": pa.array([f"text {number}" for number in numbers]),
            }
        )


def target(kind, folder):
    return {
        "sqlite": f"{folder}/rows.db",
        "duckdb": f"{folder}/rows.duckdb",
        "postgresql": SERVER,
        "delta": f"delta:///{folder}",
        "iceberg": f"iceberg:///{folder}",
    }[kind]


def written(kind, folder, table, given):
    """Write them with `write_rows`, each batch at the time of its rows."""
    source = ps.values(iter(given), time=lambda batch: batch.column("time")[0].as_py())
    # A value is a batch here, so many values in flight would be many more rows than usual.
    assert len(ps.run(ps.pipe(source, tables.write_rows(target(kind, folder), table)), limit=16)) == TIMES


def loaded(kind, folder, table, given):
    """Write them with the driver, in one transaction."""
    schema = given[0].schema
    reader = pa.RecordBatchReader.from_batches(schema, iter(given))
    if kind == "sqlite":
        import sqlite3

        with sqlite3.connect(f"{folder}/rows.db") as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"CREATE TABLE {table} (time BIGINT, number BIGINT, real DOUBLE PRECISION, text TEXT)")
            for batch in given:
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
        database.close()
    elif kind == "duckdb":
        import duckdb

        with duckdb.connect(f"{folder}/rows.duckdb") as database:
            database.execute(f"CREATE TABLE {table} AS SELECT * FROM reader")
    elif kind == "postgresql":
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(SERVER) as database, database.cursor() as cursor:
            cursor.adbc_ingest(table, reader, mode="create")
            database.commit()
    elif kind == "delta":
        import deltalake

        deltalake.write_deltalake(f"{folder}/{table}", reader)
    else:
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog("bulk", uri=f"sqlite:///{folder}/bulk.db", warehouse=str(folder))
        catalog.create_namespace_if_not_exists("bulk")
        catalog.create_table(("bulk", table), schema).append(reader)


def compare(kind, rows):
    given, names = list(batches(rows)), count()
    ratios, spent, bulk = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(REPEATS):
            took, used = {}, {}
            for way in (written, loaded)[:: 1 if repeat % 2 else -1]:
                begin, began = time.perf_counter(), time.process_time()
                way(kind, folder, f"rows_{os.getpid()}_{next(names)}", given)
                took[way], used[way] = time.perf_counter() - begin, time.process_time() - began
            ratios.append(took[loaded] / took[written])
            spent.append(used[loaded] / used[written])
            bulk.append(took[loaded])
    low, median, high = statistics.quantiles(ratios, n=4)
    print(
        f"{kind:12} {rows / min(bulk):12,.0f} rows a second x {median:5.2f}   ({low:.2f} to {high:.2f}), "
        f"processor x {statistics.median(spent):.2f}",
        flush=True,
    )


def memory(kind, rows, times):
    """Return the most megabytes of a process that writes so many rows."""
    command = [sys.executable, "-m", __spec__.name, "memory", kind, str(rows), str(times)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        size, TIMES = map(int, sys.argv[3:])
        with tempfile.TemporaryDirectory() as place:
            written(sys.argv[2], place, f"rows_{os.getpid()}", batches(size))
        (most,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
        print(int(most) // 1024)
    else:
        size, TIMES, *_ = [*map(int, sys.argv[1:]), *(1_000_000, TIMES)[len(sys.argv) - 1 :]]
        for each in KINDS:
            compare(each, size)
        for each in KINDS:
            few, many = memory(each, size, TIMES), memory(each, 10 * size, 10 * TIMES)
            print(f"{each:12} {few} MB for {size:,} rows, {many} MB for {10 * size:,}", flush=True)
