"""`join`: the rows of two sources that have equal keys, time by time."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Annotated, Any, Final, get_args

from more_itertools import constrained_batches
from typing_extensions import override

from pullstream import Source, source
from pullstream.authoring import Call, How, JoinByTime, OneOf, Strategy, opens, place_of_asof, sources, together

from ..arrow import ArrowRows, RowForm, first_line
from .expressions import check_names, column_name
from .frames import ColumnReader, frame_from, joined, rows_at_once, rows_of, without_dictionaries
from .package import ColumnError, pa, pl
from .together import TIME, alike, by_number, numbered

AHEAD: Final = 1 << 20
"""The most rows that a source may be ahead of the other."""


_LACKING: Final = {"left": (1,), "asof": (1,), "full": (0, 1)}
"""The sources whose columns are null in rows without a match."""


class _Joining(JoinByTime):
    """Joins the columns of a time."""

    def __init__(
        self, both: tuple[Source[Any], Source[Any]], on: Sequence[str], how: How, at: str | None, strategy: Strategy
    ) -> None:
        super().__init__(both, AHEAD, how)
        self._on, self._how, self._at, self._strategy = on, how, at, strategy
        self._keys = on if at is None else (*on, at)
        self._forms: list[RowForm | None] = [None, None]
        self._schemas: list[Any] = [None, None]
        self._began = [False, False]
        """Whether each source has given a row."""

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._readers = [ColumnReader(f"{self.location}, in source {each}") for each in (1, 2)]

    @override
    def most(self) -> int:
        return rows_at_once(self.run.limit)

    @override
    def converted(self, number: int, values: Sequence[Any]) -> tuple[Sequence[Any], Exception | None]:
        self._began[number] = True
        reader = self._readers[number]
        rows, _, failure = reader.until_failure(values)
        if rows is None:
            return (), failure
        self._forms[number] = rows.form
        if self._schemas[number] is None:
            check_names(reader.where, rows, {*self._keys})
            self._schemas[number] = rows.schema
        return rows, failure

    @override
    def ready(self) -> bool:
        """Whether all columns that results have even without a match are known."""
        return all(
            self._began[number] or (self.all[number].ending is not None and not self.all[number])
            for number in _LACKING.get(self._how, ())
        )

    @override
    def all_joined(self, times: Sequence[Hashable]) -> Iterator[Sequence[Any]]:
        def size(one: tuple[Hashable, tuple[Any, Any]]) -> int:
            left, right = one[1]
            return sum(map(len, (*left, *right)))

        taken = ((time, self.take(time)) for time in times)
        for some in constrained_batches(taken, self.most(), get_len=size, strict=False):
            yield from self._together(some)

    def _together(self, some: Sequence[tuple[Hashable, tuple[Any, Any]]]) -> Iterable[Sequence[Any]]:
        """The results of some times, computed together if all rows have the types of their source's first row."""
        sides = [*zip(*(both for _, both in some), strict=True)]
        every = [[*chain(*side)] for side in sides]
        if len(some) > 1 and all(map(alike, every, self._schemas)):
            # If that fails, each time is joined alone.
            with suppress(Exception):
                left, right = map(numbered, map(self._frame, every, self._schemas), sides)
                made = self._joined(left, right, (TIME, *self._on))
                return [()] * len(some) if made is None else by_number(str(self.location), made, self._form, len(some))
        return (self.joined(time, *both) for time, both in some)

    @override
    def joined(self, time: Hashable, left: list[Any], right: list[Any]) -> Sequence[Any]:
        one, other = map(self._frame, (left, right), self._schemas)
        try:
            made = self._joined(one, other, self._on)
        except pl.exceptions.PolarsError as exc:
            raise ColumnError(f"{self.location}: {first_line(exc)}, at the time {time!r}") from None
        return () if made is None else rows_of(str(self.location), made, self._form)

    @property
    def _form(self) -> RowForm:
        form = self._forms[0] or self._forms[1]
        assert form is not None, "rows have arrived"
        return form

    def _frame(self, rows: Sequence[ArrowRows], schema: Any) -> Any:
        """The rows of a source at a time as a frame; None if its columns are not known yet, or do not matter."""
        if schema is None or not (rows or self._how in _LACKING):
            return None
        parts, where = [part.batch for part in rows] or [pa.RecordBatch.from_pylist([], schema)], str(self.location)
        return frame_from(where, without_dictionaries(joined(where, parts)))

    def _joined(self, left: Any, right: Any, on: Sequence[str]) -> Any:
        if left is None or right is None:
            # A source without rows has no columns.
            keeps = ("left", "anti", "asof", "full") if right is None else ("full",)
            made = (left if right is None else right) if self._how in keeps else None
            return made if made is None or self._at is None else made.sort(self._at, maintain_order=True)
        kinds = {name: self._common(name, left.schema[name], right.schema[name]) for name in self._keys}
        casts = [pl.col(name).cast(kind) for name, kind in kinds.items() if kind is not None]
        before, left, right = left.schema, left.with_columns(casts), right.with_columns(casts)
        if self._how == "asof":
            assert self._at is not None, "it is checked when composing"
            made = self._nearest(left, right, self._at, on)
        else:
            order = "left" if self._how in {"semi", "anti"} else "left_right"
            made = left.join(right, on=list(on), how=self._how, coalesce=True, maintain_order=order)
        if self._how == "full":
            # Polars may widen integer keys to 128 bits.
            return made.with_columns(pl.col(pl.Int128).cast(pl.Int64))
        return made.with_columns(pl.col(name).cast(before[name]) for name in kinds if before[name] != pl.Null)

    def _common(self, name: str, one: Any, other: Any) -> Any:
        """The type in which the values of both sources are compared; None for their own."""
        kinds = one, other
        if one == other or all(kind.is_integer() for kind in kinds) or all(kind.is_float() for kind in kinds):
            return None
        if pl.Null in kinds:
            return other if one == pl.Null else one
        if all(kind.is_decimal() or kind.is_integer() for kind in kinds):
            return pl.Decimal(38, max(kind.scale for kind in kinds if kind.is_decimal()))
        zones = {getattr(kind, "time_zone", None) is None for kind in kinds}
        for family in (pl.Datetime, pl.Duration):
            if all(kind == family for kind in kinds) and len(zones) == 1:
                unit = next(unit for unit in ("ns", "us", "ms") if unit in {one.time_unit, other.time_unit})
                return family(unit, one.time_zone) if family is pl.Datetime else family(unit)
        to = f"cast(pl.{one!r})" if len(zones) == 1 else "dt.replace_time_zone('UTC')"
        raise ColumnError(
            f"{self.location}: the column {name!r} is {one} in source 1, but {other} in source 2; make their types "
            f"equal upstream, for example with columns.with_columns(pl.col({name!r}).{to})"
        )

    def _nearest(self, left: Any, right: Any, at: str, on: Sequence[str]) -> Any:
        if TIME in on and any(left.schema[name].is_nested() for name in on):
            raise NotImplementedError("polars refuses such a column as the only key, as each time alone would have it")
        left, right = (side.sort(at, maintain_order=True) for side in (left, right))
        pairs = [(left, right)]
        if left.schema[at].is_float():
            # NaN, which is sorted last, is near nothing.
            nan = pl.col(at).is_nan().fill_null(value=False)
            right = right.filter(~nan)
            pairs = [(left.filter(~nan), right), (left.filter(nan), right.clear())]
        options: Any = {"by": list(on) or None, "strategy": self._strategy, "check_sortedness": False}
        return pl.concat([one.join_asof(other, on=at, **options) for one, other in pairs])


def _keys(call: Call, on: Any) -> tuple[str, ...]:
    names: tuple[Any, ...] = (on,) if isinstance(on, str) or not hasattr(on, "__iter__") else tuple(on)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise call.refuse(f"needs on= to be a column's name, or a list of distinct names, but got {on!r}")
    return names


def _with_at(call: Call) -> None:
    place_of_asof(call, "a column's name")
    if not call["on"] and call["how"] != "asof":
        raise call.refuse("needs on=, the names of the columns that must be equal")


@source
@together(_with_at)
def join(
    left: Annotated[Source[Any], sources],
    right: Annotated[Source[Any], sources],
    *,
    on: Annotated[Any, _keys] = (),
    how: Annotated[How, OneOf(*get_args(How))] = "inner",
    at: Annotated[str | None, column_name] = None,
    strategy: Annotated[Strategy, OneOf(*get_args(Strategy))] = "backward",
) -> Source[Any]:
    """Join the rows of two sources that have equal keys, at each time.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> orders = ps.values([{"item": "tea", "n": 2}, {"item": "figs", "n": 1}])
    >>> prices = ps.values([{"item": "tea", "price": 3}, {"item": "rice", "price": 5}])
    >>> ps.run(ps.pipe(columns.join(orders, prices, on="item", how="left"), ps.collect()))
    [{'item': 'tea', 'n': 2, 'price': 3}, {'item': 'figs', 'n': 1, 'price': None}]

    `on` names the columns that must be equal in both; null equals nothing, as in SQL. Equal numbers and times match
    even if their widths, scales, units or zones differ; keys stay as in the first source. `how` is "inner", "left",
    "full", "semi" (rows of the first source with a match), "anti" (rows without one), or "asof": each row of the first
    source gets the last row of the second whose column `at` is at or before its own; `strategy` "forward" looks at or
    after it, and "nearest" on both sides:

    >>> trades = ps.values([{"at": 5, "item": "tea"}])
    >>> quotes = ps.values([{"at": at, "item": "tea", "price": price} for at, price in [(1, 3), (4, 6), (7, 9)]])
    >>> ps.run(ps.pipe(columns.join(trades, quotes, on="item", how="asof", at="at"), ps.collect()))
    [{'at': 5, 'item': 'tea', 'price': 6}]

    A time is joined when it is complete in both sources, and its rows are emitted in the order of the first source (by
    `at`, for "asof"; null and NaN are near nothing). Until then, the rows of both are kept in columns; a source that is
    more than about a million rows ahead of the other waits for it. A column of the second source whose name is taken
    gets the suffix `_right`. For "left", "asof" and "full", results wait for the first row of the second source (for
    "full", of each), which has its columns; if it ends without a row, they have only the columns of the other. The
    join ends when no more results are possible, and aborts the source that is still running (R7).

    Raises:
        ColumnError: at an ask; a column is missing, or has types that cannot be compared, such as text and numbers, or
            whole numbers and floats.
    """
    return opens(_Joining((left, right), on, how, at, strategy))
