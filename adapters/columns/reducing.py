"""`reduce_by_key`, `reduce_by_time` and `distinct`: aggregates of each time, which keep groups and not rows."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, Final

from typing_extensions import override

from pullstream import Batch, Transformer, transformer
from pullstream.authoring import Call, opens

from ..arrow import ArrowRows
from .aggregates import Aggregate, aggregates, first
from .by_time import ByTime
from .expressions import without_brackets
from .groups import Groups, Table
from .package import ColumnError, np, pa

TOGETHER: Final = 65_536
"""The number of rows that are aggregated at once."""

PARTS: Final = 64
"""The number of partial results of a time that are kept apart."""

TIME: Final = "__time__"
"""A column of the rows: the number of their time among those that are aggregated together."""


class _Fold:
    """The partial results of rows of several times. Their results are computed together, once the first is wanted."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.results: ArrowRows | None = None


def _of_one_time(partial: Table) -> Table:
    """The partial results of a time, with the same number for it in every fold."""
    numbers = pa.array(np.zeros(len(partial), dtype="int64"))
    return partial.set_column(partial.schema.get_field_index(TIME), TIME, numbers)


class _TimeState:
    """The partial results of a time: ranges in those of several folds."""

    def __init__(self) -> None:
        self.parts: list[tuple[_Fold, int, int]] = []
        self.waits = False
        """Whether rows of the time are not aggregated yet."""
        self.failure: Exception | None = None
        self._size = 0
        self._merged = 0

    def add(self, fold: _Fold, begin: int, end: int, groups: Groups) -> None:
        """Add partial results, and merge those that there are if they are many."""
        self.parts.append((fold, begin, end))
        self._size += end - begin
        many = self._size > 2 * self._merged + TOGETHER or len(self.parts) > PARTS
        if many and len(self.parts) > 1:
            self.merge(groups)

    def alone(self) -> None:
        """Copy the last partial results, as an open time must not keep the memory of all others."""
        fold, begin, end = self.parts[-1]
        if end - begin < len(fold.table):
            places = pa.array(np.arange(begin, end))
            self.parts[-1] = _Fold(fold.table.take(places)), 0, end - begin

    def merge(self, groups: Groups) -> Table:
        """Merge all partial results."""
        merged = groups.merged([_of_one_time(fold.table.slice(begin, end - begin)) for fold, begin, end in self.parts])
        self._size = self._merged = len(merged)
        self.parts = [(_Fold(merged), 0, len(merged))]
        return merged


class _Reducing(ByTime[_TimeState]):
    """Emits the aggregates of a time when the time is complete.

    Rows of several times wait together, and are grouped by time and key at once: the cost of a row does not depend on
    the number of times.
    """

    _groups: Groups
    _names: Sequence[str] = ()
    """The columns of the rows."""

    def __init__(self, keys: Sequence[str], named: Mapping[str, Aggregate]) -> None:
        super().__init__()
        self._keys, self._named = keys, named
        self._waiting: list[tuple[Hashable, Any]] = []
        self._count = 0
        self._fresh: set[Hashable] = set()
        """The times of the last fold."""

    @override
    def begin(self) -> _TimeState:
        return _TimeState()

    def grouping(self, names: Sequence[str]) -> Groups:
        """The groups of rows with some columns."""
        del names
        return Groups(self.where, self._keys, self._named, added=[TIME])

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for rows, ranges in self.arrivals(batch):
            if not self._names:
                self._names = rows.schema.names
                self._groups = self.grouping(self._names)
            for time, place in ranges:
                self.kept[time].waits = True
                self._waiting.append((time, rows[place]))
            self._count += len(rows)
            if self._count >= TOGETHER:
                self._fold()

    @override
    def complete(self, time: Hashable) -> None:
        if self.kept[time].waits:
            self._fold(time)
        state = self.kept.pop(time)
        if state.failure is not None:
            raise state.failure
        if len(state.parts) > 1:
            state.merge(self._groups)
        ((fold, begin, end),) = state.parts
        if fold.results is None:
            try:
                fold.results = self._results(fold.table)
            except ColumnError:
                # One of the times has no result.
                fold, begin, end = _Fold(fold.table.slice(begin, end - begin)), 0, end - begin
                fold.results = self._results(fold.table)
        self.give(time, fold.results[begin:end])

    def _results(self, partial: Table) -> ArrowRows:
        return ArrowRows(self._groups.finished(partial), self.form)

    def _fold(self, *wanted: Hashable) -> None:
        """Aggregate the rows that wait, but not those of the last time, of which more may follow, unless it is wanted.

        So most times are in one fold.
        """
        last = self._waiting[-1][0]
        rest = [each for each in self._waiting if each[0] == last]
        self._count = sum(len(rows) for _, rows in rest)
        if last in wanted or self._count > TOGETHER // 2:
            rest, self._count = [], 0
        waiting = self._waiting if not rest else [each for each in self._waiting if each[0] != last]
        self._waiting = rest
        for time in self._fresh & self.kept.keys():
            self.kept[time].alone()
        self._fresh = set()
        self._fold_all(waiting)

    def _fold_all(self, waiting: Sequence[tuple[Hashable, Any]]) -> None:
        times: dict[Hashable, int] = {}
        runs = [(times.setdefault(time, len(times)), len(rows)) for time, rows in waiting]
        numbers, counts = np.array(runs).T
        more = {TIME: pa.array(np.repeat(numbers, counts))}
        try:
            table = self._groups.partial(self._groups.table([rows for _, rows in waiting], more))
        except Exception as exc:  # noqa: BLE001 - raised when its time is complete; also of a Python function
            # An error of one time must not hide the results of another.
            if len(times) == 1:
                state = self.kept[waiting[0][0]]
                state.failure, state.waits = exc, False
                return
            alone: dict[Hashable, list[tuple[Hashable, Any]]] = {time: [] for time in times}
            for each in waiting:
                alone[each[0]].append(each)
            for part in alone.values():
                self._fold_all(part)
            return
        numbers = table.column(TIME).to_numpy()
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers, kind="stable")
            table, numbers = table.take(pa.array(order)), numbers[order]
        fold = _Fold(table)
        places = np.searchsorted(numbers, np.arange(len(times) + 1)).tolist()
        for time, begin, end in zip(times, places, places[1:], strict=False):
            state = self.kept[time]
            state.waits = False
            self._fresh.add(time)
            try:
                state.add(fold, begin, end, self._groups)
            except ColumnError as exc:
                state.failure = exc


def key_names(call: Call, keys: Sequence[Any]) -> tuple[str, ...]:
    """Check the names of keys."""
    for key in keys:
        if not isinstance(key, str):
            advice = "compute other keys with with_columns(...) above"
            if key.__class__ in {list, tuple}:
                advice = without_brackets(key)
            elif isinstance(key, Aggregate):
                advice = f"give an aggregate the name of its result, for example result={key!r}"
            raise call.refuse(f"needs the names of columns as keys, but got {key!r}; {advice}")
    if len(set(keys)) < len(keys):
        raise call.refuse(f"got a key twice: {', '.join(keys)}")
    return tuple(keys)


def some_keys(call: Call, keys: Sequence[Any]) -> tuple[str, ...]:
    """Check the names of keys, of which there must be one."""
    if not keys:
        raise call.refuse("needs the names of columns as keys; without keys, use reduce_by_time")
    return key_names(call, keys)


def _results(call: Call, named: dict[str, Any]) -> dict[str, Aggregate]:
    """Check the aggregates, whose results must not hide the keys."""
    return aggregates(call, named, call["keys"])


@transformer
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
    `ps.reduce_by_key`. Memory holds up to 100,000 rows that wait, and for each open time the partial results of at most
    64 such portions: three rows for each key and 65,536 more, until they are merged.

    Raises:
        ColumnError: at an ask; a column is missing, has a type that the aggregate does not take, or a sum overflows.
    """
    return opens(_Reducing(keys, named))


@transformer
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


class _Distinct(_Reducing):
    """Keeps the first row of each key."""

    @override
    def grouping(self, names: Sequence[str]) -> Groups:
        keys = self._keys or names
        others = {name: first(name) for name in names if name not in keys}
        return Groups(self.where, keys, others, added=[TIME])

    @override
    def _results(self, partial: Table) -> ArrowRows:
        return ArrowRows(self._groups.finished(partial).select(self._names), self.form)


@transformer
def distinct(*keys: Annotated[Any, key_names]) -> Transformer[Any, Any]:
    """Keep the first row with each key at each time; without keys, rows are compared as a whole.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> visits = ps.values([{"who": "ann", "page": 1}, {"who": "bob", "page": 1}, {"who": "ann", "page": 2}])
    >>> ps.run(ps.pipe(visits, columns.distinct("who"), ps.collect()))
    [{'who': 'ann', 'page': 1}, {'who': 'bob', 'page': 1}]

    Rows are emitted when their time is complete, in the order in which they arrived. Memory is that of `reduce_by_key`.
    """
    return opens(_Distinct(keys, {}))
