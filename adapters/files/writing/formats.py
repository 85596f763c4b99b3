"""The kinds of files: how values wait, and how they are encoded."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import attrs
from typing_extensions import Buffer, override

from ...arrow import Columns, DataType, Schema, pyarrow
from .disk import Disk, Out
from .encoding import (
    Codec,
    Encoder,
    arrow_encoder,
    csv_encoder,
    csv_of,
    csv_takes,
    encoded,
    parquet_encoder,
    parquet_takes,
)
from .raw import Raw, RawBytes, RawRows


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
        return self.codec is not None

    @abstractmethod
    def raw(self, disk: Disk, path: Path, shown: str) -> Raw:
        """Make a store in which values wait."""

    def head(self, raw: Raw) -> Buffer:
        """The first bytes of a file, uncompressed."""
        _ = raw
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


@attrs.frozen
class TableFormat(WriteFormat):
    """Rows, with or without a schema, and the number of rows per unit."""

    schema: Schema | None
    unit: int

    @override
    def raw(self, disk: Disk, path: Path, shown: str) -> Raw:
        return RawRows(disk, path, Columns(shown, self.schema, self.refusal), self.unit)

    def takes(self, kind: DataType) -> bool:
        """Whether a column may have a type."""
        _ = kind
        return True

    def refusal(self, schema: Schema) -> str | None:
        """The reason why columns cannot be written; None if they can."""
        for field in schema:
            if not self.takes(field.type):
                what = f"the column {field.name!r} is {field.type}, which {self.module} cannot write"
                return f"{what}; convert it to plain columns or to text with ps.map"
        return None


def _fixed(raw: Raw) -> Schema:
    """The schema, which is fixed from now on."""
    return cast("RawRows", raw).columns.fix()


@attrs.frozen
class CsvTable(TableFormat):
    """Rows as CSV."""

    delimiter: str
    header: bool

    @override
    def takes(self, kind: DataType) -> bool:
        return csv_takes(kind)

    @override
    def head(self, raw: Raw) -> Buffer:
        empty = pyarrow().Table.from_batches([], schema=_fixed(raw))
        return csv_of(empty, self.delimiter, header=True) if self.header else b""

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        return csv_encoder(self.codec, out, self.delimiter, self.head(raw) if head else b"")


@attrs.frozen
class _Binary(TableFormat):
    options: Mapping[str, Any]
    grows = False

    @property
    @override
    def costly(self) -> bool:
        return True


@attrs.frozen
class ParquetTable(_Binary):
    """Rows as Parquet."""

    @override
    def takes(self, kind: DataType) -> bool:
        return parquet_takes(kind)

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        return parquet_encoder(_fixed(raw), out, self.options)


@attrs.frozen
class ArrowTable(_Binary):
    """Rows as an Arrow IPC file."""

    @override
    def encoder(self, raw: Raw, out: Out, *, head: bool) -> Encoder:
        return arrow_encoder(_fixed(raw), out, self.options)
