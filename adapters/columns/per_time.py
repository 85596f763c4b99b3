"""`per_time` and `sort_by_time`: queries over all rows of a time."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Annotated, Any, cast

from typing_extensions import override

from pullstream import Batch, Transformer, transformer
from pullstream.authoring import Call, Emits, Sync, opens

from ..arrow import ArrowRows, first_line
from .by_time import ByTime
from .frames import frame_of_all, rows_of
from .package import ColumnError, pl
from .reducing import some_keys
from .together import alike, by_number, numbered


class _PerTime(ByTime[list[ArrowRows]]):
    def __init__(self, query: Callable[[Any], Any]) -> None:
        super().__init__(list)
        self.query = query

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for rows, ranges in self.arrivals(batch):
            for time, place in ranges:
                self.kept[time].append(cast("ArrowRows", rows[place]))

    @override
    def complete(self, time: Hashable) -> None:
        self.give(time, self.made(time, self.kept.pop(time)))

    def made(self, time: Hashable, parts: Sequence[ArrowRows]) -> ArrowRows:
        """The results of a time."""
        try:
            result = self.query(frame_of_all(self.where, parts).lazy())
            if isinstance(result, pl.LazyFrame):
                result = result.collect()
        except pl.exceptions.PolarsError as exc:
            raise ColumnError(f"{self.where}: {first_line(exc)}, at the time {time!r}") from exc
        if not isinstance(result, pl.DataFrame):
            raise ColumnError(
                f"{self.where}: the query returned {result!r} ({type(result).__name__}); return a LazyFrame or a "
                f"DataFrame"
            )
        return rows_of(self.where, result, parts[0].form)


class _Sorting(_PerTime):
    """Sorts the rows of a time with those of other complete times."""

    def __init__(self, query: Callable[[Any], Any]) -> None:
        super().__init__(query)
        self._taken: dict[Hashable, Sequence[Any]] = {}
        """The sorted rows of complete times; the unsorted parts of a time that must be sorted alone."""

    @override
    def complete(self, time: Hashable) -> None:
        if time not in self._taken:
            self._take(time)
        rows = self._taken.pop(time)
        self.give(time, rows if isinstance(rows, ArrowRows) else self.made(time, rows))

    def _take(self, first: Hashable) -> None:
        """Sort the rows of a time and of the next complete times in order of arrival, up to the size of a batch."""
        some = {first: self.kept.pop(first)}
        like, size = some[first][0], sum(map(len, some[first]))
        for time, parts in self.kept.items():
            size += sum(map(len, parts))
            same = parts[0].form == like.form and alike(parts, like.schema)
            if size > self.most() or not same or not self.events.knows(time, before=False):
                break
            some[time] = parts
        for time in [*some][1:]:
            del self.kept[time]
        self._taken.update(some)
        if len(some) > 1 and alike(some[first], like.schema):
            # If that fails, each time is sorted alone.
            with suppress(Exception):
                frame = numbered(frame_of_all(self.where, [*chain(*some.values())]), [*some.values()])
                made = by_number(self.where, self.query(frame), like.form, len(some))
                self._taken.update(zip(some, made, strict=True))


@transformer
@Emits.PER_TIME
def per_time(
    query: Annotated[Callable[[Any], Any], Sync("a query is a polars query, which cannot be awaited", "a LazyFrame")],
) -> Transformer[Any, Any]:
    """Run a query over all rows of each time, when the time is complete.

    >>> import polars as pl, pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"carrier": "AA", "delay": 30}, {"carrier": "UA", "delay": 15}])
    >>> worst = columns.per_time(lambda rows: rows.sort("delay", descending=True).head(1))
    >>> ps.run(ps.pipe(flights, worst, ps.collect()))
    [{'carrier': 'AA', 'delay': 30}]

    `query` gets a polars LazyFrame of the rows in order of arrival, and returns a LazyFrame or a DataFrame, whose rows
    are emitted at that time. The rows of a time are kept in columns until it is complete; `reduce_by_key` keeps only
    its groups. The query runs in the task of the pipeline, and blocks it.

    Raises:
        ColumnError: at an ask; polars refused the query, or it returned something else. Any other exception of
            `query` passes unchanged.
    """
    return opens(_PerTime(query))


def _columns(call: Call, by: Sequence[Any]) -> tuple[str, ...]:
    if not by:
        raise call.refuse("needs the names of the columns to sort by")
    return some_keys(call, by)


@transformer
@Emits.PER_TIME
def sort_by_time(*by: Annotated[Any, _columns], descending: bool = False) -> Transformer[Any, Any]:
    """Sort the rows of each time by columns; deliver times in order, each when it is complete.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"carrier": "UA", "delay": 15}, {"carrier": "AA", "delay": 30}])
    >>> ps.run(ps.pipe(flights, columns.sort_by_time("carrier"), ps.collect()))
    [{'carrier': 'AA', 'delay': 30}, {'carrier': 'UA', 'delay': 15}]

    Nulls come first, and equal rows keep their order. See `per_time` for memory and errors.
    """
    return opens(_Sorting(lambda rows: rows.sort(*by, descending=descending, maintain_order=True)))
