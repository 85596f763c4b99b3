"""The gate before Spark's commit of a micro-batch, where the body of a query is not in this process.

Through Spark Connect the body of `foreachBatch` runs in a process beside the server, which knows nothing of this
program, and this program reaches the server only. What both can see are the shared (global temporary) views of Spark's
program. So they meet there: the body publishes the micro-batch as one view and its number as another, and waits; this
program reads the rows as any DataFrame's, and says in a third what has been completed. The body returns, and Spark
commits, when that says its number.

A program that is killed says no more. So the third view has a beat, too, and a body that has not heard a new one for
`LEASE_SECONDS` fails, uncommitted. The views of a checkpoint have one name: a program that is started anew with it
takes the third view over, at which the body of the one before fails at once. Spark itself ends that one's query.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..failures import first_line, unlogged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0
"""Seconds without a beat after which a program is taken for dead."""

_DATABASE = "spark.sql.globalTempDatabase"


class Gate:
    """The end, in this program, of the gate of one query. It blocks; its calls may come from any thread."""

    def __init__(self, session: "SparkSession", checkpoint: str) -> None:
        self._session = session
        self._owner = uuid4().hex
        self._names = _ViewNames(sha256(checkpoint.encode()).hexdigest()[:16], self._owner)
        self._before: _ViewNames | None = None
        self._beat = 0
        self._committed = -1
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._beating = threading.Thread(target=self._go_on_beating, name="pullstream heartbeat", daemon=True)

    def open(self) -> None:
        """Take the gate, from whoever had it; before the query begins."""
        holder = self._holder()
        if holder is not None:
            self._before = _ViewNames(self._names.key, holder)
        self._session.sql("SELECT -1L AS batch").createOrReplaceGlobalTempView(self._names.batch)
        self._say()
        self._beating.start()

    def body(self) -> "Callable[[DataFrame, int], None]":
        """The other end, for `foreachBatch`."""
        names = self._names
        views = (self._full(names.driver), names.batch, names.rows)
        return _body(views, self._owner, LEASE_SECONDS)

    def clear(self) -> None:
        """Remove what the one before has left; when the query has begun, and its has ended."""
        before, self._before = self._before, None
        if before is not None:
            self._drop(before.batch, before.rows)

    def batch(self) -> int:
        """The micro-batch that has come to the gate last; -1 if none has."""
        (told,) = self._session.table(self._full(self._names.batch)).collect()
        return int(told.batch)

    def frame(self) -> "DataFrame":
        """The rows of that micro-batch."""
        return self._session.table(self._full(self._names.rows))

    def commit(self, batch: int) -> bool:
        """Let the micro-batch pass; False if its body has given up, or the gate is another program's by now."""
        with self._turn:
            if self._holder() != self._owner:
                return False
            self._committed = batch
            self._say()
            return True

    def close(self) -> None:
        """Leave nothing there; when the query has ended."""
        self._closed.set()
        if self._beating.ident is not None:
            self._beating.join()
        with suppress(Exception), unlogged():
            self._drop(self._names.batch, self._names.rows)
            if self._holder() == self._owner:
                self._drop(self._names.driver)

    @cached_property
    def _database(self) -> str:
        # The server is asked, which may take its time: not before somebody opens the gate.
        return _database(self._session)

    def _full(self, view: str) -> str:
        return f"{self._database}.{view}"

    def _holder(self) -> str | None:
        """The owner of the gate, as the driver's view says; None if there is no such view."""
        view = self._full(self._names.driver)
        if not self._session.catalog.tableExists(view):
            return None
        (said,) = self._session.table(view).collect()
        return str(said.owner)

    def _say(self) -> None:
        said = f"SELECT '{self._owner}' AS owner, {self._beat}L AS beat, {self._committed}L AS committed"
        self._session.sql(said).createOrReplaceGlobalTempView(self._names.driver)

    def _go_on_beating(self) -> None:
        while not self._closed.wait(BEAT_SECONDS):
            # A beat that does not arrive is missed by the body, which is the one to judge that.
            with suppress(Exception), unlogged(), self._turn:
                if self._holder() == self._owner:
                    self._beat += 1
                    self._say()

    def _drop(self, *views: str) -> None:
        for view in views:
            with suppress(Exception), unlogged():
                self._session.catalog.dropGlobalTempView(view)


def trouble(session: "SparkSession") -> str | None:
    """The reason why a server has no shared views; None if it has."""
    view = f"pullstream_{uuid4().hex}"
    try:
        with unlogged():
            session.sql("SELECT 1 AS one").createOrReplaceGlobalTempView(view)
            session.table(f"{_database(session)}.{view}").collect()
            session.catalog.dropGlobalTempView(view)
    except Exception as exc:  # noqa: BLE001 - what servers refuse with is theirs
        return first_line(exc)
    return None


class _ViewNames:
    """The names of the views."""

    def __init__(self, key: str, owner: str) -> None:
        self.key = key
        self.driver = f"pullstream_{key}_driver"
        self.batch = f"pullstream_{key}_{owner}_batch"
        self.rows = f"pullstream_{key}_{owner}_rows"


def _database(session: "SparkSession") -> str:
    return session.conf.get(_DATABASE, "global_temp") or "global_temp"


def _body(views: tuple[str, str, str], owner: str, lease: float) -> "Callable[[DataFrame, int], None]":
    """The function that runs beside the server; an inner one, because those travel by value and need no install."""

    def at_the_gate(df: Any, batch: int) -> None:
        import time  # noqa: PLC0415 - a function that travels by value has no module

        driver, told, rows = views
        session = df.sparkSession
        df.createOrReplaceGlobalTempView(rows)
        session.sql(f"SELECT {batch}L AS batch").createOrReplaceGlobalTempView(told)
        beat, heard, pause = -1, time.monotonic(), 0.02
        while True:
            (said,) = session.table(driver).collect()
            if said.owner != owner:
                raise RuntimeError("another program has begun with this checkpoint")
            if said.committed == batch:
                session.catalog.dropGlobalTempView(rows)
                return
            if said.beat != beat:
                beat, heard = said.beat, time.monotonic()
            elif time.monotonic() - heard > lease:
                for view in (rows, told, driver):
                    session.catalog.dropGlobalTempView(view.rpartition(".")[2])
                raise RuntimeError(f"the program that reads this stream was not heard of for {lease:.0f} seconds")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)

    return at_the_gate
