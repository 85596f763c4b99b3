"""The kinds of files: how values wait, and the encoders that turn units (bytes or tables) into a file's content."""

import bz2
import lzma
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

import attrs
from typing_extensions import Buffer, override

from pullstream.authoring import Call

from ...arrow import Columns, DataType, Schema, SchemaError, pa
from ...arrow.columns import nested
from ..names import CODECS, compression_argument
from .disk import Disk, Out
from .raw import Raw, RawBytes, RawRows
from .target import suffix as suffix_of

Codec: TypeAlias = Literal["gzip", "zstd", "bz2", "xz"]
Compression: TypeAlias = Literal["infer", "gzip", "zstd", "bz2", "xz"] | None

BY_SUFFIX: Mapping[str, Codec] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".xz": "xz"}


def codec_argument(module: str, target: object, compression: object) -> Codec | None:
    """The codec of a target: as given, or from the name's suffix; an unknown one is refused."""
    compression_argument(module, compression, BY_SUFFIX.values())
    given: Any = compression
    if given != "infer":
        return given
    suffix = suffix_of(target).lower()
    if suffix in CODECS and suffix not in BY_SUFFIX:
        raise Call(module).refuse(
            f"got the target {str(target)!r}: readers expect compressed data in {suffix}, which it cannot write. Use "
            f"one of {', '.join(BY_SUFFIX)}, or give compression=None"
        )
    return BY_SUFFIX.get(suffix)


class Encoder:
    """Writes units to a file: `write` appends one, and `end` writes the end of the content."""

    def __init__(self, out: Out, write: Callable[[Any], object], end: Callable[[], object] = lambda: None) -> None:
        self.write = write
        self.end = end
        self._out = out

    def finish(self) -> None:
        """Write the end of the file."""
        self.end()
        self._out.finish()


_COMPRESSORS: Mapping[Codec, Callable[[], Any]] = {
    # The gzip header contains neither a time nor a name, so equal values give equal files.
    "gzip": lambda: zlib.compressobj(wbits=zlib.MAX_WBITS | 16),
    "bz2": bz2.BZ2Compressor,
    "xz": lzma.LZMACompressor,
}


def encoded(codec: Codec | None, out: Out) -> Encoder:
    """The encoder for bytes with a codec: one member or frame per file."""
    if codec is None:
        return Encoder(out, out.write)
    if codec == "zstd":
        stream = pa.CompressedOutputStream(pa.PythonFile(out, "w"), "zstd")
        return Encoder(out, stream.write, stream.close)
    compressor = _COMPRESSORS[codec]()
    return Encoder(out, lambda unit: out.write(compressor.compress(unit)), lambda: out.write(compressor.flush()))


def csv_of(table: Any, delimiter: str, *, header: bool = False) -> Buffer:
    """Encode a table's rows as CSV, or its header."""
    out = pa.BufferOutputStream()
    lonely = table.num_columns == 1 and table.column(0).null_count > 0
    if lonely and _is_text(table.schema.field(0).type):
        table, lonely = table.set_column(0, table.schema.names[0], table.column(0).fill_null("")), False
    # pyarrow quotes text that has the delimiter, but not numbers and times.
    style = "all_valid" if delimiter.isalnum() or delimiter in " +-.:" else "needed"
    options = pa.csv.WriteOptions(include_header=header, delimiter=delimiter, batch_size=16384, quoting_style=style)
    pa.csv.write_csv(table, out, options)
    # CSV readers skip empty lines, so quote the null of a single column. Values other than text contain no line ends.
    if not lonely:
        return out.getvalue()
    return b"".join((line or b'""') + b"\n" for line in out.getvalue().to_pybytes().split(b"\n")[:-1])


def _is_text(kind: DataType) -> bool:
    types = pa.types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


_OUT_OF_RANGE: Final = re.compile(rb"<value out of range: (-?\d+)>")
"""The text that pyarrow writes for a date or time outside the range of its type."""


@lru_cache(maxsize=1024)
def csv_takes(kind: DataType) -> bool:
    """Whether CSV can represent every value of a type; it cannot represent bytes."""
    if _is_text(kind):
        # Filling the null below would import pandas.
        return True
    try:
        csv_of(pa.table([pa.nulls(1, kind)], names=["column"]), ",")
    except pa.ArrowException:
        return False
    return "binary" not in str(kind)


@lru_cache(maxsize=1024)
def parquet_takes(kind: DataType) -> bool:
    """Whether Parquet can store a column of a type."""
    try:
        pa.parquet.ParquetWriter(pa.BufferOutputStream(), pa.schema([("column", kind)])).close()
    except pa.ArrowException:
        return False
    return True


@attrs.frozen
class WriteFormat(ABC):
    """A kind of file, with the module that writes it and the codec for the whole file."""

    module: str
    codec: Codec | None

    grows: ClassVar[bool] = True
    """Whether data can be appended to a file."""

    @property
    def costly(self) -> bool:
        """Whether an encoder keeps much in memory between two units."""
        return self.codec is not None or not self.grows

    @abstractmethod
    def raw(self, disk: Disk, path: Path, shown: str) -> Raw:
        """Make a store for values that wait."""

    def head(self, raw: Raw) -> Buffer:  # noqa: ARG002 - only CSV has one
        """The first bytes of a file, uncompressed."""
        return b""

    @abstractmethod
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        """Make the encoder of a file, with a `head` if wanted; called when there is a unit, or at the end."""


@attrs.frozen
class LinesFormat(WriteFormat):
    """Bytes, made from values one by one."""

    lines: Callable[[Sequence[Any]], bytes]

    @override
    def raw(self, disk: Disk, path: Path, shown: str) -> Raw:
        return RawBytes(disk, path, self.lines)

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        return encoded(self.codec, out)


def _any(_: DataType) -> bool:
    return True


@attrs.frozen
class WrittenTable(WriteFormat):
    """Rows, with or without a schema, and the number of rows per unit."""

    schema: Schema | None
    unit: int

    takes: ClassVar[Callable[..., bool]] = staticmethod(_any)
    """Whether a column may have a type."""

    @override
    def raw(self, disk: Disk, path: Path, shown: str) -> Raw:
        return RawRows(disk, path, Columns(shown, self.schema, self.refusal), self.unit)

    def refusal(self, schema: Schema) -> str | None:
        """The reason why columns cannot be written; None if they can."""
        for field in schema:
            if not self.takes(field.type):
                what = f"the column {field.name!r} is {field.type}, which {self.module} cannot write"
                return f"{what}; convert it to plain columns or to text with ps.map"
        return None

    def kept(self, table: Any) -> Any:
        """Return a table, or refuse one whose rows would be lost."""
        if table.num_columns == 0 < table.num_rows:
            raise SchemaError(
                f"{self.module}: the rows have no columns, and it cannot store how many there are. Give them one, or "
                f"leave out empty rows with ps.filter"
            )
        return table


def _fixed(raw: Raw) -> Schema:
    return cast("RawRows", raw).columns.fix()


@attrs.frozen
class CsvTable(WrittenTable):
    """Rows as CSV: text always quoted, nulls empty."""

    delimiter: str
    header: bool

    takes = staticmethod(csv_takes)

    @override
    def head(self, raw: Raw) -> Buffer:
        empty = pa.Table.from_batches([], schema=_fixed(raw))
        return csv_of(empty, self.delimiter, header=True) if self.header else b""

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        content = encoded(self.codec, out)
        if head and self.header:
            content.write(self.head(raw))
        return Encoder(out, lambda table: content.write(self._text(table)), content.end)

    def _text(self, table: Any) -> Buffer:
        text = csv_of(self.kept(table), self.delimiter)
        if _OUT_OF_RANGE.search(text):
            for field in table.schema:
                wrong = _OUT_OF_RANGE.search(csv_of(table.select([field.name]), self.delimiter))
                if wrong and pa.types.is_temporal(field.type):
                    raise SchemaError(
                        f"{self.module}: the column {field.name!r} is {field.type}, and {wrong[1].decode()} is out of "
                        f"its range. Leave it out, or write it as a number"
                    )
        return text


@attrs.frozen
class ParquetTable(WrittenTable):
    """Rows as Parquet, one row group per table."""

    options: Mapping[str, Any]

    grows = False
    takes = staticmethod(parquet_takes)

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        schema = pa.schema(map(_lenient, fixed := _fixed(raw)), fixed.metadata)
        writer = pa.parquet.ParquetWriter(out, schema, **self.options)

        def write(table: Any) -> None:
            writer.write_table(self.kept(table).cast(schema), row_group_size=max(1, table.num_rows))

        return Encoder(out, write, writer.close)


def _lenient(field: Any) -> Any:
    """Allow nulls in the parts of structs that may be null: Spark has nulls there, which pyarrow refuses to write."""
    null = field.nullable and pa.types.is_struct(field.type)
    return field.with_type(nested(field.type, lambda part: _lenient(part.with_nullable(part.nullable or null))))


@attrs.frozen
class ArrowTable(WrittenTable):
    """Rows as an Arrow IPC file, one record batch per table."""

    options: Mapping[str, Any]

    grows = False

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        writer = pa.ipc.new_file(out, _fixed(raw), options=pa.ipc.IpcWriteOptions(**self.options))

        def write(table: Any) -> None:
            # Copied buffers have the exact length of their data; the originals may have spare capacity.
            copied = [_copy(column) for column in table.columns]
            writer.write_table(pa.Table.from_arrays(copied, schema=table.schema) if copied else table)

        return Encoder(out, write, writer.close)


def _copy(column: Any) -> Any:
    return pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)]) if column.num_chunks else column
