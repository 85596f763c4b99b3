"""Sinks for tables: CSV, Parquet and Arrow."""

import os
from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import Unpack

import pullstream as ps
from pullstream.authoring import Call, Count, OneOf

from ...arrow import Schema, pa, schema_argument
from ..names import CODECS
from .committing import WriteOptions, writer
from .formats import ArrowTable, Compression, CsvTable, ParquetTable, WrittenTable, codec_argument
from .target import suffix

_CSV_UNIT = 1 << 15
"""The number of CSV rows encoded at once; the first unit determines a file's columns."""

_OF_PARQUET = OneOf("snappy", "zstd", "gzip", "lz4", "brotli")


def write_csv(
    target: str | os.PathLike[str],
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    delimiter: str = ",",
    header: bool = True,
    compression: Compression = "infer",
    **options: Unpack[WriteOptions],
) -> ps.Sink[Any, list[Any]]:
    r"""Write rows as CSV with pyarrow, one file per time: text is quoted, null is empty (`""` in a single column).

    >>> import tempfile, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = ps.values([{"name": "tea", "n": 5}, {"name": "rice", "n": None}])
    ...     [path.read_text() for path in ps.run(ps.pipe(rows, files.write_csv(f"{folder}/{{time}}.csv")))]
    ['"name","n"\n"tea",5\n"rice",\n']

    Rows and schemas are as in `write_parquet`. Without a `schema` the columns of a file are inferred from its first
    32,768 rows. A timestamp that was read into a row is an int, and is written as one: `schema={"at": "timestamp[us]",
    ...}` writes it as a timestamp, and the modules of `columns` keep its type. CSV cannot represent lists, structs,
    maps and bytes: convert them to plain columns with `ps.map`. A growing file has one header. Options
    (`WriteOptions`), results and other errors are those of `write_jsonl`.

    Raises:
        SchemaError: a value does not match its column.
    """
    columns = schema_argument("write_csv", schema)
    if not isinstance(delimiter, str) or len(delimiter.encode()) != 1 or delimiter in '"\r\n\0':  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Call("write_csv").refuse(
            f"got delimiter={delimiter!r}: use one ASCII character, and not a quote, a line end or null"
        )
    codec = codec_argument("write_csv", target, compression)
    format = _writable(CsvTable("write_csv", codec, columns, _CSV_UNIT, delimiter, header))
    own = {"schema": columns, "delimiter": delimiter, "header": header, "compression": compression}
    return writer(target, format, own, **options)


def write_parquet(
    target: str | os.PathLike[str],
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    row_group: int = 131_072,
    compression: str | None = "snappy",
    **options: Unpack[WriteOptions],
) -> ps.Sink[Any, list[Any]]:
    """Write rows as Parquet, one file per time, in row groups of `row_group` rows.

    >>> import tempfile, pyarrow.parquet, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = ps.values([{"name": "tea", "n": 5}, {"name": "rice", "n": None}])
    ...     paths = ps.run(ps.pipe(rows, files.write_parquet(f"{folder}/{{time}}.parquet")))
    ...     pyarrow.parquet.read_table(paths[0]).to_pylist()
    [{'name': 'tea', 'n': 5}, {'name': 'rice', 'n': None}]

    A row is a dict, a named tuple, a tuple (with the columns of the `schema`, or f0, f1, …), or part of an Arrow record
    batch. `schema` is a pyarrow.Schema, or a mapping of column names to pyarrow types or their names. A column that a
    row lacks is null; a column that is not in the schema is refused. A schema also names the parts of pairs:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sales = ps.values([("tea", 3), ("rice", 5), ("tea", 4)])
    ...     sold = ps.reduce_by_key(ps.agg.sum(lambda sale: sale[1]), key=lambda sale: sale[0])
    ...     write = files.write_parquet(f"{folder}/{{time}}.parquet", schema={"item": "string", "sold": "int64"})
    ...     pyarrow.parquet.read_table(ps.run(ps.pipe(sales, sold, write))[0]).to_pylist()
    [{'item': 'tea', 'sold': 7}, {'item': 'rice', 'sold': 5}]

    Every value is stored unchanged or refused: 1.5 is not an int64, and 1e300 not a float32, which only rounds floats.
    Without a `schema` the columns of each file are inferred from its first row group: every type holds all values
    there, so nulls match any type and ints match floats. Give a schema if all files must have the same types. Values
    wait until a row group is full, so row groups do not depend on batching. `compression` is Parquet's own: "snappy",
    "zstd", "gzip", "lz4", "brotli" or None. Dictionary columns of record batches are written as plain ones, unless the
    schema says otherwise.

    Options (`WriteOptions`), results and other errors are those of `write_jsonl`. The target needs a `{time}`, because
    Parquet files cannot grow.

    Raises:
        SchemaError: a value does not match its column.
    """
    columns = schema_argument("write_parquet", schema)
    Count(1)(Call("write_parquet", name="row_group"), row_group)
    _no_suffix("write_parquet", target)
    if compression is not None:
        _OF_PARQUET(Call("write_parquet", name="compression"), compression)
    format = _writable(ParquetTable("write_parquet", None, columns, row_group, {"compression": compression or "none"}))
    own = {"schema": columns, "row_group": None if row_group == 131_072 else row_group}
    if compression != "snappy":
        own["compression"] = compression
    return writer(target, format, own, **options)


def write_arrow(
    target: str | os.PathLike[str],
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    batch: int = 65_536,
    compression: Literal["lz4", "zstd"] | None = None,
    **options: Unpack[WriteOptions],
) -> ps.Sink[Any, list[Any]]:
    """Write rows as Arrow IPC files, one per time, in record batches of `batch` rows.

    >>> import tempfile, pyarrow.feather, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = ps.values([("tea", 5), ("rice", None)])
    ...     paths = ps.run(ps.pipe(rows, files.write_arrow(f"{folder}/{{time}}.arrow")))
    ...     pyarrow.feather.read_table(paths[0]).to_pylist()
    [{'f0': 'tea', 'f1': 5}, {'f0': 'rice', 'f1': None}]

    Rows and schemas are as in `write_parquet`, everything else (`WriteOptions`) as in `write_jsonl`. The schema cannot
    contain dictionaries.
    """
    columns = schema_argument("write_arrow", schema)
    Count(1)(Call("write_arrow", name="batch"), batch)
    _no_suffix("write_arrow", target)
    if compression is not None:
        OneOf("lz4", "zstd")(Call("write_arrow", name="compression"), compression)
    if columns is not None and any(map(pa.types.is_dictionary, columns.types)):
        raise Call("write_arrow").refuse("cannot write dictionary columns: give plain columns")
    format = ArrowTable("write_arrow", None, columns, batch, {"compression": compression})
    own = {"schema": columns, "batch": None if batch == 65_536 else batch, "compression": compression}
    return writer(target, format, own, **options)


def _writable(format: WrittenTable) -> WrittenTable:
    if format.schema is not None and (why := format.refusal(format.schema)):
        raise Call(format.module).refuse(f"got a schema in which {why}")
    return format


def _no_suffix(module: str, target: str | os.PathLike[str]) -> None:
    last = suffix(target)
    if last.lower() in CODECS:
        raise Call(module).refuse(f"compresses its files internally: set compression=, and drop {last}")
