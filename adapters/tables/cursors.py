"""Rows of a query in order of time, and the changes of a Delta Lake table in order of its versions."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pullstream.authoring import some_of

from ..arrow import NullTimeError, RecordBatch, pa
from .lake import plain
from .table import table_of
from .target import Address, Name, RowsPlan, TableError, quoted

_TABLE: Final = re.compile(r'(\w+|"[^"]+")(\.(\w+|"[^"]+"))*')
"""The name of a table; only SQLite accepts one where a query is expected."""


class SqlCursor:
    """The rows of a query, in order of time, through the database's cursor; the arguments are those of `read_rows`.

    All methods block. The caller closes the `table`. `time` is the column with the time; `what` is read, for messages.
    """

    def __init__(
        self, target: Address, query: str, order: list[str], parameters: Sequence[Any], lateness: Any, *, follow: bool
    ) -> None:
        self._query = query.strip("; \t\r\n")
        if _TABLE.fullmatch(self._query):
            self._query = f"SELECT * FROM {self._query}"
        self._order = order
        """The time column and, if given, the key column."""
        self._parameters = parameters
        self._lateness = lateness
        self._follow = follow
        self.table: Any = table_of(RowsPlan(target, Name(query)))
        self._rows: Iterator[RecordBatch] | None = None
        self._last: tuple[Any, ...] = ()
        """The time of the last row and, if more rows may follow at that time, its key."""
        self._found = False
        """Whether the query has returned rows."""
        self._ended = False
        self.time = order[0]
        self.floor: Any = None
        """The earliest time that may still arrive, once known."""
        self.id: str | None = None
        """The id of the table; a query has none."""
        self.what = f"{query!r} in {target.shown}"

    def open(self, last: Any, _table: str | None) -> None:
        """Connect, to continue after the time `last` unless it is None."""
        self._last = () if last is None else (last,)
        where = self.table.plan.target
        if where.kind != "postgresql" and not Path(where.location).exists():
            # The drivers would create an empty file.
            raise TableError(f"read_rows() cannot read {self.what}: there is no such file. Correct the path")
        self.table.connect()

    def next(self) -> RecordBatch | None:
        """Return the next rows; None if there are no more for now."""
        while self._rows is not None or self._begin():
            for batch in self._rows or ():
                if batch.num_rows:
                    last = batch.slice(batch.num_rows - 1)
                    self._check(batch.schema.names)
                    try:
                        self._last = tuple(last.column(name)[0].as_py() for name in self._order)
                    except OverflowError:
                        raise TableError(
                            f"read_rows(): a time in the column {self.time!r} of {self.what} is not in the years 1 to "
                            f"9999. Leave such rows out in the query"
                        ) from None
                    self._found = True
                    return batch
            self._rows = None
            if not self._found:
                return None
            self._found = False
        return None

    def _check(self, names: Sequence[str]) -> None:
        for name in self._order:
            if name not in names:
                # The database ignores case, and has found another column.
                raise TableError(
                    f"read_rows(): the column {name!r} is not in the result of {self.what}, whose columns are "
                    f"{some_of(names, name, repr)}. Write its name exactly so: case matters"
                )

    def _begin(self) -> bool:
        """Begin a query for rows after the last one; return False if there are none for now."""
        if self._ended:
            return False
        given = [*self._parameters]

        def bound(value: Any) -> str:
            given.append(value)
            return f"${len(given)}"

        # Without the table's name, SQLite would read the name of a missing column as text.
        time, *keys = (f"query.{quoted(name)}" for name in self._order)
        rows = f"FROM ({self._query}\n) AS query"
        conditions: list[str] = []
        if self._follow or self._last:
            # Nulls satisfy none of the conditions below.
            self._refuse_nulls(rows, given)
        if self._follow:
            ((newest,),) = self.table.execute(f"SELECT max({time}) {rows}", *given)
            if newest is None:
                return False
            until = self._before(newest)
            if not keys and self._last and until <= self._last[0]:
                return False
            if self.floor is not None:
                # Times before it are complete.
                conditions.append(f"{time} >= {bound(self.floor)}")
            self.floor = until
            conditions.append(f"{time} {'<=' if keys else '<'} {bound(until)}")
        if len(self._last) == 2:
            same, beyond = map(bound, self._last)
            conditions.append(f"{time} >= {same} AND ({time} > {same} OR {keys[0]} > {beyond})")
        elif self._last:
            conditions.append(f"{time} > {bound(self._last[0])}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        self._rows = self.table.stream(f"SELECT * {rows}{where} ORDER BY {', '.join([time, *keys])}", *given)
        self._ended = not self._follow
        return True

    def _refuse_nulls(self, rows: str, given: Sequence[Any]) -> None:
        # Not with OR: SQLite would read the whole table even if no column can have a null.
        nulls = " UNION ALL ".join(f"SELECT * {rows} WHERE {quoted(name)} IS NULL" for name in self._order)
        for batch in self.table.stream(f"{nulls} LIMIT 1", *given):
            for row in batch.to_pylist():
                missing = next((name for name in self._order if row.get(name) is None), self.time)
                raise NullTimeError(
                    f"read_rows(): the column {missing!r} is null in the row {row!r} of {self.what}. Give every row a "
                    f"value there, or leave out such rows in the query"
                )

    def _before(self, newest: Any) -> Any:
        lateness = self._lateness
        try:
            return newest if lateness is None else newest - lateness
        except TypeError as exc:
            raise TableError(
                f"read_rows(): lateness={lateness!r} cannot be subtracted from the time {newest!r} of {self.what}: "
                f"{exc}. Use numbers, or dates and a timedelta"
            ) from None


class ChangeCursor:
    """The change feed of a Delta Lake table, one version after another; used as a `SqlCursor` is."""

    time = "_commit_version"
    floor: int | None = None
    id: str | None = None

    def __init__(self, target: Address, name: Name, begin: int) -> None:
        self.table: Any = table_of(RowsPlan(target, name))
        self._version = begin
        self._rows: Iterator[RecordBatch] = iter(())
        self.what = f"the changes of {self.table.plan.shown}"

    def open(self, last: Any, table: str | None) -> None:
        """Connect, to continue after the version `last` of the `table` with this id, unless they are None."""
        self.table.connect()
        self.table.load()
        delta = self.table.delta
        if delta is None:
            raise TableError(f"read_changes() cannot read {self.what}: there is no such table")
        self.id = delta.metadata().id
        if last is not None:
            if table not in {None, self.id} or last > delta.version():
                raise TableError(
                    f"read_changes() cannot continue after version {last} of {self.what}: the journal belongs to an "
                    f"earlier table of that name, or to a later state of it. Start over with a new journal"
                )
            self._version = last + 1

    def next(self) -> RecordBatch | None:
        """Return the next changes; None if there are no more for now."""
        delta = self.table.delta
        while (batch := next(self._rows, None)) is None:
            delta.update_incremental()
            if self._version > delta.version():
                self.floor = self._version
                return None
            changes = delta.load_cdf(self._version, self._version)
            self._rows = iter(pa.RecordBatchReader.from_stream(changes))
            self._version += 1
        return batch.cast(plain(batch.schema))
