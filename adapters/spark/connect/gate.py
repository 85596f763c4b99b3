"""The gate before Spark's commit of a micro-batch, when the body of the query is in another process.

With Spark Connect, the body of `foreachBatch` runs in a process beside the server, which cannot reach this program, and
this program can reach only the server. Both can access the shared (global temporary) views of Spark's program, so they
communicate through these. The body publishes the micro-batch as one view and its number as another, and waits. This
program reads the rows like any DataFrame, and publishes in a third view which micro-batches are complete. When that
view contains the number, the body returns and Spark commits.

The third view also contains a heartbeat, in case this program is killed: a body that sees no new beat for
`LEASE_SECONDS` fails, without a commit. The views of a checkpoint have fixed names: a restarted program with the same
checkpoint takes over the third view, which makes the earlier body fail at once. Spark itself ends the earlier query.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import Any
from uuid import uuid4

from ...arrow import first_line
from ..failures import unlogged
from ..types import DataFrame, SparkSession

BEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0
"""The seconds without a heartbeat after which a program counts as dead."""

_DATABASE = "spark.sql.globalTempDatabase"


class Gate:
    """A query's gate on this program's side. Its calls block, and may come from any thread."""

    def __init__(self, session: "SparkSession", checkpoint: str) -> None:
        self._session = session
        self._owner = uuid4().hex
        self._key = f"pullstream_{sha256(checkpoint.encode()).hexdigest()[:16]}"
        self._driver = f"{self._key}_driver"
        self._batch, self._rows = self._views = self._of(self._owner)
        self._before: Sequence[str] = ()
        """The views of an earlier program."""
        self._beat = 0
        self._committed = -1
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._beating = threading.Thread(target=self._keep_beating, name="pullstream heartbeat", daemon=True)

    def open(self) -> None:
        """Take over the gate, before the query begins."""
        holder = self._holder()
        if holder is not None:
            self._before = self._of(holder)
        self._session.sql("SELECT -1L AS batch").createOrReplaceGlobalTempView(self._batch)
        self._publish()
        self._beating.start()

    def body(self) -> "Callable[[DataFrame, int], None]":
        """Make the other side, for `foreachBatch`."""
        return _body((self._full(self._driver), *self._views), self._owner, LEASE_SECONDS)

    def clear(self) -> None:
        """Remove the views of an earlier program, after this query has begun and the earlier one has ended."""
        before, self._before = self._before, ()
        self._drop(*before)

    def batch(self) -> int:
        """The last micro-batch at the gate; -1 if there is none."""
        (row,) = self._session.table(self._full(self._batch)).collect()
        return int(row.batch)

    def frame(self) -> "DataFrame":
        """The rows of that micro-batch."""
        return self._session.table(self._full(self._rows))

    def commit(self, batch: int) -> bool:
        """Let the micro-batch pass; False if its body has given up, or another program has taken over the gate."""
        with self._turn:
            if self._holder() != self._owner:
                return False
            self._committed = batch
            self._publish()
            return True

    def close(self) -> None:
        """Remove the views, after the query has ended."""
        self._closed.set()
        if self._beating.ident is not None:
            self._beating.join()
        with suppress(Exception), unlogged():
            self._drop(*self._views)
            if self._holder() == self._owner:
                self._drop(self._driver)

    @cached_property
    def _database(self) -> str:
        # Needs a call to the server, so it is not made before the gate is opened.
        return _database(self._session)

    def _of(self, owner: str) -> tuple[str, str]:
        """The views of a program's query: the number of its micro-batch, and the rows."""
        return f"{self._key}_{owner}_batch", f"{self._key}_{owner}_rows"

    def _full(self, view: str) -> str:
        return f"{self._database}.{view}"

    def _holder(self) -> str | None:
        """The owner of the gate according to the driver's view; None if the view does not exist."""
        view = self._full(self._driver)
        if not self._session.catalog.tableExists(view):
            return None
        (state,) = self._session.table(view).collect()
        return str(state.owner)

    def _publish(self) -> None:
        state = f"SELECT '{self._owner}' AS owner, {self._beat}L AS beat, {self._committed}L AS committed"
        self._session.sql(state).createOrReplaceGlobalTempView(self._driver)

    def _keep_beating(self) -> None:
        while not self._closed.wait(BEAT_SECONDS):
            # The body detects missing beats, so errors are ignored here.
            with suppress(Exception), unlogged(), self._turn:
                if self._holder() == self._owner:
                    self._beat += 1
                    self._publish()

    def _drop(self, *views: str) -> None:
        for view in views:
            with suppress(Exception), unlogged():
                self._session.catalog.dropGlobalTempView(view)


def trouble(session: "SparkSession") -> str | None:
    """The reason why a server has no shared views; None if it has them."""
    view = f"pullstream_{uuid4().hex}"
    try:
        with unlogged():
            session.sql("SELECT 1 AS one").createOrReplaceGlobalTempView(view)
            session.table(f"{_database(session)}.{view}").collect()
            session.catalog.dropGlobalTempView(view)
    except Exception as exc:  # noqa: BLE001 - each server refuses in its own way
        return first_line(exc)
    return None


def _database(session: "SparkSession") -> str:
    return session.conf.get(_DATABASE, "global_temp") or "global_temp"


def _body(views: tuple[str, str, str], owner: str, lease: float) -> "Callable[[DataFrame, int], None]":
    """Make the function that runs next to the server: a nested one, pickled by value, so it needs no installation."""

    def at_the_gate(df: Any, batch: int) -> None:
        import time  # noqa: PLC0415 - a function pickled by value has no module

        driver, current, rows = views
        session = df.sparkSession
        df.createOrReplaceGlobalTempView(rows)
        session.sql(f"SELECT {batch}L AS batch").createOrReplaceGlobalTempView(current)
        beat, heard, pause = -1, time.monotonic(), 0.02
        while True:
            (state,) = session.table(driver).collect()
            if state.owner != owner:
                raise RuntimeError("another program has taken over this checkpoint")
            if state.committed == batch:
                session.catalog.dropGlobalTempView(rows)
                return
            if state.beat != beat:
                beat, heard = state.beat, time.monotonic()
            elif time.monotonic() - heard > lease:
                for view in (rows, current, driver):
                    session.catalog.dropGlobalTempView(view.rpartition(".")[2])
                raise RuntimeError(f"the program that reads this stream has sent no heartbeat for {lease:.0f} seconds")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)

    return at_the_gate
