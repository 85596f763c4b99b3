"""Files read and written: W10a to W10f, compared with loops over the readers and writers of pyarrow and Python."""

import json
import os
import tempfile
from functools import partial
from pathlib import Path

from tests.benchmarks.peers import bytewax_list, counted_here, pathway_rows
from tests.benchmarks.workload import HERE, Workload

SIZES = {"full": 500_000, "quick": 50_000, "smoke": 200, "unit": "row"}
LINES = Workload("W10a", "JSON Lines read", "Count the rows of a JSON Lines file, read as dicts.", **SIZES)
CSV = Workload("W10b", "CSV read", "Count the rows of a CSV file, read as tuples with parsed numbers.", **SIZES)
PARQUET = Workload("W10c", "Parquet read", "Count the rows of a Parquet file, read as tuples.", **SIZES)
BATCHES = Workload("W10d", "Parquet read as Arrow", "The same, read as Arrow record batches.", **SIZES)
LINES_OUT = Workload("W10e", "JSON Lines written", "Dicts written as JSON Lines, synced to the disk.", **SIZES)
PARQUET_OUT = Workload("W10f", "Parquet written", "Dicts written as Parquet, synced to the disk.", **SIZES)


CARRIERS = "AA", "B6", "DL"


def rows(size):
    return [
        {
            "flight": n,
            "carrier": CARRIERS[n % 3],
            "delay": (n * 7_919 % 100_003) / 100,
            "note": f"gate {n % 90}",
        }
        for n in range(size)
    ]


def table(size):
    import pyarrow as pa

    return pa.Table.from_pylist(rows(size))


def new(name):
    return Path(tempfile.mkdtemp(), name)


def made(kind, size):
    from pyarrow import csv, parquet

    path = new(f"rows.{kind}")
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(size)))
    else:
        {"csv": csv.write_csv, "parquet": parquet.write_table}[kind](table(size), path)
    return path


def counted(values):
    return sum(1 for _ in values)


def tuples(batches):
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@LINES.limit
def lines_plain(size):
    path = made("jsonl", size)

    def run():
        with path.open() as file:
            return counted(map(json.loads, file))

    return run


@CSV.limit
def csv_plain(size):
    from pyarrow import csv

    path = made("csv", size)
    return lambda: counted(tuples(csv.open_csv(path)))


@PARQUET.limit
def parquet_plain(size):
    from pyarrow import parquet

    path = made("parquet", size)
    return lambda: counted(tuples(parquet.ParquetFile(path).iter_batches()))


@BATCHES.limit
def batches_plain(size):
    from pyarrow import parquet

    path = made("parquet", size)
    return lambda: sum(batch.num_rows for batch in parquet.ParquetFile(path).iter_batches())


def reading(size, kind, **options):
    import pullstream as ps
    from adapters import files

    source = getattr(files, f"read_{kind}")(made(kind, size), **options)
    if options.get("as_") != "batches":
        return counted_here(source)
    program = ps.pipe(source, ps.reduce(lambda total, batch: total + batch.num_rows, 0))
    return lambda: ps.run(program)


LINES.way(HERE)(partial(reading, kind="jsonl", as_="dicts"))
LINES.way(HERE, "rows")(partial(reading, kind="jsonl"))
CSV.way(HERE)(partial(reading, kind="csv", as_="tuples"))
CSV.way(HERE, "rows")(partial(reading, kind="csv"))
PARQUET.way(HERE)(partial(reading, kind="parquet", as_="tuples"))
BATCHES.way(HERE)(partial(reading, kind="parquet", as_="batches"))


@LINES.way("streamable")
def lines_streamable(size):
    from streamable import stream

    path = made("jsonl", size)

    def run():
        with path.open() as file:
            return counted(iter(stream(file).map(json.loads)))

    return run


@LINES.way("bytewax")
def lines_bytewax(size):
    from bytewax.connectors.files import FileSource

    path = made("jsonl", size)
    run = bytewax_list(lambda op, given: op.map("parse", given(FileSource(path)), json.loads))
    return lambda: len(run())


def pathway(size, kind, reader):
    path = made(kind, size)

    def build(pw):
        schema = pw.schema_from_types(flight=int, carrier=str, delay=float, note=str)
        read = getattr(pw.io, reader).read(str(path), schema=schema, mode="static")
        return read.reduce(count=pw.reducers.count())

    run = pathway_rows(build)
    return lambda: run()[0][0]


LINES.way("pathway")(partial(pathway, kind="jsonl", reader="jsonlines"))
CSV.way("pathway")(partial(pathway, kind="csv", reader="csv"))


# ---- written


def read_back(path):
    """Return the content of the written file."""
    from pyarrow import parquet

    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_text().splitlines()]


def writing_plain(size, kind):
    import pyarrow as pa
    from pyarrow import parquet

    data, path = rows(size), new(f"out.{kind}")

    def run():
        with path.open("wb") as file:
            if kind == "jsonl":
                file.writelines((json.dumps(row, ensure_ascii=False) + "\n").encode() for row in data)
            else:
                parquet.write_table(pa.Table.from_pylist(data), file, row_group_size=131_072)
            file.flush()
            os.fsync(file.fileno())
        return path

    return run, read_back


def writing(size, kind):
    import pullstream as ps
    from adapters import files

    program = ps.pipe(ps.values(rows(size)), getattr(files, f"write_{kind}")(new(f"{{time}}.{kind}")))
    return lambda: ps.run(program), lambda paths: read_back(paths[0])


for workload, written in ((LINES_OUT, "jsonl"), (PARQUET_OUT, "parquet")):
    workload.limit(partial(writing_plain, kind=written))
    workload.way(HERE)(partial(writing, kind=written))
