"""Rows written to tables, against each driver's own bulk load of the same rows, and the memory.

    python -m tests.benchmarks --only databases [-- ROWS [TIMES]]    # a million, at ten times, by default

A ratio is the median over interleaved repeats, of the bulk load's seconds to those of `write_rows`, which commits once
per time; then the same of the process's processor time. The bulk load has one transaction, or one per time that also
records the time. PostgreSQL is measured if PULLSTREAM_POSTGRESQL is the URL of
an empty database. The memory is what the process had in use at most, when it wrote that many rows at so many times, and
ten times as many rows at ten times as many.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from importlib.util import find_spec
from itertools import count, groupby
from pathlib import Path
from statistics import median

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
    bulk(kind, folder, table, [given])


def recorded(kind, folder, table, given):
    """Write them with the driver, in a transaction per time, which also records the time."""
    bulk(kind, folder, table, [list(group) for _, group in groupby(given, lambda batch: batch["time"][0].as_py())])


def bulk(kind, folder, table, groups):
    """Write each group with the driver in a transaction; several are recorded, which makes them idempotent."""
    schema, records = groups[0][0].schema, len(groups) > 1
    record = f"INSERT INTO {table}_times VALUES"
    if kind == "sqlite":
        import sqlite3

        with closing(sqlite3.connect(f"{folder}/rows.db", isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"CREATE TABLE {table} (time BIGINT, number BIGINT, real DOUBLE PRECISION, text TEXT)")
            database.execute(f"CREATE TABLE {table}_times (time BIGINT PRIMARY KEY)")
            for number, group in enumerate(groups):
                database.execute("BEGIN IMMEDIATE")
                for batch in group:
                    rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                    database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
                if records:
                    database.execute(f"{record} ({number})")
                database.execute("COMMIT")
    elif kind == "duckdb":
        import duckdb

        with duckdb.connect(f"{folder}/rows.duckdb") as database:
            database.execute(f"CREATE TABLE {table} (time BIGINT, number BIGINT, real DOUBLE, text TEXT)")
            database.execute(f"CREATE TABLE {table}_times (time BIGINT PRIMARY KEY)")
            for number, group in enumerate(groups):
                reader = pa.RecordBatchReader.from_batches(schema, iter(group))
                database.begin()
                database.execute(f"INSERT INTO {table} SELECT * FROM reader")
                if records:
                    database.execute(f"{record} ({number})")
                database.commit()
    elif kind == "postgresql":
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(SERVER) as database, database.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} (time BIGINT, number BIGINT, real DOUBLE PRECISION, text TEXT)")
            cursor.execute(f"CREATE TABLE {table}_times (time BIGINT PRIMARY KEY)")
            for number, group in enumerate(groups):
                cursor.adbc_ingest(table, pa.RecordBatchReader.from_batches(schema, iter(group)), mode="append")
                if records:
                    cursor.execute(f"{record} ({number})")
                database.commit()
    elif kind == "delta":
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

        there = f"{folder}/{table}"
        for number, group in enumerate(groups):
            properties = CommitProperties(app_transactions=[Transaction("bulk", number)] if records else None)
            reader = pa.RecordBatchReader.from_batches(schema, iter(group))
            write_deltalake(there, reader, mode="append", commit_properties=properties)
            there = there if isinstance(there, DeltaTable) or not records else DeltaTable(there)
    else:
        from pyiceberg.catalog.sql import SqlCatalog

        with closing(SqlCatalog("bulk", uri=f"sqlite:///{folder}/bulk.db", warehouse=str(folder))) as catalog:
            catalog.create_namespace_if_not_exists("bulk")
            there = catalog.create_table(("bulk", table), schema)
            for number, group in enumerate(groups):
                with there.transaction() as transaction:
                    transaction.append(pa.RecordBatchReader.from_batches(schema, iter(group)))
                    if records:
                        transaction.set_properties({f"time.{number}": "1"})


def compare(kind, rows):
    given, names = list(batches(rows)), count()
    ways = [written, loaded, recorded]
    took, used = ({way: [] for way in ways} for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(REPEATS):
            for way in ways[:: 1 if repeat % 2 else -1]:
                begin, began = time.perf_counter(), time.process_time()
                way(kind, folder, f"rows_{os.getpid()}_{next(names)}", given)
                took[way].append(time.perf_counter() - begin)
                used[way].append(time.process_time() - began)
    said = [f"{kind:12} {rows / min(took[loaded]):12,.0f} rows a second"]
    for way, says in (loaded, "of one transaction"), (recorded, f"of {TIMES}"):
        ratios = [[a / b for a, b in zip(spent[way], spent[written], strict=True)] for spent in (took, used)]
        said.append(f"x {median(ratios[0]):.2f}, processor x {median(ratios[1]):.2f} {says}")
    print("; ".join(said), flush=True)


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
