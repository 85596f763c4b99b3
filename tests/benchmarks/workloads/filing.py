"""Files read and written: W10a to W10f, against the loops over pyarrow's and Python's own readers and writers."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.peers import bytewax_list, counted_here, pathway_rows, piped
from tests.benchmarks.workload import HERE, Prepare, Run, Shape, Workload

SIZES = {"full": 500_000, "quick": 50_000, "smoke": 200, "unit": "row"}
LINES = Workload("W10a", "JSON Lines read", "Count the rows of a JSON Lines file, read as dicts.", **SIZES)
CSV = Workload("W10b", "CSV read", "Count the rows of a CSV file, read as tuples with parsed numbers.", **SIZES)
PARQUET = Workload("W10c", "Parquet read", "Count the rows of a Parquet file, read as tuples.", **SIZES)
BATCHES = Workload("W10d", "Parquet read as Arrow", "The same, read as Arrow record batches.", **SIZES)
LINES_OUT = Workload("W10e", "JSON Lines written", "Dicts written as JSON Lines, synced to the disk.", **SIZES)
PARQUET_OUT = Workload("W10f", "Parquet written", "Dicts written as Parquet, synced to the disk.", **SIZES)


CARRIERS = "AA", "B6", "DL"


def rows(size: int) -> list[dict[str, Any]]:
    return [
        {
            "flight": n,
            "carrier": CARRIERS[n % 3],
            "delay": (n * 7_919 % 100_003) / 100,
            "note": f"gate {n % 90}",
        }
        for n in range(size)
    ]


def table(size: int) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(rows(size))


def new(name: str) -> Path:
    return Path(tempfile.mkdtemp(), name)


def lines_file(size: int) -> Path:
    path = new("rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(size)))
    return path


def csv_file(size: int) -> Path:
    from pyarrow import csv

    path = new("rows.csv")
    csv.write_csv(table(size), path)
    return path


def parquet_file(size: int) -> Path:
    from pyarrow import parquet

    path = new("rows.parquet")
    parquet.write_table(table(size), path)
    return path


def counted(values: Iterator[Any]) -> int:
    return sum(1 for _ in values)


def tuples(batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@LINES.limit
def lines_plain(size: int) -> Run:
    path = lines_file(size)

    def run() -> int:
        with path.open() as file:
            return counted(map(json.loads, file))

    return run


@CSV.limit
def csv_plain(size: int) -> Run:
    from pyarrow import csv

    path = csv_file(size)
    return lambda: counted(tuples(csv.open_csv(path)))


@PARQUET.limit
def parquet_plain(size: int) -> Run:
    from pyarrow import parquet

    path = parquet_file(size)
    return lambda: counted(tuples(parquet.ParquetFile(path).iter_batches()))


@BATCHES.limit
def batches_plain(size: int) -> Run:
    from pyarrow import parquet

    path = parquet_file(size)
    return lambda: sum(batch.num_rows for batch in parquet.ParquetFile(path).iter_batches())


def reading(make: Callable[[int], Path], reader: str, **options: Any) -> Prepare:
    def prepare(size: int) -> Run:
        from adapters import files

        return counted_here(getattr(files, reader)(make(size), **options))

    return prepare


LINES.way(HERE)(reading(lines_file, "read_jsonl", as_="dicts"))
LINES.way(HERE, "rows")(reading(lines_file, "read_jsonl"))
CSV.way(HERE)(reading(csv_file, "read_csv", as_="tuples"))
CSV.way(HERE, "rows")(reading(csv_file, "read_csv"))
PARQUET.way(HERE)(reading(parquet_file, "read_parquet", as_="tuples"))


@BATCHES.way(HERE)
def batches_here(size: int) -> Run:
    import pullstream as ps
    from adapters import files

    source = files.read_parquet(parquet_file(size), as_="batches")
    program = piped(source, ps.reduce(lambda total, batch: total + batch.num_rows, 0))
    return lambda: ps.run(program)


@LINES.way("streamable")
def lines_streamable(size: int) -> Run:
    from streamable import stream

    path = lines_file(size)

    def run() -> int:
        with path.open() as file:
            return counted(iter(stream(file).map(json.loads)))

    return run


@LINES.way("bytewax")
def lines_bytewax(size: int) -> Run:
    from bytewax.connectors.files import FileSource

    path = lines_file(size)
    run = bytewax_list(lambda op, given: op.map("parse", given(FileSource(path)), json.loads))
    return lambda: len(run())


def pathway(make: Callable[[int], Path], kind: str) -> Prepare:
    def prepare(size: int) -> Run:
        path = make(size)

        def build(pw: Any) -> Any:
            schema = pw.schema_from_types(flight=int, carrier=str, delay=float, note=str)
            read = getattr(pw.io, kind).read(str(path), schema=schema, mode="static")
            return read.reduce(count=pw.reducers.count())

        run = pathway_rows(build)
        return lambda: run()[0][0]

    return prepare


LINES.way("pathway")(pathway(lines_file, "jsonlines"))
CSV.way("pathway")(pathway(csv_file, "csv"))


# ---- written


def synced(file: Any) -> None:
    import os

    file.flush()
    os.fsync(file.fileno())


def read_back(path: Path) -> list[Any]:
    """What is in the file that was written."""
    from pyarrow import parquet

    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_text().splitlines()]


@LINES_OUT.limit
def lines_out_plain(size: int) -> tuple[Run, Shape]:
    data, path = rows(size), new("out.jsonl")

    def run() -> Path:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in data)
            synced(file)
        return path

    return run, read_back


@PARQUET_OUT.limit
def parquet_out_plain(size: int) -> tuple[Run, Shape]:
    import pyarrow as pa
    from pyarrow import parquet

    data, path = rows(size), new("out.parquet")

    def run() -> Path:
        with path.open("wb") as file:
            parquet.write_table(pa.Table.from_pylist(data), file, row_group_size=131_072)
            synced(file)
        return path

    return run, read_back


def writing(writer: str, kind: str) -> Prepare:
    def prepare(size: int) -> tuple[Run, Shape]:
        import pullstream as ps
        from adapters import files

        program = piped(ps.values(rows(size)), getattr(files, writer)(new(f"{{time}}.{kind}")))
        return lambda: ps.run(program), lambda paths: read_back(paths[0])

    return prepare


LINES_OUT.way(HERE)(writing("write_jsonl", "jsonl"))
PARQUET_OUT.way(HERE)(writing("write_parquet", "parquet"))
