"""`reduce_by_key`, `reduce_by_time` and `distinct`: aggregates of each time, which keep groups instead of rows."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from itertools import count, pairwise
from typing import Annotated, Any, Final

from typing_extensions import override

from pullstream import Batch, Transformer, transformer
from pullstream.authoring import Call, Emits, opens

from ..arrow import ArrowRows, RecordBatch
from .aggregates import Aggregate, aggregates, first
from .by_time import ByTime
from .expressions import without_brackets
from .grouping import Numbers
from .groups import Groups
from .package import ColumnError, np, pa
from .together import TIME

TOGETHER: Final = 65_536
"""The number of rows that are aggregated at once."""


class _Fold:
    """The partial results of rows of several times. Their results are computed together, when the first is needed."""

    def __init__(self, table: RecordBatch) -> None:
        numbers = table.column(TIME).to_numpy()
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers, kind="stable")
            table, numbers = table.take(pa.array(order)), numbers[order]
        begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        self.table = table
        self.places = dict(zip(numbers[begins].tolist(), pairwise([*begins.tolist(), len(numbers)]), strict=True))
        """The start and end of the rows of each open time."""
        self.results: ArrowRows | None = None


class _Reducing(ByTime[int]):
    """Emits the aggregates of a time when the time is complete; without aggregates, the first row of each key.

    Every time has a number. Rows of several times wait together, and are grouped by time and key at once: the cost of a
    row does not depend on the number of times.
    """

    _groups: Groups
    _names: Sequence[str] = ()
    """The columns of the results."""

    def __init__(self, keys: Sequence[str], named: Mapping[str, Aggregate]) -> None:
        super().__init__(count().__next__)
        self._keys, self._named = keys, named
        self._waiting: list[tuple[Any, Numbers]] = []
        """Rows, and the number and length of each run of rows at one time."""
        self._waits: set[int] = set()
        """The numbers of the times of the rows that wait."""
        self._count = 0
        self._folds: list[_Fold] = []
        self._merged = 0
        """The size of the partial results after the last merge."""
        self._failures: dict[int, Exception] = {}

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for rows, ranges in self.arrivals(batch):
            if not self._names:
                self._know(rows.schema.names)
            runs = np.array([(self.kept[time], place.stop - place.start) for time, place in ranges]).T
            self._waits.update(runs[0].tolist())
            self._waiting.append((rows, runs))
            self._count += len(rows)
            if self._count >= TOGETHER:
                self._fold()

    @override
    def complete(self, time: Hashable) -> None:
        number = self.kept.pop(time)
        if number in self._waits:
            self._fold(number)
        if number in self._failures:
            raise self._failures[number]
        parts = [(fold, *fold.places.pop(number)) for fold in self._folds if number in fold.places]
        fold, begin, end = parts[0]
        if len(parts) > 1:
            fold = self._merge([each.table.slice(at, to - at) for each, at, to in parts])
            begin, end = 0, len(fold.table)
        if fold.results is None:
            try:
                fold.results = self._results(fold.table)
            except ColumnError:
                # One of the times has no result.
                fold, begin, end = _Fold(fold.table.slice(begin, end - begin)), 0, end - begin
                fold.results = self._results(fold.table)
        self.give(time, fold.results[begin:end])

    def _know(self, names: Sequence[str]) -> None:
        """Note the columns of the rows, and of the results."""
        keys, named = self._keys, self._named
        self._names = [*keys, *named]
        if not named:
            # The first row of each key.
            keys, self._names = keys or names, names
            named = {name: first(name) for name in names if name not in keys}
        self._groups = Groups(self.where, keys, named, added=[TIME])

    def _results(self, partial: RecordBatch) -> ArrowRows:
        return ArrowRows(self._groups.finished(partial).select(self._names), self.form)

    def _fold(self, wanted: int | None = None) -> None:
        """Aggregate the rows that wait, and merge partial results if there are many.

        The rows of the last time keep waiting unless it is wanted: more may follow, and most times need only one fold.
        """
        *waiting, (rows, runs) = self._waiting
        last, rest = runs[:, -1].tolist()
        self._waiting, self._waits, self._count = [], set(), 0
        if last != wanted and rest <= TOGETHER // 2:
            begin = len(rows) - rest
            self._waiting, self._waits, self._count = [(rows[begin:], runs[:, -1:])], {last}, rest
            rows, runs = rows[:begin], runs[:, :-1]
        self._aggregate([*waiting, (rows, runs)] if len(rows) else waiting)
        self._folds = [fold for fold in self._folds if fold.places]
        if sum(len(fold.table) for fold in self._folds) > 2 * self._merged + TOGETHER:
            some = [(fold.table, np.isin(fold.table.column(TIME), list(fold.places))) for fold in self._folds]
            # Results that cannot be merged fail when their time is complete.
            with suppress(ColumnError):
                self._folds = [self._merge([table.filter(pa.array(still_open)) for table, still_open in some])]
            self._merged = sum(len(fold.table) for fold in self._folds)

    def _merge(self, parts: Sequence[RecordBatch]) -> _Fold:
        return _Fold(self._groups.regrouped(self._groups.joined(parts)))

    def _aggregate(self, waiting: Sequence[tuple[Any, Numbers]]) -> None:
        numbers, lengths = np.concatenate([runs for _, runs in waiting], axis=1)
        try:
            more = {TIME: pa.array(np.repeat(numbers, lengths))}
            table = self._groups.table([rows for rows, _ in waiting], more)
            self._folds.append(_Fold(self._groups.partial(table)))
        except Exception as exc:  # noqa: BLE001 - raised when its time is complete, even if by a user's function
            # An error of one time must not hide the results of another.
            times = np.unique(numbers)
            if len(times) == 1:
                self._failures[int(times[0])] = exc
                return
            for half in np.array_split(times, 2):
                some = [(rows, runs, mask) for rows, runs in waiting if (mask := np.isin(runs[0], half)).any()]
                self._aggregate([(rows.filtered(np.repeat(mask, runs[1])), runs[:, mask]) for rows, runs, mask in some])


def key_names(call: Call, keys: Sequence[Any]) -> tuple[str, ...]:
    """Check the names of keys."""
    for key in keys:
        if not isinstance(key, str):
            advice = "compute other keys with with_columns(...) upstream"
            if key.__class__ in {list, tuple}:
                advice = without_brackets(key)
            elif isinstance(key, Aggregate):
                advice = f"give an aggregate the name of its result, for example result={key!r}"
            raise call.refuse(f"needs the names of columns as keys, but got {key!r}; {advice}")
    if len(set(keys)) < len(keys):
        raise call.refuse(f"got a key twice: {', '.join(keys)}")
    return tuple(keys)


def some_keys(call: Call, keys: Sequence[Any]) -> tuple[str, ...]:
    """Check the names of keys; there must be at least one."""
    if not keys:
        raise call.refuse("needs the names of columns as keys; without keys, use reduce_by_time")
    return key_names(call, keys)


def _results(call: Call, named: dict[str, Any]) -> dict[str, Aggregate]:
    """Check the aggregates, whose results must not hide the keys."""
    return aggregates(call, named, call["keys"])


@transformer
@Emits.PER_TIME
def reduce_by_key(*keys: Annotated[Any, some_keys], **named: Annotated[Any, _results]) -> Transformer[Any, Any]:
    """Aggregate the rows of each time and key; emit a row for each key when the time is complete.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> rows = [("AA", 30), ("UA", 15), ("AA", 6)]
    >>> flights = ps.values([{"carrier": carrier, "delay": delay} for carrier, delay in rows])
    >>> table = columns.reduce_by_key("carrier", n=columns.count(), mean=columns.mean("delay"))
    >>> ps.run(ps.pipe(flights, table, ps.collect()))
    [{'carrier': 'AA', 'n': 2, 'mean': 18.0}, {'carrier': 'UA', 'n': 1, 'mean': 15.0}]

    `keys` are columns. Each keyword names a result: `count`, `sum`, `min`, `max`, `mean`, `variance`, `first`, `last`,
    `any`, `all`, `count_unique` or `quantile` of a column or an expression. The keys of a time are in the order in
    which they first arrived; null is a key of its own, and so is NaN. Times complete earliest first, as in
    `ps.reduce_by_key`. Memory holds up to 100,000 waiting rows, and the partial results of earlier ones: until they are
    merged, up to three rows for each key of each open time, and 65,536 more.

    Raises:
        ColumnError: at an ask; a column is missing, has a type that the aggregate does not take, or a sum overflows.
    """
    return opens(_Reducing(keys, named))


@transformer
@Emits.PER_TIME
def reduce_by_time(**named: Annotated[Any, aggregates]) -> Transformer[Any, Any]:
    """Aggregate all rows of each time; emit one row when the time is complete.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"day": 1, "delay": 30}, {"day": 2, "delay": 15}], time=lambda row: row["day"])
    >>> ps.run(ps.pipe(flights, columns.reduce_by_time(most=columns.max("delay")), ps.collect(timed=True)))
    [(1, {'most': 30}), (2, {'most': 15})]

    Aggregates and errors are those of `reduce_by_key`. A time without rows has no result.
    """
    return opens(_Reducing((), named))


@transformer
@Emits.AT_ONCE
def distinct(*keys: Annotated[Any, key_names]) -> Transformer[Any, Any]:
    """Keep the first row with each key at each time; without keys, rows are compared as a whole.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> visits = ps.values([{"who": "ann", "page": 1}, {"who": "bob", "page": 1}, {"who": "ann", "page": 2}])
    >>> ps.run(ps.pipe(visits, columns.distinct("who"), ps.collect()))
    [{'who': 'ann', 'page': 1}, {'who': 'bob', 'page': 1}]

    Rows are emitted when their time is complete, in the order in which they arrived. Memory is that of `reduce_by_key`.
    """
    return opens(_Reducing(keys, {}))
