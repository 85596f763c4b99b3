"""Pieces of files as formats produce them: values, tables, and parts that cannot be read."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import Any, ClassVar, Final

import attrs
from more_itertools import duplicates_everseen

from pullstream.authoring import shortened, some_of

from ...arrow import Origin, RecordBatch, first_line, pa, with_decimals
from .errors import FileReadError, NoColumnError, as_packed
from .listing import File
from .streams import INVALID, RawFile

AT_A_TIME: Final = 1024
"""The number of values made at a time. More would survive until a garbage collection, which doubles their cost."""


@attrs.frozen
class Values:
    """Consecutive values of a file.

    `line` is the line of the first value if each value is one line. Reading can restart from `start` (`Format.pieces`).
    """

    values: list[Any]
    line: int | None = None
    start: "Start | None" = None
    more: bool = False
    """Whether the next piece is available without waiting, so that making it costs less than switching threads."""


@attrs.frozen
class TablePiece:
    """Consecutive rows of a file as an Arrow record batch."""

    batch: RecordBatch
    line: int | None = None
    start: "Start | None" = None
    more: bool = False
    row: int | None = None
    """The number of the first row in its file, if rows are not lines and it is known."""
    schema: Any = None
    """The types of the columns, if text columns may be dictionaries instead."""

    def rest(self, begin: int) -> "TablePiece":
        """The rows from number `begin` on."""
        line, row = self.line and self.line + begin, self.row and self.row + begin
        return attrs.evolve(self, batch=self.batch.slice(begin), line=line, row=row)

    def origin(self, file: File) -> Origin:
        """The place of the rows, for messages."""
        return Origin(file.path, self.row) if self.line is None else Origin(file.path, self.line, "line")


@attrs.frozen
class Bad:
    """An unreadable part of a file: the bytes of a line, or the file's path for the rest of the file."""

    value: Any
    error: Exception
    start: "Start | None" = None
    more: bool = False


Piece = Values | TablePiece | Bad


@attrs.frozen
class ReadFormat(ABC):
    """A reader for one kind of file; immutable, and pickled with its source."""

    compression: str | None
    block_size: int

    @abstractmethod
    def pieces(self, file: File, raw: RawFile, start: "Start", agreed: "Agreed") -> Generator[Piece]:
        """Read a file in pieces, in a thread; the caller closes `raw`. Raises `FileReadError` if it cannot continue."""

    decodes: ClassVar[bool] = True
    """Whether pieces are `TablePiece`s, which are decoded without holding Python's lock."""


@attrs.frozen
class TableFormat(ReadFormat):
    """A reader of tables, with the columns to read and their types, if they were given."""

    columns: tuple[str, ...] | None = attrs.field(kw_only=True)
    schema: Any = attrs.field(kw_only=True)


@attrs.frozen
class Start:
    """A place in a file to start reading: the `start` of a piece, and the number of its first line."""

    at: int = 0
    line: int = 1


class Agreed:
    """The columns and types that all files of a source share; taken from the first file. `time` names one."""

    def __init__(self, saved: bytes | None = None, time: str | None = None) -> None:
        self.schema: Any = None
        self.header: tuple[bytes, list[str]] = (b"", [])
        """The header of the last file, and the names in it."""
        self._time = time
        self._path = ""
        if saved is not None:
            self.schema = pa.ipc.read_schema(pa.BufferReader(saved))
            self._path = "the files of an earlier run"

    def saved(self) -> bytes:
        """The columns and types, serialized for a journal."""
        return self.schema.serialize().to_pybytes()

    def settle(self, file: File, schema: Any) -> None:
        """Set the columns and types, from the first file."""
        self._check_time(file, schema.names)
        self.schema = schema.remove_metadata()
        self._path = file.path

    def check_names(self, file: File, names: Sequence[str], *, chosen: bool) -> None:
        """Refuse a file with other columns; if columns were `chosen`, additional ones are allowed."""
        self._check_time(file, names)
        agreed: dict[str, None] = dict.fromkeys(self.schema.names)
        there = dict.fromkeys(names)
        missing = [name for name in agreed if name not in there]
        extra = [] if chosen else [name for name in there if name not in agreed]
        if missing or extra:
            problems = [f"has no column {some_of(missing, form=repr)}"] if missing else []
            problems += [f"has additional columns: {some_of(extra, form=repr)}"] if extra else []
            raise FileReadError(
                file.path,
                f"{' and '.join(problems)}, unlike {self._path or 'schema='} before it. All files of a source must "
                f"have the same columns: select common ones with columns=[...], or read each kind with its own source",
            )

    def _check_time(self, file: File, names: Sequence[str]) -> None:
        if self._time is not None and self._time not in names:
            problem = f"has no column {self._time!r}, which time= names; it has {some_of(names, self._time, repr)}"
            raise NoColumnError(file.path, problem)

    def check_types(self, file: File, schema: Any) -> None:
        """Refuse a file in which a column has another type; null, the type of a column without values, becomes any."""
        agreed = self.schema
        for place, field in enumerate(self.schema):
            other = field.with_type(schema.field(field.name).type)
            if other.type == field.type:
                continue
            try:
                both = pa.unify_schemas([pa.schema([field]), pa.schema([other])]).field(0)
            except pa.ArrowException:
                raise FileReadError(
                    file.path,
                    f"the column {field.name!r} is {other.type}, but {field.type} in {self._path}. "
                    f"{_one_type(field, other)}",
                ) from None
            if both.type != field.type:
                agreed = agreed.set(place, both)
        if agreed is not self.schema:
            self.schema, self._path = agreed, file.path


def _one_type(one: Any, other: Any) -> str:
    """Advice on a column of two types: the type that holds the values of both."""
    try:
        schemas = with_decimals([pa.schema([field]) for field in (one, other)])
        wide = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        if pa.types.is_decimal256(wide) and not any(map(pa.types.is_decimal256, (one.type, other.type))):
            # Both have 38 digits, with different scales; few values have that many digits.
            wide = pa.decimal128(38, wide.scale)
    except pa.ArrowException:
        wide = pa.string()
    try:
        for field in (one, other):
            pa.nulls(0, field.type).cast(wide)
    except pa.ArrowException:
        return "No type holds both, so read each kind of file with its own source"
    try:
        pa.type_for_alias(str(wide))
    except ValueError:
        return f"Give one type for all files: schema= with pyarrow's {wide} for {one.name!r}"
    return f"Give one type for all files: schema={{{one.name!r}: {str(wide)!r}}}"


def unique(file: File, names: Sequence[str]) -> None:
    """Refuse a file in which two columns share a name."""
    twice = sorted({*duplicates_everseen(names)})
    if twice:
        raise FileReadError(file.path, f"has several columns with the same name: {some_of(twice, form=repr)}")


def missing_columns(file: File, names: Sequence[str], wanted: Iterable[str]) -> None:
    """Refuse a file that lacks a requested column."""
    there = {*names}
    missing = [name for name in wanted if name not in there]
    if missing:
        has = some_of(names, missing[0], repr)
        raise NoColumnError(file.path, f"has no column {some_of(missing, form=repr)}; it has {has}")


def arrow_types(schema: Any) -> dict[str, Any]:
    """Map the names of a schema to its Arrow types; empty without a schema."""
    return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))


def decoded(data: bytes) -> str | None:
    """Decode lines as UTF-8, with line feeds as line ends; None if they are not valid."""
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def problem_of(exc: Exception) -> str:
    """The problem with a line, from its parser's message."""
    if isinstance(exc, UnicodeDecodeError):
        wrong = exc.object[exc.start]
        advice = as_packed(exc.object) or "; set encoding="
        if wrong == INVALID:
            return f"is not valid in its encoding{advice}"
        return f"is not valid UTF-8: byte {exc.start + 1} of the line is 0x{wrong:02x}{advice}"
    # A parser's message may quote a whole value.
    return shortened(first_line(exc))
