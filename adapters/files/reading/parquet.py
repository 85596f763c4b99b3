"""`read_parquet` and `read_arrow`: files that are tables already."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, overload

import attrs
from typing_extensions import Unpack, override

from pullstream import Failed, Source
from pullstream.authoring import OnError

from ...arrow import As, RecordBatch, pyarrow
from .blocks import opened
from .errors import FileReadError
from .formats import Agreed, Piece, ReadFormat, Start, Table, arrow_types, missing_columns, unique
from .joined import refuse_joined_arrow, refuse_joined_parquet
from .listing import File, Paths
from .options import Options, Tabular, tabular_source
from .streams import RawFile, compression_of, explained

ROWS = 65_536
"""The most rows that become values at a time."""

BUFFER = 1 << 20
"""A column of a row group is read in such pieces, not at once."""

BYTES = 64 << 20
"""The number of bytes of a file, decompressed, that are read at a time, if more than a row has as many."""


@attrs.frozen
class _Typed:
    """Columns that all files have, of the same types: chosen, and cast to what was said."""

    columns: tuple[str, ...] | None
    schema: Any

    def settle(self, file: File, schema: Any, agreed: Agreed) -> None:
        """Take the columns from the first file, and compare those of the others with them."""
        pa = pyarrow()
        unique(file, schema.names)
        types = arrow_types(self.schema)
        missing_columns(file, schema.names, (*(self.columns or ()), *types))
        names = self.columns or schema.names
        # Types that were said are cast to, so they agree in any case.
        shown = pa.schema([(name, types.get(name, schema.field(name).type)) for name in names if name in schema.names])
        if agreed.schema is None:
            agreed.settle(file, shown)
            return
        agreed.check_names(file, schema.names, chosen=self.columns is not None)
        agreed.check_types(file, shown)

    def cast(self, file: File, batch: RecordBatch, agreed: Agreed) -> RecordBatch:
        """A batch of the columns and types that were agreed."""
        pa = pyarrow()
        schema = agreed.schema
        columns = [batch.column(name) for name in schema.names]
        if self.schema is not None:
            try:
                columns = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
            except pa.ArrowException as exc:
                raise FileReadError(file.path, f"does not fit into schema=: {exc}") from None
        return pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch


@attrs.frozen
class ParquetFormat(ReadFormat):
    """Row groups, one after the other."""

    typed: _Typed
    options: Mapping[str, Any]

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        parquet = import_module("pyarrow.parquet")
        with explained(file, raw, "is no Parquet file that can be read"):
            reader = parquet.ParquetFile(raw, **{"pre_buffer": False, "buffer_size": BUFFER, **self.options})
            refuse_joined_parquet(file, raw, reader.metadata)
        with reader:
            self.typed.settle(file, reader.schema_arrow, agreed)
            for group in range(start.at, reader.num_row_groups):
                rows = _rows_at_a_time(reader.metadata.row_group(group), agreed.schema.names)
                batches: Iterator[Any] = reader.iter_batches(rows, row_groups=[group], columns=agreed.schema.names)
                while True:
                    with explained(
                        file, raw, f"cannot be read, in its row group {group + 1} of {reader.num_row_groups}"
                    ):
                        batch = next(batches, None)
                    if batch is None:
                        break
                    yield Table(self.typed.cast(file, batch, agreed), None, Start(group))


def _rows_at_a_time(group: Any, names: Sequence[str]) -> int:
    """The number of rows of a row group that are read at a time: fewer where they are large."""
    columns = map(group.column, range(group.num_columns))
    size = sum(column.total_uncompressed_size for column in columns if column.path_in_schema.split(".")[0] in names)
    return max(1, min(ROWS, BYTES * group.num_rows // max(1, size)))


@attrs.frozen
class ArrowFormat(ReadFormat):
    """Record batches, of a file or a stream."""

    typed: _Typed
    compression: str | None

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        for number, batch in enumerate(self._batches(file, raw, start)):
            if number == 0:
                self.typed.settle(file, batch.schema, agreed)
            for begin in range(0, len(batch), ROWS):
                part = self.typed.cast(file, batch.slice(begin, ROWS), agreed)
                yield Table(part, None, Start(start.at + number))

    def _batches(self, file: File, raw: RawFile, start: Start) -> Iterator[RecordBatch]:
        ipc = import_module("pyarrow.ipc")
        if compression_of(file.path, self.compression) is None:
            with explained(file, raw, "is no Arrow IPC that can be read"):
                begin = raw.read(6)
                raw.seek(0)
                if begin == b"ARROW1":
                    reader = ipc.open_file(raw)
                    refuse_joined_arrow(file, raw)
                    for number in range(start.at, reader.num_record_batches):
                        yield reader.get_batch(number)
                    return
        with opened(file, raw, Start(), self.compression) as stream, explained(file, raw, "is no Arrow IPC stream"):
            if stream.plain and file.size == 0:
                raise FileReadError(file.path, "is empty, and no Arrow IPC")
            for number, batch in enumerate(ipc.open_stream(stream.arrow())):
                if number >= start.at:
                    yield batch
            if stream.arrow().read(1):
                raise FileReadError(
                    file.path, "goes on behind the end of its stream: give each stream a file of its own"
                )


@overload
def read_parquet(
    paths: Paths,
    *,
    parquet_options: Mapping[str, Any] | None = None,
    on_error: OnError[Any] = "fail",
    **options: Unpack[Tabular],
) -> Source[Any]: ...
@overload
def read_parquet(
    paths: Paths,
    *,
    parquet_options: Mapping[str, Any] | None = None,
    on_error: Literal["result"],
    **options: Unpack[Tabular],
) -> Source[Any | Failed[Any]]: ...
def read_parquet(
    paths: Paths,
    *,
    as_: As = "rows",
    columns: Sequence[str] | None = None,
    schema: Mapping[str, Any] | Any = None,
    parquet_options: Mapping[str, Any] | None = None,
    on_error: Any = "fail",
    **options: Unpack[Options],
) -> Source[Any]:
    """Read Parquet files: every row a named tuple, a tuple, a dict, or in an Arrow record batch (`as_`).

    >>> import tempfile, pyarrow, pyarrow.parquet, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in (9, 10):
    ...         table = pyarrow.table({"carrier": ["AA", "UA"], "delay": [day, None]})
    ...         pyarrow.parquet.write_table(table, f"{folder}/day={day}.parquet")
    ...     delays = files.read_parquet(folder, time=files.name_time(r"day=(.+)[.]", int), as_="tuples")
    ...     ps.run(ps.pipe(delays, ps.collect(timed=True)))
    [(9, ('AA', 9)), (9, ('UA', None)), (10, ('AA', 10)), (10, ('UA', None))]

    Only `columns` are read, if they are named. All files have the same columns of the same types, the first file's,
    unless `schema` (a mapping of names to Arrow types or their names, or a `pyarrow.Schema`) says what a column is cast
    to. A timestamp is an int, microseconds since 1970 in UTC, unless `as_="batches"`. 65,536 rows are read at a time,
    or 64 MiB of them if these are fewer. Some of these are in memory at once, as pyarrow has them and as values; beside
    them the pages that pyarrow decodes, whole: of large values a writer may have put a row group's into one, which is
    then there twice. `parquet_options` go to `pyarrow.parquet.ParquetFile`.

    Files that were joined end to end (`cat`) are refused, as the last one's footer knows nothing of the others: join
    tables. A file that cannot be read, wholly or from some row group on, is a failure that names it; with `on_error`,
    see `map`, what is left of it is left out, revealed or diverted, as its path. `paths`, what else can be said
    (`Options`) and what is raised: see `read_text`.
    """
    arguments = dict(parquet_options or {})
    return tabular_source(
        "read_parquet",
        paths,
        lambda wanted, typed, _how, _size: ParquetFormat(_Typed(wanted, typed), arguments),
        options,
        as_=as_,
        columns=columns,
        schema=schema,
        on_error=on_error,
    )


@overload
def read_arrow(paths: Paths, *, on_error: OnError[Any] = "fail", **options: Unpack[Tabular]) -> Source[Any]: ...
@overload
def read_arrow(
    paths: Paths, *, on_error: Literal["result"], **options: Unpack[Tabular]
) -> Source[Any | Failed[Any]]: ...
def read_arrow(
    paths: Paths,
    *,
    as_: As = "rows",
    columns: Sequence[str] | None = None,
    schema: Mapping[str, Any] | Any = None,
    on_error: Any = "fail",
    **options: Unpack[Options],
) -> Source[Any]:
    """Read Arrow IPC files (Feather, too) and streams, whichever a file is; a stream may be compressed as a whole.

    >>> import tempfile, pyarrow, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     batch = pyarrow.record_batch({"day": [1, 1, 2]})
    ...     with pyarrow.ipc.new_file(f"{folder}/days.arrow", batch.schema) as writer:
    ...         writer.write(batch)
    ...     days = files.read_arrow(f"{folder}/days.arrow", time="day", as_="batches")
    ...     ps.run(ps.pipe(days, ps.map(len), ps.collect(timed=True)))
    [(1, 2), (2, 1)]

    `as_`, `columns`, `schema`, `on_error` and the rest are those of `read_parquet`; a record batch of the file is in
    memory at a time. A stream may end wherever a batch does, as the format has it, and nothing may follow its end; nor
    may a file follow another.
    """
    return tabular_source(
        "read_arrow",
        paths,
        lambda wanted, typed, how, _size: ArrowFormat(_Typed(wanted, typed), how),
        options,
        as_=as_,
        columns=columns,
        schema=schema,
        on_error=on_error,
    )
