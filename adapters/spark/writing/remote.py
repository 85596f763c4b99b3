# ruff: noqa: N802, ARG002 - the names, and the arguments, are pyspark's
"""The data source `pullstream`, which runs in Spark's processes and fetches a source from the driver.

Spark unpickles it there, together with this module's code (see `SourceServer.introduce`), because pullstream need not
be installed on the executors. So this module uses only PySpark, PyArrow and the standard library.
"""

import datetime as dt
import json
import socket
import struct
from collections.abc import Iterator, MutableMapping
from contextlib import closing, suppress
from decimal import Decimal, getcontext
from importlib import import_module
from typing import Any, cast

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

CONNECT_SECONDS = 30

LONGEST_FILTERS = 30_000
"""The maximum number of characters of filters to send; longer ones, such as long lists, are left to Spark."""

HEAD = "!cQ"
"""The format of a frame's head, as in `frames`: kind and length."""


class PullSourceError(Exception):
    """The driver's refusal of a source that cannot be read."""


class DriverLine:
    """A connection to the driver, for requests and their answers."""

    def __init__(self, address: tuple[str, int, str], **hello: object) -> None:
        host, port, token = address
        try:
            self._socket = socket.create_connection((host, port), CONNECT_SECONDS)
        except OSError as exc:
            raise PullSourceError(
                f"the driver does not answer at {host}:{port} ({exc}): its session was stopped, or an executor cannot "
                f"reach it. Check spark.driver.host and, with a firewall, spark.pullstream.port"
            ) from None
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send(b"H", {"token": token, **hello})

    def send(self, kind: bytes, content: object = None) -> None:
        """Send a message."""
        data = b"" if content is None else json.dumps(content).encode()
        # If the driver has disconnected, its last message may still be there to be received.
        with suppress(ConnectionError):
            self._socket.sendall(struct.pack(HEAD, kind, len(data)) + data)

    def receive(self) -> tuple[bytes, bytearray]:
        """Wait for a message; raise it if it is a refusal or a failure of the source."""
        kind, size = struct.unpack(HEAD, self._exactly(struct.calcsize(HEAD)))
        content = self._exactly(size)
        if kind == b"X":
            raise PullSourceError(content.decode())
        return kind, content

    def ask(self, kind: bytes, content: object = None) -> Any:
        """Send a message, and wait for the answer."""
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
                raise PullSourceError("the driver has closed the connection: its session was stopped, or it ended")
            view = view[got:]
        return content

    def close(self) -> None:
        """Disconnect: the driver then releases the source."""
        self._socket.close()


def _answered(address: tuple[str, int, str], **hello: object) -> Any:
    """Return the driver's answer to a single request; raise its refusal."""
    with closing(DriverLine(address, **hello)) as line:
        return json.loads(line.receive()[1])


class PullSource(DataSource):
    """A source that a driver has registered by name."""

    address: tuple[str, int, str]

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._source = options.get("path")
        self._rows = options.get("maxRowsPerBatch")
        if self._rows is not None and not (self._rows.isdecimal() and int(self._rows)):
            raise PullSourceError(
                f"maxRowsPerBatch is the number of rows per micro-batch, at least 1, not {self._rows!r}"
            )

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "pullstream"

    def schema(self) -> StructType:
        """Get the schema from the driver."""
        return StructType.fromJson(self._described()["schema"])

    def reader(self, schema: StructType) -> "PullReader":
        """Make a reader for `read`."""
        # Spark refuses a reader with `pushFilters` in a session that does not push filters: use it only if needed.
        kind = FilteringReader if self._described()["prunes"] else PullReader
        return kind(self.address, self._source)

    def _described(self) -> dict[str, Any]:
        return _answered(self.address, op="describe", name=self._source)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Make a reader for `readStream`."""
        return _stream_reader()(self.address, self._source, self._rows)


class PullReader(DataSourceReader):
    """Reads a source as one partition, one Arrow batch per request to the driver."""

    def __init__(self, address: tuple[str, int, str], name: str | None) -> None:
        self._address = address
        self._name = name
        self._filters: list[Any] = []

    def partitions(self) -> list[InputPartition]:
        """Plan a single partition; a source that cannot be read is refused here, before any task runs."""
        _answered(self._address, op="plan", name=self._name)
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the batches of the source, on demand."""
        yield from _batches(self._address, op="read", name=self._name, filters=self._filters)


class FilteringReader(PullReader):
    """A reader that sends Spark's filters to the driver; Spark applies them as well."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        """Note the filters that can be sent; return all, so that Spark applies them as well."""
        for pushed in filters:
            parts = _json_filter(pushed)
            if parts is not None and len(json.dumps([*self._filters, parts])) < LONGEST_FILTERS:
                self._filters.append(parts)
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
"""Spark's filters and their notation in SQL; others, which a later Spark may add, are not sent."""


def _json_filter(pushed: Any, negated: bool = False) -> list[Any] | None:  # noqa: FBT001, FBT002
    """A filter as JSON: column, test, value, whether negated; None if it is not on one column or cannot be encoded."""
    kind = type(pushed).__name__
    if kind == "Not":
        return _json_filter(pushed.child, not negated)
    if kind not in TESTS or len(pushed.attribute) != 1:
        return None
    try:
        return [pushed.attribute[0], TESTS[kind], _json_value(getattr(pushed, "value", None)), negated]
    except TypeError:
        return None


def _json_value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return {"list": [*map(_json_value, cast("list[Any]", value))]}
    # Check for a datetime first, because it is also a date.
    if isinstance(value, (dt.datetime, dt.date)):
        return {"datetime" if isinstance(value, dt.datetime) else "date": value.isoformat()}
    # PySpark rounds a decimal with more digits than the context has, which shows in that it has as many.
    if isinstance(value, Decimal) and len(value.as_tuple().digits) < getcontext().prec:
        return {"decimal": str(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    raise TypeError(f"a value that JSON cannot hold, or that may be inexact: {value!r}")


def _whereabouts() -> dict[str, Any]:
    """The identity of this task, by Spark's numbers."""
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
    with closing(DriverLine(address, **_whereabouts(), **hello)) as line:
        line.send(b"A")
        while True:
            kind, content = line.receive()
            if kind == b"E":
                return
            # Ask before the batch is delivered, so that the driver makes the next one while Spark processes this one.
            line.send(b"A")
            with pa.ipc.open_stream(pa.py_buffer(content)) as batches:
                yield batches.read_next_batch()


class _StreamReader(DataSourceStreamReader):
    """Reads a source in micro-batches.

    An offset is a number of values, with the name of their log. The driver keeps values until Spark commits them.
    """

    def __init__(self, address: tuple[str, int, str], name: str | None, rows: str | None) -> None:
        self._address = address
        self._name = name
        self._rows = None if rows is None else int(rows)
        self._opened: DriverLine | None = None
        self._last: dict[str, Any] | None = None

    def _line(self) -> DriverLine:
        # The process that plans the query opens it. Readers are also pickled for tasks, which only read.
        if self._opened is None:
            self._opened = DriverLine(self._address, op="query", name=self._name, rows=self._rows)
        return self._opened

    def initialOffset(self) -> dict[str, Any]:
        """Get the offset at which a new query starts."""
        return self._line().ask(b"I")

    def latest(self, start: dict[str, Any] | None, most: int | None = None) -> dict[str, Any]:
        """Get the end of the micro-batch that starts at `start`."""
        last: dict[str, Any] = self._line().ask(b"L", {"start": start, "most": most})
        self._last = last
        return last

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan a single partition, or none if there are no values."""
        # A restarted query first plans its last micro-batch again. Start the log now, because nothing else has.
        self._line()
        return [InputPartition((start, end))] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the batches between the offsets, which the driver keeps."""
        begin, end = partition.value
        yield from _batches(self._address, op="slice", name=self._name, begin=begin, end=end)

    def commit(self, end: dict[str, Any]) -> None:
        """Notify the driver that the values before `end` are no longer needed."""
        self._line().ask(b"C", end)

    def stop(self) -> None:
        """Note the end of the query; another one can continue from its checkpoint."""
        if self._opened is not None:
            self._opened.close()


def _stream_reader() -> Any:
    """Get the class for this version of PySpark: since 4.2, Spark passes the start, and a limit."""
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
