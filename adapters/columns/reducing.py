"""`reduce_by_key`, `reduce_by_time` and `distinct`: aggregates of each time, which keep groups and not rows."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, Final

from typing_extensions import override

from pullstream import Batch, Transformer, transformer
from pullstream.authoring import Call, Notified, opens

from ..arrow import ArrowRows, RowForm, joined_rows
from .aggregates import Aggregate, aggregates, first
from .arrow_partials import Table
from .frames import ColumnReader, Frame, rows_of
from .groups import Groups

TOGETHER: Final = 65_536
"""The number of rows that are aggregated at once."""


class TimeState:
    """The rows of a time that are not aggregated yet, and the partial results of the others."""

    def __init__(self) -> None:
        self.rows: list[ArrowRows] = []
        self.waiting = 0
        self._partials: list[Frame] = []
        self._size = 0
        self._merged = 0

    def add(self, rows: ArrowRows, groups: Groups) -> None:
        """Add rows, and aggregate those that wait if they are many."""
        self.rows.append(rows)
        self.waiting += len(rows)
        if self.waiting >= TOGETHER:
            self.fold(groups)

    def fold(self, groups: Groups) -> None:
        """Aggregate the waiting rows."""
        if not self.rows:
            return
        self._partials.append(groups.partial(self._table(groups)))
        self._size += len(self._partials[-1])
        if self._size > 2 * self._merged + TOGETHER:
            self._merge(groups)

    def results(self, groups: Groups) -> Frame:
        """The results of all rows."""
        if not self._partials:
            return groups.results(self._table(groups))
        self.fold(groups)
        self._merge(groups)
        return groups.finished(self._partials[0])

    def _table(self, groups: Groups) -> Table:
        """Take the waiting rows."""
        whole = joined_rows(self.rows)
        table = groups.table([whole] if isinstance(whole, ArrowRows) else self.rows)
        self.rows, self.waiting = [], 0
        return table

    def _merge(self, groups: Groups) -> None:
        if len(self._partials) > 1:
            self._partials = [groups.merged(self._partials)]
        self._size = self._merged = len(self._partials[0])


class _Reducing(Notified):
    """Emits the aggregates of a time when the time is complete."""

    def __init__(self, keys: Sequence[str], named: Mapping[str, Aggregate]) -> None:
        super().__init__()
        self._keys, self._named = keys, named
        self._states: dict[Hashable, TimeState] = {}
        self._form: RowForm = "rows"

    @override
    async def acquire(self) -> None:
        await super().acquire()
        where = str(self.location)
        self._reader = ColumnReader(where)
        self._groups = Groups(where, self._keys, self._named)

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for run in self.apart(batch):
            rows = self._reader.rows(run.values)
            self._form = rows.form
            state = self._states.get(run.time)
            if state is None:
                self.notify(run.time, run.time)
                state = self._states[run.time] = TimeState()
            state.add(rows, self._groups)

    @override
    def complete(self, time: Hashable) -> None:
        self.give(time, rows_of(self._states.pop(time).results(self._groups), self._form))


def key_names(call: Call, keys: Sequence[Any]) -> tuple[str, ...]:
    """Check the names of keys."""
    for key in keys:
        if not isinstance(key, str):
            raise call.refuse(
                f"needs the names of columns as keys, but got {key!r}; compute other keys with with_columns(...) above"
            )
    if len(set(keys)) < len(keys):
        raise call.refuse(f"got a key twice: {', '.join(keys)}")
    return tuple(keys)


def some_keys(call: Call, keys: Sequence[Any]) -> tuple[str, ...]:
    """Check the names of keys, of which there must be one."""
    if not keys:
        raise call.refuse("needs the names of columns as keys; without keys, use reduce_by_time")
    return key_names(call, keys)


@transformer
def reduce_by_key(*keys: Annotated[Any, some_keys], **named: Annotated[Any, aggregates]) -> Transformer[Any, Any]:
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
    `ps.reduce_by_key`. Memory holds a row for each key of an open time, and up to 65,536 rows that wait for their turn.

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
    """Keeps the first row of each key; which columns there are is known with the first batch."""

    @override
    def receive(self, batch: Batch[Any]) -> None:
        if not self._named:
            names: list[str] = self._reader.rows(batch.values).schema.names
            self._keys = self._keys or names
            rest = [name for name in names if name not in self._keys]
            self._order = names
            self._named = {name: first(name) for name in rest}
            self._groups = Groups(str(self.location), self._keys, self._named)
        super().receive(batch)

    @override
    def complete(self, time: Hashable) -> None:
        results = self._states.pop(time).results(self._groups)
        self.give(time, rows_of(results.select(self._order), self._form))


@transformer
def distinct(*keys: Annotated[Any, key_names]) -> Transformer[Any, Any]:
    """Keep the first row with each key at each time; without keys, rows are compared as a whole.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> visits = ps.values([{"who": "ann", "page": 1}, {"who": "bob", "page": 1}, {"who": "ann", "page": 2}])
    >>> ps.run(ps.pipe(visits, columns.distinct("who"), ps.collect()))
    [{'who': 'ann', 'page': 1}, {'who': 'bob', 'page': 1}]

    Rows are emitted when their time is complete, in the order in which they arrived. Memory holds one row for each key
    of an open time.
    """
    return opens(_Distinct(keys, {}))
