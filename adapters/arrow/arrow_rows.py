"""Rows that stay in Arrow until someone needs them: the values of a batch, backed by an Arrow record batch."""

import gc
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, cast, overload

import attrs
from typing_extensions import override

from .columns import converted, values
from .package import RecordBatch, pa, serialized
from .row_types import row_type

RowForm: TypeAlias = Literal["rows", "tuples", "dicts"]
"""The form of a row: a named tuple, a tuple or a dict."""

CHUNK: Final = 1024
"""The number of rows to create together when single rows are accessed. Many more would survive garbage collections."""

MANY: Final = CHUNK // 2
"""The smallest range of rows that is created alone, without its neighbours."""


@attrs.frozen
class Origin:
    """The file that rows were read from, for messages, and the first row's number in it, if known."""

    path: str
    first: int | None = None
    unit: str = "row"
    places: Any = attrs.field(default=None, eq=False)
    """The offsets of the rows from the first one, a NumPy array, if some rows were left out."""

    def after(self, start: int) -> "Origin":
        """The origin of the rows from `start` on."""
        if self.places is not None:
            return attrs.evolve(self, places=self.places[start:])
        return attrs.evolve(self, first=self.first and self.first + start)

    def chosen(self, places: Any) -> "Origin":
        """The origin of the rows at `places`, a NumPy array."""
        return attrs.evolve(self, places=places if self.places is None else self.places[places])

    def named(self, place: int) -> str:
        """The number of the row at a place, and the file, as text."""
        if self.first is None:
            return self.path
        return f"{self.unit} {self.first + (place if self.places is None else self.places[place])} of {self.path}"


class _Table:
    """A record batch and its most recently created rows; all slices share them."""

    __slots__ = ("_batch", "_recent", "encoded", "form", "origin", "schema")

    def __init__(self, batch: RecordBatch, form: RowForm, origin: Origin | None, schema: Any) -> None:
        self.origin = origin
        self.encoded = batch
        self.schema: Any = batch.schema if schema is None else schema
        self._batch: RecordBatch | None = batch if schema is None else None
        self.form: RowForm = form
        self._recent: tuple[int, list[Any]] = (-1, [])

    @property
    def batch(self) -> RecordBatch:
        """The record batch with the types of its schema."""
        if self._batch is None:
            self._batch = plain(self.encoded, self.schema)
        return self._batch

    def rows(self, start: int, stop: int) -> list[Any]:
        """The rows in a range. A short range is created together with the rows around it."""
        if stop - start >= MANY:
            return _list(self.batch.slice(start, stop - start), self.form)
        found: list[Any] = []
        while start < stop:
            number = start // CHUNK
            begin = number * CHUNK
            known, made = self._recent
            if known != number:
                made = _list(self.batch.slice(begin, CHUNK), self.form)
                self._recent = number, made
            found += made[start - begin : stop - begin]
            start = begin + CHUNK
        return found


class ArrowRows(Sequence[Any]):
    """A sequence of rows in an Arrow record batch, which creates the rows when they are first accessed.

    A slice shares the columns, and two adjacent slices of one record batch are joined without copying. `batch` has the
    columns. A row is a named tuple, a tuple or a dict (see `Shape`), whatever the types of the columns. With a
    `schema`, columns may be dictionary-encoded, and are decoded when they are accessed.

    >>> import pyarrow as pa
    >>> rows = ArrowRows(pa.record_batch({"day": [1, 1, 2], "carrier": ["AA", "UA", None]}))
    >>> rows[1].carrier, len(rows[1:]), rows[1:].batch.column("day").to_pylist()
    ('UA', 2, [1, 2])
    """

    __slots__ = ("_batch", "_made", "_passed", "place", "table")

    def __init__(
        self,
        batch: RecordBatch,
        form: RowForm = "rows",
        *,
        origin: Origin | None = None,
        schema: Any = None,
        part: tuple[_Table, range] | None = None,
    ) -> None:
        self._batch: RecordBatch | None = None
        self._made: list[Any] | None = None
        self._passed = False
        """Whether the rows were iterated over before."""
        self.table, self.place = (_Table(batch, form, origin, schema), range(batch.num_rows)) if part is None else part

    def _part(self, place: range) -> "ArrowRows":
        return type(self)(self.table.encoded, self.form, part=(self.table, place))

    @property
    def form(self) -> RowForm:
        """The form of the rows."""
        return self.table.form

    @property
    def batch(self) -> RecordBatch:
        """The rows as a record batch; nothing is copied."""
        if self._batch is None:
            whole = self.table.batch
            all_ = len(self.place) == len(whole)
            self._batch = whole if all_ else whole.slice(self.place.start, len(self.place))
        return self._batch

    @property
    def encoded(self) -> RecordBatch:
        """The rows as a record batch in which text may still be dictionary-encoded, as it was read."""
        return self.table.encoded.slice(self.place.start, len(self.place))

    @property
    def schema(self) -> Any:
        """The schema of the columns."""
        return self.table.schema

    @property
    def origin(self) -> Origin | None:
        """The file that the rows were read from, if it is known."""
        origin = self.table.origin
        return origin and origin.after(self.place.start)

    def where(self, place: int | None = None) -> str:
        """The file that the rows, or the row at a place, were read from, for messages; empty if unknown."""
        origin = self.origin
        if origin is None:
            return ""
        return f" in {origin.path if place is None else origin.named(place)}"

    def list_values(self) -> list[Any]:
        """All rows; they are created once."""
        if self._made is None:
            self._made = self.table.rows(self.place.start, self.place.stop)
        return self._made

    def filtered(self, mask: Any) -> "ArrowRows":
        """The rows for which a mask, a NumPy array, is true."""
        origin = self.origin
        origin = origin and origin.chosen(mask.nonzero()[0])
        return type(self)(self.batch.filter(pa.array(mask)), self.form, origin=origin)

    def with_batch(self, batch: RecordBatch) -> "ArrowRows":
        """Rows of the same form with other columns."""
        return type(self)(batch, self.form)

    @classmethod
    def join_values(cls, parts: "Sequence[ArrowRows]") -> "ArrowRows | None":
        """Join parts in order; None if their columns or forms differ, so that only their rows can be joined."""
        first = parts[0]
        if all(one.table is other.table and one.place.stop == other.place.start for one, other in pairwise(parts)):
            return first._part(range(first.place.start, parts[-1].place.stop))  # noqa: SLF001 - of this class
        if any(part.form != first.form or not part.schema.equals(first.schema) for part in parts):
            return None
        if any(part.table.encoded.schema != first.table.encoded.schema for part in parts):
            return cls(pa.concat_batches([part.batch for part in parts]), first.form)
        # Arrow gives several dictionaries one numbering.
        return cls(pa.concat_batches([part.encoded for part in parts]), first.form, schema=first.schema)

    @override
    def __len__(self) -> int:
        return len(self.place)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    @override
    def __getitem__(self, place: int | slice) -> Any:
        if not isinstance(place, slice):
            if self._made is not None:
                return self._made[place]
            at = self.place[place]
            return self.table.rows(at, at + 1)[0]
        chosen = self.place[place]
        if chosen.step != 1:
            return self.with_batch(self.table.batch.take(pa.array(chosen, pa.int64())))
        return self._part(range(chosen.start, max(chosen.start, chosen.stop)))

    @override
    def __iter__(self) -> Iterator[Any]:
        if self._passed or self._made is not None or self.form == "dicts" or len(self.place) < MANY:
            return iter(self.list_values())
        # Most rows are used once, in a fold or a loop. Rows that nobody keeps need no garbage collection. (Dicts are
        # mutable, so each iteration must give the same ones.)
        self._passed = True
        return _rows(self.batch, self.form)

    @override
    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.list_values())

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, ArrowRows):
            return self.list_values() == other.list_values()
        return self.list_values() == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its rows may be unhashable

    @override
    def __repr__(self) -> str:
        return repr(self.list_values())

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        # This drops the neighbouring rows that share their memory.
        return _restored, (type(self), serialized(self.batch).to_pybytes(), self.form)


def plain(batch: RecordBatch, schema: Any) -> RecordBatch:
    """A batch with dictionaries decoded where the schema has a plain type."""
    columns = [
        column if column.type == field.type else column.dictionary_decode()
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch


def joined_rows(parts: Sequence[ArrowRows]) -> Sequence[Any]:
    """Join rows in order: as columns if their schemas and forms are equal, else as a list."""
    whole = type(parts[0]).join_values(parts)
    return [row for part in parts for row in part] if whole is None else whole


def _restored(kind: type[ArrowRows], data: bytes, form: RowForm) -> ArrowRows:
    with pa.ipc.open_stream(data) as stream:
        return kind(stream.read_next_batch(), form)


def _list(batch: RecordBatch, form: RowForm) -> list[Any]:
    with gc_paused():
        return list(_rows(batch, form))


def _rows(batch: RecordBatch, form: RowForm) -> Iterator[Any]:
    if form == "dicts" and batch.columns and not any(converted(column.type) for column in batch.columns):
        # Nearly twice as fast.
        return iter(batch.to_pylist())
    names: list[str] = batch.schema.names
    lists = [values(column) for column in batch.columns]
    # A row of no columns is still a row.
    tuples: Iterator[tuple[Any, ...]] = zip(*lists, strict=True) if lists else iter([()] * len(batch))
    if form == "tuples":
        return tuples
    if form == "dicts":
        return (dict(zip(names, row, strict=True)) for row in tuples)
    # Not with the generated constructor, which is written in Python.
    return map(partial(cast("Any", tuple).__new__, row_type(tuple(names))), tuples)


_lock: Final = threading.Lock()
_makers: Final[set[object]] = set()
_found = False
"""Whether the collector was enabled when the first of the current users began."""


@contextmanager
def gc_paused() -> Generator[None]:
    """Disable the garbage collector in a block, or in several at once in threads; the last to end restores it.

    The collector tracks rows as long as they could be part of a cycle. Tens of thousands of new rows would survive
    several collections and trigger full ones repeatedly, which costs more than making the named tuples. With the
    collector off, most rows are freed before the next collection.
    """
    global _found  # noqa: PLW0603 - there is one collector per process
    maker = object()
    try:
        # The lock keeps one user from enabling the collector between another's check and use.
        with _lock:
            if not _makers:
                _found = gc.isenabled()
            _makers.add(maker)
            gc.disable()
        yield
    finally:
        with _lock:
            _makers.discard(maker)
            if _found and not _makers:
                gc.enable()
