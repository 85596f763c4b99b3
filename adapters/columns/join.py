"""`join`: the rows of two sources that have equal keys, time by time."""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import takewhile
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import attrs
from typing_extensions import override

from pullstream import DONE, Batch, Source, source
from pullstream.authoring import (
    Backlog,
    Call,
    Done,
    FanIn,
    Input,
    Lane,
    OneOf,
    Pace,
    ascending,
    opens,
    sources,
    together,
)
from pullstream.timely import sort_key

from ..arrow import ArrowRows, RowForm, pyarrow
from .expressions import check_names
from .frames import ColumnReader, decoded, first_line, joined, rows_at_once, rows_of
from .package import ColumnError, polars

How: TypeAlias = Literal["inner", "left", "full", "semi", "anti", "asof"]
Strategy: TypeAlias = Literal["backward", "forward", "nearest"]

AHEAD: Final = 1 << 20
"""The number of rows that a source may be ahead of the other."""

HOW: Final[tuple[str, ...]] = get_args(How)


@attrs.frozen
class JoinPlan:
    """The arguments of a join; immutable."""

    on: tuple[str, ...]
    how: How
    at: str | None
    strategy: Strategy


class _Side:
    """The rows of a source that wait until their time is complete in both."""

    def __init__(self, where: str, pace: Pace) -> None:
        self.reader = ColumnReader(where)
        self.pace = pace
        self.schema: Any = None
        self.rows: dict[Hashable, list[ArrowRows]] = {}
        self.size = 0

    def take(self, time: Hashable) -> list[ArrowRows]:
        """Remove and return the rows of a time."""
        rows = self.rows.pop(time, [])
        self.size -= sum(map(len, rows))
        return rows


class _Joining(FanIn):
    """Joins the rows of a time when it is complete in both sources; the one that is far ahead is not asked."""

    def __init__(self, both: tuple[Source[Any], Source[Any]], plan: JoinPlan) -> None:
        super().__init__(*both)
        self._plan = plan
        self._form: RowForm | None = None
        self._open: list[Hashable] = []
        """The times of the rows, sorted."""
        self._chain = True
        """Whether each of them comes before the next one, so that they complete in this order."""
        self._ready = Backlog(self)
        self._failure: BaseException | None = None

    @override
    async def acquire(self) -> None:
        await super().acquire()
        most = rows_at_once(self.run.limit)
        self._sides = [_Side(f"{self.location}, in source {each}", Pace(self.run, most)) for each in (1, 2)]

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._ready:
                return self._ready.take(limit)
            if self._failure is not None:
                raise self._failure
            try:
                if self._complete():
                    continue
                for each, side in zip(self.all, self._sides, strict=True):
                    if each:
                        self._keep(each, side)
            except Exception as exc:  # noqa: BLE001 - raised after the results before it
                self._failure = exc
                continue
            if self.failure_above is not None:
                raise self.failure_above
            if not self.going and not self._open:
                return DONE
            if self._ask():
                await self.until_complete(self._open[:1] if self._chain else self._open)

    def _complete(self) -> bool:
        """Join the times that are complete; True if there were any."""
        fronts = [self.edge.arriving(number) for number, each in enumerate(self.all) if not each.done]

        def over(time: Hashable) -> bool:
            return not any(front.less_equal(time) for front in fronts)

        times = list((takewhile if self._chain else filter)(over, self._open))
        for time in times:
            self._join(time)
            self._open.remove(time)
            self.location.drop(time)
        return bool(times)

    def _keep(self, each: Input, side: _Side) -> None:
        plan = self._plan
        rows = side.reader.rows(each.head.values)
        if self._form is None or side is self._sides[0]:
            self._form = rows.form
        if side.schema is None:
            check_names(side.reader.where, rows, {*plan.on, *([] if plan.at is None else [plan.at])})
            side.schema = rows.schema
        side.size += len(rows)
        begin = 0
        for run in each.head.runs():
            if not any(run.time in one.rows for one in self._sides):
                self.location.hold(run.time)
                place = bisect_left(self._open, sort_key(run.time), key=sort_key)
                self._open.insert(place, run.time)
                self._chain = self._chain and ascending(self._open[max(0, place - 1) : place + 2])
            part: Any = rows[begin : begin + len(run.values)]
            side.rows.setdefault(run.time, []).append(part)
            begin += len(part)
        each.drop()

    def _ask(self) -> bool:
        """Ask the sources, but not the one that is far ahead; True if there is nothing to take then."""
        for number, (each, side) in enumerate(zip(self.all, self._sides, strict=True)):
            other, behind = self.all[1 - number], self._sides[1 - number]
            near = side.size <= max(AHEAD, behind.size) or other.ending is not None
            if near and each.ending is None and not self.asking(each.lane):
                self.ask_beside(each.lane, side.pace.next())
        return not any(self.all)

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        super().arrived(lane, answer)
        next(side for each, side in zip(self.all, self._sides, strict=True) if each.lane is lane).pace.took()

    def _join(self, time: Hashable) -> None:
        left, right = (self._frame(side.take(time), side.schema) for side in self._sides)
        assert self._form is not None, "rows have arrived"
        try:
            made = self._joined(left, right)
        except polars().exceptions.PolarsError as exc:
            raise ColumnError(f"{self.location}: {first_line(exc)}, at the time {time!r}") from None
        if made is not None and len(made):
            self._ready.put(Batch(time, rows_of(made, self._form)))

    def _frame(self, rows: Sequence[ArrowRows], schema: Any) -> Any:
        """The rows of a source at a time as a frame; None if its columns are not known yet."""
        pa, pl = pyarrow(), polars()
        if rows:
            batch = joined(str(self.location), [part.batch for part in rows])
            return pl.from_arrow(decoded(pa.Table.from_batches([batch])))
        return None if schema is None else pl.from_arrow(decoded(schema.empty_table()))

    def _joined(self, left: Any, right: Any) -> Any:
        plan = self._plan
        if left is None or right is None:
            # One source has given no row yet: what it lacks has no columns.
            keeps = ("left", "anti", "asof", "full") if right is None else ("full",)
            return (left if right is None else right) if plan.how in keeps else None
        if plan.how == "asof":
            assert plan.at is not None, "it is checked when composing"
            by = list(plan.on) or None
            return left.sort(plan.at, maintain_order=True).join_asof(
                right.sort(plan.at, maintain_order=True),
                on=plan.at,
                by=by,
                strategy=plan.strategy,
                check_sortedness=False,
            )
        order = "left" if plan.how in {"semi", "anti"} else "left_right"
        return left.join(right, on=list(plan.on), how=plan.how, coalesce=True, maintain_order=order)


def _keys(call: Call, on: Any) -> tuple[str, ...]:
    names = (on,) if isinstance(on, str) else tuple(on)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise call.refuse(f"needs on= to be a column's name, or a list of distinct names, but got {on!r}")
    return names


def _with_at(call: Call) -> None:
    how, at, on = call["how"], call["at"], call["on"]
    if (how == "asof") != isinstance(at, str):
        raise call.refuse(f"got how={how!r} and at={at!r}: how='asof', and only that, needs at=, a column's name")
    if not on and how != "asof":
        raise call.refuse("needs on=, the names of the columns that must be equal")


@source
@together(_with_at)
def join(
    left: Annotated[Source[Any], sources],
    right: Annotated[Source[Any], sources],
    *,
    on: Annotated[Any, _keys] = (),
    how: Annotated[How, OneOf(*HOW)] = "inner",
    at: str | None = None,
    strategy: Annotated[Strategy, OneOf(*get_args(Strategy))] = "backward",
) -> Source[Any]:
    """Join the rows of two sources that have equal keys, at each time.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> orders = ps.values([{"item": "tea", "n": 2}, {"item": "figs", "n": 1}])
    >>> prices = ps.values([{"item": "tea", "price": 3}, {"item": "rice", "price": 5}])
    >>> ps.run(ps.pipe(columns.join(orders, prices, on="item", how="left"), ps.collect()))
    [{'item': 'tea', 'n': 2, 'price': 3}, {'item': 'figs', 'n': 1, 'price': None}]

    `on` names the columns that must be equal in both; null equals nothing, as in SQL. `how` is "inner", "left", "full",
    "semi" (rows of the first source with a match), "anti" (rows without one), or "asof": for each row of the first
    source the row of the second whose column `at` is nearest, at or before it; `strategy` "forward" looks after it, and
    "nearest" at both sides:

    >>> trades = ps.values([{"at": 5, "item": "tea"}])
    >>> quotes = ps.values([{"at": at, "item": "tea", "price": price} for at, price in [(1, 3), (4, 6), (7, 9)]])
    >>> ps.run(ps.pipe(columns.join(trades, quotes, on="item", how="asof", at="at"), ps.collect()))
    [{'at': 5, 'item': 'tea', 'price': 6}]

    A time is joined when it is complete in both sources, and its rows are emitted in the order of the first source (by
    `at`, for "asof"). Until then, the rows of both are kept in columns; a source that is more than about a million rows
    ahead of the other waits for it. A column of the second source whose name is taken gets the suffix `_right`. Until a
    source has given a row, its columns are not known and results lack them.

    Raises:
        ColumnError: at an ask; a column is missing, or the types of keys do not match.
    """
    return opens(_Joining((left, right), JoinPlan(on, how, at, strategy)))
