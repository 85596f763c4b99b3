# ruff: noqa: N802, ARG002 - the names, and the arguments, are pyspark's
"""The data source `pullstream`, which runs in Spark's own processes and fetches from the driver.

Spark makes it there from a pickle that holds this module's code (`server` registers it so), because pullstream need not
be installed on the executors. So there is nothing here but pyspark, pyarrow and the standard library.
"""

import datetime as dt
import json
import socket
import struct
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from decimal import Decimal
from importlib import import_module
from typing import Any, cast

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

CONNECT_SECONDS = 30

LONGEST_FILTERS = 30_000
"""Characters of filters that are told; what is longer (a list of thousands) Spark applies alone."""

HEAD = "!cQ"
"""A frame's head, as `frames` has it: kind and length."""


class PullSourceError(Exception):
    """The driver's refusal of a source that cannot be read."""


class DriverLine:
    """A connection to the driver, on which every question gets an answer."""

    def __init__(self, address: tuple[str, int, str], **hello: object) -> None:
        host, port, token = address
        try:
            self._socket = socket.create_connection((host, port), CONNECT_SECONDS)
        except OSError as exc:
            raise PullSourceError(
                f"the driver does not answer at {host}:{port} ({exc}): its session was stopped, or an executor cannot "
                f"reach it (see spark.driver.host, and spark.pullstream.port for a firewall)"
            ) from None
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send(b"H", {"token": token, **hello})

    def send(self, kind: bytes, content: object = None) -> None:
        """Say something."""
        data = b"" if content is None else json.dumps(content).encode()
        # If the driver is gone, what it said last may still be there to be received.
        with suppress(ConnectionError):
            self._socket.sendall(struct.pack(HEAD, kind, len(data)) + data)

    def receive(self) -> tuple[bytes, bytearray]:
        """Wait for what the driver says; its refusals and the source's failures are raised."""
        kind, size = struct.unpack(HEAD, self._exactly(struct.calcsize(HEAD)))
        content = self._exactly(size)
        if kind == b"X":
            raise PullSourceError(content.decode())
        return kind, content

    def ask(self, kind: bytes, content: object = None) -> Any:
        """Say something, and wait for the answer."""
        self.send(kind, content)
        return json.loads(self.receive()[1])

    def _exactly(self, count: int) -> bytearray:
        content = bytearray(count)
        view = memoryview(content)
        while view:
            try:
                got = self._socket.recv_into(view)
            except ConnectionError:
                got = 0
            if not got:
                raise PullSourceError("the driver has closed the connection: its session was stopped, or it died")
            view = view[got:]
        return content

    def close(self) -> None:
        """Hang up: the driver lets go of the source."""
        self._socket.close()


class PullSource(DataSource):
    """A source that a driver has registered by name."""

    address: tuple[str, int, str]

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._source = options.get("path")
        self._rows = options.get("maxRowsPerBatch")
        if self._rows is not None and not (self._rows.isdecimal() and int(self._rows)):
            raise PullSourceError(
                f"maxRowsPerBatch is how many rows a micro-batch holds, 1 or more, not {self._rows!r}"
            )

    @classmethod
    def name(cls) -> str:
        """The name that `format(...)` knows it by."""
        return "pullstream"

    def schema(self) -> StructType:
        """The driver knows."""
        return StructType.fromJson(self._described()["schema"])

    def reader(self, schema: StructType) -> "PullReader":
        """Reads it whole."""
        # Spark refuses a reader that takes filters in a session that pushes none, and so only those do that want any.
        kind = FilteringReader if self._described()["prunes"] else PullReader
        return kind(self.address, self._source)

    def _described(self) -> dict[str, Any]:
        line = DriverLine(self.address, op="describe", name=self._source)
        try:
            return json.loads(line.receive()[1])
        finally:
            line.close()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Reads it in micro-batches."""
        return _stream_reader()(self.address, self._source, self._rows)


class PullReader(DataSourceReader):
    """A reader of one partition, which asks the driver for one Arrow batch after another."""

    def __init__(self, address: tuple[str, int, str], name: str | None) -> None:
        self._address = address
        self._name = name
        self._filters: list[Any] = []

    def partitions(self) -> list[InputPartition]:
        """A single partition, in the source's order; one that cannot be read is refused here, before any task runs."""
        line = DriverLine(self._address, op="plan", name=self._name)
        try:
            line.receive()
        finally:
            line.close()
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The batches of the source, as they are asked for."""
        yield from _batches(self._address, op="read", name=self._name, filters=self._filters)


class FilteringReader(PullReader):
    """One that tells the driver what Spark looks for; Spark filters what comes in any case."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        """Note what can be told, and leave all of them to Spark as well."""
        for pushed in filters:
            told = _told(pushed)
            if told is not None and len(json.dumps([*self._filters, told])) < LONGEST_FILTERS:
                self._filters.append(told)
        return filters


TESTS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "In": "in",
    "IsNull": "is null",
    "IsNotNull": "is not null",
    "StringStartsWith": "starts with",
    "StringEndsWith": "ends with",
    "StringContains": "contains",
}
"""The conditions there are, as SQL has them; those that a later Spark adds are not told."""


def _told(pushed: Any, negated: bool = False) -> list[Any] | None:  # noqa: FBT001, FBT002
    """A filter in JSON: column, test, value, whether negated; None for what is not of a column, or cannot be told."""
    kind = type(pushed).__name__
    if kind == "Not":
        return _told(pushed.child, not negated)
    if kind not in TESTS or len(pushed.attribute) != 1:
        return None
    try:
        return [pushed.attribute[0], TESTS[kind], _plain(getattr(pushed, "value", None)), negated]
    except TypeError:
        return None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return {"list": [*map(_plain, cast("list[Any]", value))]}
    # A datetime is a date.
    if isinstance(value, (dt.datetime, dt.date)):
        return {"datetime" if isinstance(value, dt.datetime) else "date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    raise TypeError(f"no value that can be told: {value!r}")


def _whereabouts() -> dict[str, Any]:
    """The numbers of this task, as Spark counts."""
    task = TaskContext.get()
    if task is None:
        return {}
    return {
        "stage": task.stageId(),
        "partition": task.partitionId(),
        "attempt": task.attemptNumber(),
        "execution": task.getLocalProperty("spark.sql.execution.id"),
        "tags": task.getLocalProperty("spark.job.tags"),
    }


def _batches(address: tuple[str, int, str], **hello: object) -> Iterator[Any]:
    pa: Any = import_module("pyarrow")
    line = DriverLine(address, **_whereabouts(), **hello)
    try:
        line.send(b"A")
        while True:
            kind, content = line.receive()
            if kind == b"E":
                return
            # Asked for before the batch is handed on, so that the driver makes the next while Spark works on this.
            line.send(b"A")
            with pa.ipc.open_stream(pa.py_buffer(content)) as batches:
                yield batches.read_next_batch()
    finally:
        line.close()


class _StreamReader(DataSourceStreamReader):
    """Offsets count the source's values, and say whose; the driver keeps those that Spark has not committed."""

    def __init__(self, address: tuple[str, int, str], name: str | None, rows: str | None) -> None:
        self._address = address
        self._name = name
        self._rows = None if rows is None else int(rows)
        self._opened: DriverLine | None = None
        self._last: dict[str, Any] | None = None

    def _line(self) -> DriverLine:
        # Opened by the process that leads the query; readers also travel to others, which only read.
        if self._opened is None:
            self._opened = DriverLine(self._address, op="query", name=self._name, rows=self._rows)
        return self._opened

    def initialOffset(self) -> dict[str, Any]:
        """The offset at which a new query begins."""
        return self._line().ask(b"I")

    def latest(self, start: dict[str, Any] | None, most: int | None = None) -> dict[str, Any]:
        """The furthest end of a micro-batch from `start`."""
        last: dict[str, Any] = self._line().ask(b"L", {"start": start, "most": most})
        self._last = last
        return last

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """A single partition, unless there is nothing."""
        # A query that is started anew plans first what it had planned before, and so its tasks may be the first to ask.
        self._line()
        return [InputPartition((start, end))] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The batches that the driver keeps of these offsets."""
        begin, end = partition.value
        yield from _batches(self._address, op="slice", name=self._name, begin=begin, end=end)

    def commit(self, end: dict[str, Any]) -> None:
        """Tell the driver that nothing before `end` is asked for any more."""
        self._line().ask(b"C", end)

    def stop(self) -> None:
        """The query has ended; another may go on from its checkpoint."""
        if self._opened is not None:
            self._opened.close()


def _stream_reader() -> Any:
    """The reader in the form that this pyspark knows: since 4.2 Spark says where to start, and has limits."""
    try:
        from pyspark.sql.streaming.datasource import (  # noqa: PLC0415 - not there before 4.2
            ReadAllAvailable,
            ReadLimit,
            ReadMaxRows,
            SupportsTriggerAvailableNow,
        )
    except ImportError:

        class Unlimited(_StreamReader):
            def latestOffset(self) -> dict[str, object]:  # pyright: ignore[reportIncompatibleMethodOverride]
                return self.latest(self._last)

        return Unlimited

    class Limited(_StreamReader, SupportsTriggerAvailableNow):
        def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:
            return self.latest(start, limit.max_rows if isinstance(limit, ReadMaxRows) else None)

        def getDefaultReadLimit(self) -> ReadLimit:
            return ReadAllAvailable() if self._rows is None else ReadMaxRows(self._rows)

        def prepareForTriggerAvailableNow(self) -> None:
            self._line().ask(b"N")

    return Limited
