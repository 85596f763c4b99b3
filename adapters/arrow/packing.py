"""Conversion of a stream's values to Arrow record batches with one schema."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeAlias

import attrs

from pullstream import PullstreamError
from pullstream.authoring import shortened, some_of

from .arrow_rows import ArrowRows
from .exact import TROUBLE, exact_array, first_misfit
from .package import Array, DataType, RecordBatch, Schema, pa
from .rows import KINDS, RowBlock, blocks

Portion: TypeAlias = tuple[Sequence[Any], Mapping[str, Any]]
"""Values, and the content of columns that they may lack."""

ADVICE: Final = "convert the values with ps.map, or change the schema"

JOINED_BYTES: Final = 8 << 20
"""The most bytes in a batch joined from small ones."""


class SchemaError(PullstreamError, ValueError):
    """A value does not match the columns that it is written to."""


def numbered(number: int) -> str:
    """Name a value of a stream by its number, from 0."""
    return f"value {number + 1}"


@attrs.define(eq=False, slots=False)
class Packing:
    """Makes record batches: dicts and named tuples match by name, tuples and lists by position; Arrow batches pass.

    Any other value fills the only column. A missing column is null or, if it is `optional`, has the portion's value.
    A mismatch raises a `refusal` with the `advice`; it counts rows from `rows`. With `most`, a batch has at most that
    many rows, and small batches are joined. A column's function in `bared` converts its values first.
    >>> import pyarrow as pa
    >>> packing = Packing(pa.schema([("n", pa.int8()), ("day", pa.string())]), SchemaError, {"day"})
    >>> (batch,) = packing.batches([([(1,), {"n": 2, "day": "Tue"}], {"day": "Mon"}), ([{}], {"day": "Wed"})])
    >>> batch.to_pydict()
    {'n': [1, 2, None], 'day': ['Mon', 'Tue', 'Wed']}
    """

    _schema: Schema
    _refusal: Callable[[str], Exception]
    optional: Collection[str] = ()
    _advice: str = attrs.field(default=ADVICE, kw_only=True, alias="advice")
    rows: int = attrs.field(default=0, kw_only=True)
    """The number of rows converted so far."""
    _most: int | None = attrs.field(default=None, kw_only=True, alias="most")
    _bared: Mapping[str, Callable[[Any], Any]] = attrs.field(factory=dict[str, Any], kw_only=True, alias="bared")

    absent = ""
    """Advice for rows without a value in a column that allows no null."""

    def __attrs_post_init__(self) -> None:
        self.place: Callable[[int], str] = numbered
        """Names a row by its number, from 0, in messages."""
        self._names: list[str] = self._schema.names
        self.width = len(self._names)
        self._wanted = [place for place, name in enumerate(self._names) if name not in self.optional]
        self._places = {name: at for at, name in enumerate(self._names)}

    def batches(self, portions: Iterable[Portion]) -> Iterator[RecordBatch]:
        """Convert the rows of all portions, in order, to as few batches as possible; refuse any other value."""
        most = self._most
        if most is None:
            yield from self._whole(portions)
            return
        for batch in _joined(self._whole(portions), most):
            yield from (batch.slice(begin, most) for begin in range(0, max(1, batch.num_rows), most))

    def _whole(self, portions: Iterable[Portion]) -> Iterator[RecordBatch]:
        waiting: list[Sequence[Any]] = []
        rows = 0
        for values, given in portions:
            if isinstance(values, ArrowRows):
                batch = self._columnar(values, given, rows)
                if batch is not None:
                    if rows:
                        yield self._built(waiting, rows)
                        waiting, rows = [], 0
                    self.rows += batch.num_rows
                    yield batch
                    continue
                values = values.list_values()  # noqa: PLW2901 - the same values
            for block in blocks(values, given):
                columns = self._arranged(block, given, rows)
                if not block.is_arrow:
                    waiting.append(columns)
                    rows += block.size
                    continue
                if rows:
                    yield self._built(waiting, rows)
                    waiting, rows = [], 0
                yield self._built([columns], block.size)
        if rows:
            yield self._built(waiting, rows)

    def _columnar(self, rows: ArrowRows, given: Mapping[str, Any], before: int) -> RecordBatch | None:
        """A batch of the rows' Arrow columns; None if they do not match, so the Python rows must match or raise."""
        try:
            (block,) = blocks(rows)
            columns = self._arranged(block, given, before)
            arrays = [self._array(field, column) for field, column in zip(self._schema, columns, strict=True)]
        except Exception:  # noqa: BLE001 - the rows are converted next, and raise it with the value
            return None
        return batch_of(self._schema, arrays, block.size)

    # ---- matching of columns

    def _arranged(self, block: RowBlock, given: Mapping[str, Any], before: int) -> Sequence[Any]:
        """Arrange the block's columns in the schema's order."""
        if block.names is None:
            if len(block.columns) == len(self._names):
                return block.columns
            places = self._by_position(block, before)
        elif list(block.names) == self._names:
            return block.columns
        else:
            places = self._by_name(block, before)
        columns = dict(zip(places, block.columns, strict=True))
        return [
            columns[place] if place in columns else [given.get(name)] * block.size
            for place, name in enumerate(self._names)
        ]

    def _by_position(self, block: RowBlock, before: int) -> Sequence[int]:
        width = len(block.columns)
        if width == len(self._wanted):
            return self._wanted
        why = f"rows are {KINDS}" if block.bare else f"it has {width} column{'s' * (width != 1)}"
        raise self._no_row(block, 0, before, why)

    def _by_name(self, block: RowBlock, before: int) -> Sequence[int]:
        names: Sequence[str] = block.names or ()
        for name in names:
            if name not in self._places:
                # One of several dicts may have the unknown key.
                having = (at for at, row in enumerate(block.values) if not isinstance(row, Mapping) or name in row)
                raise self._no_row(block, next(having), before, f"there is no column {name!r}", like=name)
        places = [self._places[name] for name in names]
        if len(set(places)) < len(places):
            raise self._no_row(block, 0, before, "a column occurs twice")
        return places

    # ---- conversion of columns to batches

    def _built(self, parts: Sequence[Sequence[Any]], rows: int) -> RecordBatch:
        columns = parts[0]
        if len(parts) > 1:
            columns = [list(chain.from_iterable(column)) for column in zip(*parts, strict=True)]
        arrays = [self._array(field, column) for field, column in zip(self._schema, columns, strict=True)]
        self.rows += rows
        return batch_of(self._schema, arrays, rows)

    def _array(self, field: Any, column: Any) -> Array:
        if (bare := self._bared.get(field.name)) is not None and not isinstance(column, pa.Array):
            column = [*map(bare, column)]
        convert = partial(self.converted, field.name)
        try:
            array = convert(column, field.type)
        except TROUBLE as exc:
            raise self._refused(misfit(field.name, field.type, column, self._named, exc, convert=convert)) from None
        if array.null_count and not field.nullable:
            place: int = array.is_null().index(value=True).as_py()
            raise self._refused(
                f"the column {field.name!r} allows no null, but {self._named(place)} has one{self.absent}"
            )
        return array

    def converted(self, name: str, column: Sequence[Any] | Array, kind: DataType) -> Array:  # noqa: ARG002 - for subclasses
        """Convert the values of a column; a subclass may refuse some with an exception of `TROUBLE`."""
        return exact_array(column, kind)

    # ---- mismatches

    def _named(self, place: int) -> str:
        return self.place(self.rows + place)

    def _no_row(self, block: RowBlock, place: int, before: int, why: str, *, like: str = "") -> Exception:
        what = f"{self._named(before + place)}, {shown(block.values[place])}, is not a row"
        types = dict(zip(self._names, self._schema.types, strict=True))
        columns = some_of(self._names, like, lambda name: f"{name} {types[name]}")
        optional = [name for name in self._names if name in self.optional]
        extra = f" ({' and '.join(optional)} can be left out)" * bool(optional)
        what = "an Arrow batch does not match" if block.is_arrow else what
        return self._refused(f"{what}: {why}; the columns are {columns}{extra}")

    def _refused(self, why: str) -> Exception:
        return self._refusal(f"{why}; {self._advice}")


def _joined(batches: Iterable[RecordBatch], most: int) -> Iterator[RecordBatch]:
    """Join adjacent batches up to `most` rows and 8 MB in total, because each batch costs Spark a round trip."""
    parts: list[RecordBatch] = []
    rows = size = 0
    for batch in batches:
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if parts and (rows > most or size > JOINED_BYTES):
            yield _one(parts)
            parts, rows, size = [], batch.num_rows, batch.nbytes
        parts.append(batch)
    if parts:
        yield _one(parts)


def _one(parts: list[RecordBatch]) -> RecordBatch:
    return pa.concat_batches(parts) if len(parts) > 1 else parts[0]


def misfit(
    name: str,
    kind: DataType | None,
    column: Any,
    named: Callable[[int], str],
    exc: Exception,
    *,
    convert: Callable[[Any, Any], Array] = exact_array,
) -> str:
    """The message about a column that does not match; it names the value if possible."""
    column_is = f"the column {name!r} is {kind}, and" if kind is not None else f"the column {name!r}"
    first = first_misfit(column, kind, convert)
    if first is None:
        return f"{column_is} cannot hold all values: {exc}"
    place, value, problem = first
    return f"{column_is} cannot hold {shown(value)}, {named(place)}: {shortened(str(problem))}"


def shown(value: object) -> str:
    """Format a value and its type."""
    return f"{shortened(repr(value), 80)} ({type(value).__name__})"


def first_line(exc: BaseException) -> str:
    """The first line of an error's message, or its type; some messages begin with an empty line."""
    return (str(exc) or type(exc).__name__).strip().partition("\n")[0]


def batch_of(schema: Schema, arrays: Sequence[Array], rows: int) -> RecordBatch:
    """Make a batch from columns."""
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    # Rows without columns are still rows.
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
