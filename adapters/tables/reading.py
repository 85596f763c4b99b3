"""`read_rows` and `read_changes`: tables as sources, in order of time."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream import DONE, Batch, Source
from pullstream.authoring import (
    Backlog,
    Call,
    Carries,
    Count,
    Done,
    Emits,
    Kernel,
    Module,
    Outside,
    Traits,
    bound,
    seconds,
)

from ..arrow import As, RecordBatch, Shape, pa, run_starts, shape_argument, values
from ..stopping import stoppably
from .cursors import ChangeCursor, SqlCursor
from .target import Address, Name, TableError

T = TypeVar("T")

_LAST: Final = "last"
_TABLE: Final = "table"


@bound
def read_rows(
    target: str,
    query: str,
    *,
    time: str,
    key: str | None = None,
    parameters: Sequence[Any] = (),
    follow: bool = False,
    every: float = 1.0,
    lateness: Any = None,
    as_: As = "rows",
) -> Source[Any]:
    """Read the rows of a SQL query in order of a time column, each at its time.

    >>> import sqlite3, tempfile, pullstream as ps
    >>> from pullstream import tables
    >>> with tempfile.TemporaryDirectory() as folder, sqlite3.connect(f"{folder}/sales.db") as database:
    ...     _ = database.execute("create table sales as select 2 as day, 'figs' as item union select 1, 'tea'")
    ...     database.commit()
    ...     sales = tables.read_rows(f"{folder}/sales.db", "select * from sales", time="day")
    ...     ps.run(ps.pipe(sales, ps.map(lambda row: row.item), ps.collect(timed=True)))
    [(1, 'tea'), (2, 'figs')]

    `target` is SQLite, DuckDB or PostgreSQL, as in `write_rows`. `query` is any query of that database, with the values
    of `parameters` for $1, $2 and so on, or the name of a table, quoted as in SQL: `'"Daily Sales"'` for a table that
    `write_rows` calls `"Daily Sales"`. `time` is a column of its result. Rows and times have the types that
    `files.read_parquet` gives them. SQLite has no date type: dates are text there. PostgreSQL's numeric values are
    text, too: cast them in the query. Its infinite dates and timestamps are refused, and types that Arrow lacks, such
    as inet. An interval is a `pyarrow.MonthDayNano`. The columns of the result need different names, because each
    database renames duplicates in its own way. The database sorts the rows, and its cursor delivers them on demand, so
    memory does not grow with the result. An index on the time column helps. Times that are text are compared character
    by character: if a PostgreSQL database has a collation other than "C", give them that one in the query.

    By default the source reads the existing rows and ends. With a journal, the next run continues after the last
    complete time, and the database skips earlier rows. With `follow=True` the source asks for new rows every `every`
    seconds, until the program ends it. It reads only times before the newest one, because more rows may arrive at the
    newest. With `lateness` it reads only times that are more than `lateness` before the newest, so that late rows are
    not missed. Rows that arrive at a time that was already read are never read.

    If `key` names a column that grows with each new row at a time, such as a serial number, rows at the newest time (or
    `lateness` before it) are read at once, in key order.

    Raises:
        CompositionError: an argument is invalid; when composing.
        NullTimeError: at an ask; a row has no time, or no `key`.
        TableBusyError: at an ask; another process has the DuckDB file open.
        TableError: at an ask; the database refused the query, or the time column is not in its result.
        ArrowMissing: at an ask; the driver is not installed.
    """
    module = "read_rows"
    where = Address.of(module, target)
    if where.kind in {"delta", "iceberg"}:
        why = f"got {target!r}: it reads SQLite, DuckDB and PostgreSQL. For Delta Lake, use read_changes()"
        raise Call(module).refuse(why)
    for name, given in (("query", query), ("time", time), *((("key", key),) if key is not None else ())):
        if not isinstance(given, str) or not given.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Call(module).refuse(f"needs text for its argument {name!r}, but got {given!r}")
    if isinstance(parameters, (str, bytes, Mapping)) or not isinstance(parameters, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Call(module).refuse(
            f"needs a list of values as parameters, but got {parameters!r}: write $1, $2 and so on in the query"
        )
    if (key is not None or lateness is not None) and not follow:
        raise Call(module).refuse("got key= or lateness=, which need follow=True")
    order = [time] if key is None else [time, key]
    cursor = partial(SqlCursor, where, query, order, tuple(parameters), lateness, follow=follow)
    own = {"time": time, "key": key, "parameters": parameters or None, "lateness": lateness}
    plan = ReadingPlan(module, cursor, follow, every, as_)
    return _source(plan, (where.shown, query), own)


@bound
def read_changes(
    target: str,
    table: str | tuple[str, str],
    *,
    begin: int = 0,
    follow: bool = False,
    every: float = 1.0,
    as_: As = "rows",
) -> Source[Any]:
    """Read the change feed of a Delta Lake table, each change at the version of the table that made it.

    A row has the table's columns and `_change_type`, `_commit_version` and `_commit_timestamp`. Names in named tuples
    cannot begin with an underscore, so these are `row.change_type` and so on. `incremental.change_of` turns a row into
    a change:

    ```python
    changes = ps.pipe(tables.read_changes("delta:///lake", "orders"), ps.map(change_of), maintain(program))
    ```

    The table must have had the property `delta.enableChangeDataFeed` since the version `begin`. Tables that
    `write_rows` creates have it. By default the source ends after the newest version. With a journal, the next run
    continues after the last complete version. With `follow=True` it looks for new versions every `every` seconds.

    Raises:
        CompositionError: an argument is invalid; when composing.
        TableError: at an ask; there is no such table, or it has no change feed.
        ArrowMissing: at an ask; `deltalake` is not installed.
    """
    module = "read_changes"
    where = Address.of(module, target)
    if where.kind != "delta":
        raise Call(module).refuse(
            f"got {where.shown!r}: only Delta Lake has a change feed here, in a folder with a URL such as "
            f"delta:///folder. For SQLite, DuckDB and PostgreSQL, use read_rows()"
        )
    Count()(Call(module, name="begin"), begin)
    cursor = partial(ChangeCursor, where, Name.of(module, table, where.kind), begin)
    return _source(ReadingPlan(module, cursor, follow, every, as_), (where.shown, table), {"begin": begin or None})


def _source(plan: "ReadingPlan", positional: tuple[Any, ...], own: dict[str, Any]) -> Source[Any]:
    module, every = plan.module, plan.every
    shape_argument(module, plan.as_)
    seconds(Call(module, name="every"), every)
    if every != 1.0 and not plan.follow:
        raise Call(module).refuse(f"got every={every!r}, which needs follow=True")
    as_ = None if plan.as_ == "rows" else plan.as_
    own |= {"follow": plan.follow or None, "every": every if plan.follow else None, "as_": as_}
    shown = tuple((name, value) for name, value in own.items() if value is not None)
    return Source((Module(module, plan, positional, shown),))


@attrs.frozen
class ReadingPlan:
    """The arguments of a source; makes its kernel for each run."""

    emits = staticmethod(Emits.if_following)
    module: str
    cursor: Callable[[], SqlCursor | ChangeCursor]
    follow: bool
    every: float
    as_: As

    def __call__(self, *_: object, **__: object) -> Kernel[Any]:
        """Make a new kernel; the arguments are in the plan, which the blueprint shows."""
        return RowsSource(self)


class RowsSource(Kernel[Any], Outside):
    """Reads rows in a thread, the next batch once the previous one is delivered."""

    traits = Traits(trusted=True, carries=Carries.MEMORY)

    def __init__(self, plan: ReadingPlan) -> None:
        self._plan = plan
        self._cursor = plan.cursor()
        self._shape = Shape(plan.as_)
        self._rest = Backlog()

    @override
    async def acquire(self) -> None:
        before: Mapping[Any, Any] = self.memory if self.memory.saves else {}
        try:
            await self._thread(self._cursor.open, before.get(_LAST), before.get(_TABLE))
        except BaseException:
            # If `acquire` fails, `release` is not called.
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._cursor.table.close)
            raise

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._rest:
            batch = await self._thread(self._cursor.next)
            if batch is not None:
                self._put(batch)
            elif not self._plan.follow:
                return DONE
            else:
                if self._cursor.floor is not None:
                    self.location.advance(values(pa.array([self._cursor.floor]))[0])
                await trio.sleep(self._plan.every)
        return self._rest.take(limit)

    def _put(self, batch: RecordBatch) -> None:
        column = batch.column(self._cursor.time)
        try:
            for timed in self._shape.timed(batch, column, f"the column {self._cursor.time!r}"):
                self._rest.put(timed)
        except NotImplementedError:
            raise TableError(
                f"{self._plan.module}(): the column {self._cursor.time!r} of {self._cursor.what} is {column.type}, "
                f"whose values cannot be compared here. CAST it to a number, a date or text in the query"
            ) from None
        if self.memory.saves:
            firsts: Any = column.take(run_starts(column))
            times: list[Hashable] = values(firsts)
            for time, stored in zip(times, firsts.to_pylist(), strict=True):
                self.memory.at(time)[_LAST] = stored
                if self._cursor.id is not None:
                    self.memory[_TABLE] = self._cursor.id

    @override
    def identity(self) -> object:
        # The rows after the last complete time may change.
        return None

    @override
    def for_now(self) -> bool:
        return not self._plan.follow

    @override
    async def release(self) -> None:
        self._rest = Backlog()
        await trio.to_thread.run_sync(self._cursor.table.close)

    async def _thread(self, work: Callable[..., T], *arguments: Any) -> T:
        table = self._cursor.table
        try:
            return await stoppably(work, table.cancel, *arguments)
        except table.failures as exc:
            raise TableError(f"{self._plan.module}() cannot read {self._cursor.what}: {table.text(exc)}") from None
