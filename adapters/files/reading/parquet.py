"""`read_parquet` and `read_arrow`: readers for files that contain tables."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, overload

import attrs
from typing_extensions import Unpack, override

from pullstream import Failed, Source
from pullstream.authoring import OnError

from ...arrow import RecordBatch, pa
from ...arrow.columns import without_views
from .blocks import opened
from .errors import FileReadError, by_name
from .formats import Agreed, Piece, Start, TableFormat, TablePiece, arrow_types, missing_columns, unique
from .joined import refuse_joined_arrow, refuse_joined_parquet
from .listing import File, Paths
from .options import Tabular, tabular_source
from .streams import RawFile, compression_of, explained

ROWS = 65_536
"""The maximum number of rows that become values at a time."""

BUFFER = 1 << 20
"""The buffer size for reading a column, so that a row group's column is not read at once."""

BYTES = 64 << 20
"""The maximum decompressed bytes that are read at a time, unless a single row is larger."""


@attrs.frozen
class _Typed(TableFormat):
    """A reader of columns whose types are in the files, and are cast to the given ones."""

    def settle(self, file: File, schema: Any, agreed: Agreed) -> None:
        """Take the columns from the first file, and compare other files with it."""
        unique(file, schema.names)
        there, types = arrow_types(schema), arrow_types(self.schema)
        missing_columns(file, schema.names, (*(self.columns or ()), *types))
        # Columns with a given type are cast to it, so they always agree.
        shown = pa.schema(
            [(name, types.get(name) or without_views(there[name])) for name in self.columns or there if name in there]
        )
        if agreed.schema is None:
            agreed.settle(file, shown)
            return
        agreed.check_names(file, schema.names, chosen=self.columns is not None)
        agreed.check_types(file, shown)

    def cast(self, file: File, batch: RecordBatch, agreed: Agreed, texts: Sequence[str] = ()) -> RecordBatch:
        """Select the agreed columns of a batch, cast to the agreed types; `texts` stay dictionaries."""
        schema = agreed.schema
        columns: list[Any] = []
        for field in schema:
            column = batch.column(field.name)
            try:
                # Arrow's cast breaks lists of nulls of the same type.
                same = column.type == field.type or field.name in texts
                columns.append(column if same else column.cast(field.type))
            except pa.ArrowException as exc:
                raise FileReadError(file.path, f"does not match schema=: {exc}") from None
        if texts:
            return pa.RecordBatch.from_arrays(columns, names=schema.names)
        return pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch


@attrs.frozen
class ParquetFormat(_Typed):
    """Parquet files, read one row group at a time."""

    options: Mapping[str, Any] = attrs.field(kw_only=True)

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        with explained(file, raw, f"is not a readable Parquet file{by_name(file.path, 'read_parquet')}"):
            options = {"pre_buffer": False, "buffer_size": BUFFER, **self.options}
            content = raw if start.at else raw.content()
            large = content is raw
            reader = pa.parquet.ParquetFile(content, **options)
            refuse_joined_parquet(file, content, reader.metadata)
            schema = reader.schema_arrow
            texts = self._texts(reader, schema)
            if texts:
                reader = pa.parquet.ParquetFile(content, **options, metadata=reader.metadata, read_dictionary=texts)
        with reader:
            self.settle(file, schema, agreed)
            row = 1 + sum(reader.metadata.row_group(group).num_rows for group in range(start.at))
            for group in range(start.at, reader.num_row_groups):
                rows = _rows_at_a_time(reader.metadata.row_group(group), agreed.schema.names)
                batches: Iterator[Any] = reader.iter_batches(
                    rows, row_groups=[group], columns=agreed.schema.names, use_threads=large
                )
                while True:
                    with explained(
                        file, raw, f"cannot be read, in its row group {group + 1} of {reader.num_row_groups}"
                    ):
                        batch = next(batches, None)
                    if batch is None:
                        break
                    made = self.cast(file, batch, agreed, texts)
                    schema = agreed.schema if texts else None
                    raw.over = not large and row + len(batch) > reader.metadata.num_rows
                    yield TablePiece(made, None, Start(group), row=row, schema=schema)
                    row += len(batch)

    def _texts(self, reader: Any, schema: Any) -> list[str]:
        """The text columns to read as dictionaries, at half the cost: small ones that are stored as dictionaries."""
        types, found = pa.types, list[str]()
        if self.schema is not None or "read_dictionary" in self.options or not reader.num_row_groups:
            return found
        group = reader.metadata.row_group(0)
        for column in map(group.column, range(group.num_columns)):
            name = column.path_in_schema
            place = schema.get_field_index(name)
            text = place >= 0 and types.is_string(schema.field(place).type)
            # Large values are not in the file's dictionary, so reading would have to make one.
            if text and column.has_dictionary_page and column.total_uncompressed_size < 4 * group.num_rows:
                found.append(name)
        return found


def _rows_at_a_time(group: Any, names: Sequence[str]) -> int:
    """The number of rows of a row group to read at a time; fewer if rows are large."""
    columns, wanted = map(group.column, range(group.num_columns)), {*names}
    size = sum(column.total_uncompressed_size for column in columns if column.path_in_schema.split(".")[0] in wanted)
    return max(1, min(ROWS, BYTES * group.num_rows // max(1, size)))


@attrs.frozen
class ArrowFormat(_Typed):
    """Record batches of an Arrow file or stream."""

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        row = None if start.at else 1
        for number, (batch, last) in enumerate(self._batches(file, raw, start)):
            if number == 0:
                self.settle(file, batch.schema, agreed)
            for begin in range(0, len(batch), ROWS):
                part = self.cast(file, batch.slice(begin, ROWS), agreed)
                raw.over = last and begin + ROWS >= len(batch)
                yield TablePiece(part, None, Start(start.at + number), row=row and row + begin)
            row = row and row + len(batch)

    def _batches(self, file: File, raw: RawFile, start: Start) -> Iterator[tuple[RecordBatch, bool]]:
        """The batches, and whether each is known to be the last one of a small file."""
        unreadable = f"is not readable Arrow IPC{by_name(file.path, 'read_arrow')}"
        if compression_of(file.path, self.compression) is None:
            with explained(file, raw, unreadable):
                begin = raw.read(6)
                raw.seek(0)
                if begin == b"ARROW1":
                    content = raw if start.at else raw.content()
                    reader = pa.ipc.open_file(content)
                    refuse_joined_arrow(file, content)
                    last = None if content is raw else reader.num_record_batches - 1
                    for number in range(start.at, reader.num_record_batches):
                        yield reader.get_batch(number), number == last
                    return
        with opened(file, raw, Start(), self.compression) as stream, explained(file, raw, unreadable):
            if stream.plain and file.size == 0:
                raise FileReadError(file.path, "is empty, and so not Arrow IPC")
            for number, batch in enumerate(pa.ipc.open_stream(stream.arrow)):
                if number >= start.at:
                    yield batch, False
            if stream.arrow.read(1):
                raise FileReadError(
                    file.path, "continues after the end of its stream: write each stream to its own file"
                )


class ParquetOptions(Tabular, total=False):
    """The options of `read_parquet`."""

    parquet_options: Mapping[str, Any] | None


@overload
def read_parquet(
    paths: Paths, *, on_error: OnError[Any] = "fail", **options: Unpack[ParquetOptions]
) -> Source[Any]: ...
@overload
def read_parquet(
    paths: Paths, *, on_error: Literal["result"], **options: Unpack[ParquetOptions]
) -> Source[Any | Failed[Any]]: ...
def read_parquet(
    paths: Paths,
    *,
    parquet_options: Mapping[str, Any] | None = None,
    on_error: Any = "fail",
    **options: Unpack[Tabular],
) -> Source[Any]:
    """Read Parquet files: every row as a named tuple, a tuple, a dict, or in an Arrow record batch (`as_`).

    >>> import tempfile, pyarrow, pyarrow.parquet, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in (9, 10):
    ...         table = pyarrow.table({"carrier": ["AA", "UA"], "delay": [day, None]})
    ...         pyarrow.parquet.write_table(table, f"{folder}/day={day}.parquet")
    ...     delays = files.read_parquet(folder, time=files.name_time(r"day=(.+)[.]", int), as_="tuples")
    ...     ps.run(ps.pipe(delays, ps.collect(timed=True)))
    [(9, ('AA', 9)), (9, ('UA', None)), (10, ('AA', 10)), (10, ('UA', None))]

    `columns` selects the columns to read. All files must have the same columns with the same types as the first file,
    except that `schema` (a mapping of names to Arrow types or their names, or a `pyarrow.Schema`) gives types to cast
    to. A column that is null throughout a file, or a part of one (the elements of empty lists), takes its type from the
    other files; in batches it is `null` until a file has values. A timestamp is an int (microseconds since 1970, UTC)
    unless `as_="batches"`. At most 65,536 rows or 64 MiB are read at a time. Memory holds a few such pieces, both in
    pyarrow's form and as values, and the whole pages that pyarrow decodes. If values are large, a page may be as large
    as its row group, and it is then in memory twice. `parquet_options` are passed to
    `pyarrow.parquet.ParquetFile`.

    Parquet files joined end to end (`cat`) are refused, because the last footer describes only the last file: join the
    tables instead. A file that cannot be read, entirely or from some row group on, is an error that names it. With
    `on_error` (see `map`), the rest of it is skipped, or its path is the value of a `Failed`. For `paths`, the other
    options (`Options`) and the errors see `read_text`.
    """
    format = partial(ParquetFormat, options=dict(parquet_options or {}))
    return tabular_source("read_parquet", paths, format, options, on_error)


@overload
def read_arrow(paths: Paths, *, on_error: OnError[Any] = "fail", **options: Unpack[Tabular]) -> Source[Any]: ...
@overload
def read_arrow(
    paths: Paths, *, on_error: Literal["result"], **options: Unpack[Tabular]
) -> Source[Any | Failed[Any]]: ...
def read_arrow(paths: Paths, *, on_error: Any = "fail", **options: Unpack[Tabular]) -> Source[Any]:
    """Read Arrow IPC files (including Feather) and streams; the kind is detected, and a stream may be compressed.

    >>> import tempfile, pyarrow, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     batch = pyarrow.record_batch({"day": [1, 1, 2]})
    ...     with pyarrow.ipc.new_file(f"{folder}/days.arrow", batch.schema) as writer:
    ...         writer.write(batch)
    ...     days = files.read_arrow(f"{folder}/days.arrow", time="day", as_="batches")
    ...     ps.run(ps.pipe(days, ps.map(len), ps.collect(timed=True)))
    [(1, 2), (2, 1)]

    `as_`, `columns`, `schema`, `on_error` and the rest are those of `read_parquet`. Memory holds one record batch of
    the file at a time. Views (`string_view`), which polars writes, become plain columns, unless `schema` has them. A
    stream without an end marker is complete after any batch, as the format allows. Data after the end of a stream, or a
    file joined to another, is an error.
    """
    return tabular_source("read_arrow", paths, ArrowFormat, options, on_error)
