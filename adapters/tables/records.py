"""The records of a table's writers: which times were committed, and with which journal."""

import datetime as dt
import json
from collections.abc import Hashable
from secrets import token_hex
from typing import Any

import attrs

from .database import Database
from .errors import TableError

TARGETS = "pullstream_targets"
TIMES = "pullstream_times"


@attrs.define
class Times:
    """The times that earlier runs have committed; empty if times are replaced."""

    known: set[str] = attrs.field(factory=set[str])

    def __contains__(self, time: object) -> bool:
        return bool(self.known) and isinstance(time, Hashable) and encoded(time) in self.known


def encoded(time: Any) -> str:
    """Return a time as text: equal times have equal texts.

    >>> import datetime as dt
    >>> [encoded(time) for time in (3, 3.0, "3", dt.date(2020, 1, 2), (1, "a"))]
    ['3', '3', '"3"', '2020-01-02', '(1, "a")']
    """
    if isinstance(time, dt.datetime) and time.tzinfo is not None:
        return time.astimezone(dt.UTC).isoformat()
    if isinstance(time, dt.date):
        return time.isoformat()
    if isinstance(time, str):
        return json.dumps(time)
    if isinstance(time, (int, float)):
        return str(int(time)) if time == time // 1 else repr(time)
    if type(time) is tuple:
        return f"({', '.join(map(encoded, time))})"  # pyright: ignore[reportUnknownArgumentType]
    return repr(time)


class Records:
    """The records of one table, in the same database and schema."""

    def __init__(self, database: Database, journal: str | None) -> None:
        self._database = database
        self._journal = journal
        self._targets = database.name.beside(TARGETS)
        self._times = database.name.beside(TIMES)
        self._name = database.record_name
        self._count = 0
        self._recorded = False
        self.id = ""

    def open(self, remembered: str | None, *, table_exists: bool) -> Times:
        """Return the committed times.

        Raises:
            TableError: the table, its records and the journal do not belong together.
        """
        with self._database.transaction():
            self._database.wait_for_turn()
            for table, columns in (
                (TARGETS, "name TEXT PRIMARY KEY, id TEXT NOT NULL, journal TEXT"),
                (
                    TIMES,
                    "name TEXT, time TEXT, number BIGINT NOT NULL, count BIGINT NOT NULL, PRIMARY KEY (name, time)",
                ),
            ):
                self._database.execute(f"CREATE TABLE IF NOT EXISTS {self._database.name.beside(table)} ({columns})")
        found = self._database.execute(f"SELECT id, journal FROM {self._targets} WHERE name = $1", self._name)
        times = self._database.execute(
            f"SELECT time, number FROM {self._times} WHERE name = $1 ORDER BY number", self._name
        )
        self._count = times[-1][1] if times else 0
        if found:
            ((self.id, journal),) = found
            self._recorded = journal is not None or self._journal is None
            if why := self._unfit(journal, remembered, table_exists=table_exists):
                raise self._refusal(why, "If that is meant, remove its records first")
        elif remembered is not None:
            raise self._refusal(
                f"the journal {self._journal} says that times were committed there, and the database has no record of "
                f"them: the table was restored, or is another one",
                "Start over with a new journal",
            )
        else:
            self.id = token_hex(8)
        return Times({time for time, _ in times})

    def _unfit(self, journal: str | None, remembered: str | None, *, table_exists: bool) -> str:
        if not table_exists:
            return "its records say that times were committed, and the table is gone"
        if journal is not None and journal != self._journal:
            now = "without one" if self._journal is None else f"with the journal {self._journal}"
            return f"it was written with the journal {journal}, and this run is {now}: its times may be others"
        if remembered not in {None, self.id}:
            return f"the journal {self._journal} belongs to an earlier table of that name"
        return ""

    def _refusal(self, why: str, advice: str) -> TableError:
        name = self._name.replace("'", "''")
        forget = " ".join(f"DELETE FROM {table} WHERE name = '{name}';" for table in (self._times, self._targets))
        return TableError(
            f"write_rows() cannot write to the table {str(self._database.name)!r} in {self._database.target.shown}: "
            f"{why}. {advice}{f': {forget}' if 'records first' in advice else ''}"
        )

    def add(self, time: Hashable, count: int, *, again: bool) -> None:
        """Record a time, in the transaction of its rows."""
        execute = self._database.execute
        if not self._recorded:
            execute(f"DELETE FROM {self._targets} WHERE name = $1", self._name)
            execute(
                f"INSERT INTO {self._targets} (name, id, journal) VALUES ($1, $2, {'$3' if self._journal else 'NULL'})",
                *filter(None, (self._name, self.id, self._journal)),
            )
        if again:
            execute(f"DELETE FROM {self._times} WHERE name = $1 AND time = $2", self._name, encoded(time))
        execute(
            f"INSERT INTO {self._times} (name, time, number, count) VALUES ($1, $2, $3, $4)",
            self._name,
            encoded(time),
            self._count + 1,
            count,
        )

    def added(self) -> None:
        """Note that the transaction was committed."""
        self._recorded = True
        self._count += 1
