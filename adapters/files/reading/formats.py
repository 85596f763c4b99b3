"""Pieces of files, as formats make them: values or tables, and what is bad among them."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import Any, ClassVar, Final

import attrs

from ...arrow import RecordBatch, pyarrow
from .errors import FileReadError, NoColumnError
from .listing import File
from .streams import RawFile

AT_A_TIME: Final = 1024
"""The number of values made at a time: those that live long enough for the collector to look at them cost twice."""


@attrs.frozen
class Values:
    """Values that follow each other in a file.

    `line` is the first one's, if each is a line of its own; from `start` the file can be read again (`Format.pieces`).
    """

    values: list[Any]
    line: int | None = None
    start: "Start | None" = None
    more: bool = False
    """Whether nothing has to be waited for to have the next piece, which takes less than it does to go to a thread."""


@attrs.frozen
class Table:
    """The same as an Arrow record batch."""

    batch: RecordBatch
    line: int | None = None
    start: "Start | None" = None
    more: bool = False


@attrs.frozen
class Bad:
    """A part of a file that cannot be read: a line as it is there, or the file's path, for all that is left of it."""

    value: Any
    error: Exception
    start: "Start | None" = None
    more: bool = False


Piece = Values | Table | Bad


class ReadFormat(ABC):
    """A reader for one kind of file; immutable, and pickled with its source."""

    @abstractmethod
    def pieces(self, file: File, raw: RawFile, start: "Start", agreed: "Agreed") -> Generator[Piece]:
        """Read a file, in a thread, bit by bit; `raw` is closed by the caller.

        Raises:
            FileReadError: what is left of the file cannot be read.
        """

    decodes: ClassVar[bool] = True
    """Whether pieces are `Table`s, decoded while Python does other things."""


@attrs.frozen
class Start:
    """A place in a file to begin at: a `start` that a piece had, whose first line is number `line`."""

    at: int = 0
    line: int = 1


class Agreed:
    """The columns that all files of a source have, and their types; the first file says which."""

    def __init__(self, saved: bytes | None = None) -> None:
        self.schema: Any = None
        self._path = ""
        if saved is not None:
            pa = pyarrow()
            self.schema = pa.ipc.read_schema(pa.BufferReader(saved))
            self._path = "what an earlier run read"

    def saved(self) -> bytes:
        """The columns and types, for a journal."""
        return self.schema.serialize().to_pybytes()

    def settle(self, file: File, schema: Any) -> None:
        """The first file has said its columns."""
        self.schema = schema.remove_metadata()
        self._path = file.path

    def check_names(self, file: File, names: Sequence[str], *, chosen: bool) -> None:
        """Refuse a file of other columns; those that nobody wants may be there if some were `chosen`."""
        agreed: list[str] = self.schema.names
        missing = [name for name in agreed if name not in names]
        extra = [] if chosen else [name for name in names if name not in agreed]
        if missing or extra:
            problems = [f"has no column {listed(missing)}"] if missing else []
            problems += [f"has more: {listed(extra)}"] if extra else []
            raise FileReadError(
                file.path,
                f"{' and '.join(problems)}, other than {self._path or 'schema='} before it. The files of one source "
                f"have the same columns: read those that all have with columns=[...], or each kind with its own source",
            )

    def check_types(self, file: File, schema: Any) -> None:
        """Refuse a file in which a column is of another type."""
        for field in self.schema:
            kind = schema.field(field.name).type
            if kind != field.type:
                raise FileReadError(
                    file.path,
                    f"the column {field.name!r} is {kind}, and {field.type} in {self._path}. Say what it is to be in "
                    f"all files: schema={{{field.name!r}: {str(field.type)!r}}}",
                )


def unique(file: File, names: Sequence[str]) -> None:
    """Refuse a file in which two columns share a name."""
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise FileReadError(file.path, f"has several columns of one name: {listed(twice)}")


def missing_columns(file: File, names: Sequence[str], wanted: Iterable[str]) -> None:
    """Refuse a file that does not have the columns that were asked for."""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise NoColumnError(file.path, f"has no column {listed(missing)}; it has {listed(names)}")


def arrow_types(schema: Any) -> dict[str, Any]:
    """Names and Arrow types of a schema, if there is one."""
    return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))


def decoded(data: bytes) -> str | None:
    """The text of some lines; None if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


LONGEST_TOLD = 200
"""The characters of a parser's message that are told; it may quote all of a value."""


def problem_of(exc: Exception) -> str:
    """The problem with a line, from its parser's message."""
    if isinstance(exc, UnicodeDecodeError):
        wrong = exc.object[exc.start]
        return f"is no UTF-8: byte {exc.start + 1} of the line is 0x{wrong:02x}; say encoding="
    text = str(exc).strip().split("\n")[0]
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}..."


def listed(names: Sequence[str]) -> str:
    """Names, as many as anybody reads."""
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown}, ... ({len(names)})"
