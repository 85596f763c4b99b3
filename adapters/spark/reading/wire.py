"""Messages between executors and driver on the pushed route.

An executor's task opens a connection, says which attempt at which partition it is, with the run's token, and waits for
a word. Then it sends Arrow's messages, each behind a header of its kind and length: the schema once, then batches, each
after a word that allows one more, then the end with the number of its rows; and it waits for the word that this was
understood. A task is so never more than one batch ahead of what has been read. Whether it succeeded is Spark's to say,
by an accumulator, which a task that fails does not change.
"""

import select
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Self

import trio
from typing_extensions import override

from adapters.arrow import RecordBatch
from adapters.spark.reading.attempts import Attempt

HELLO: Final = "!4s32sqqqq"
"""Magic, token, partition, number of the attempt, the task's id, the stage's id."""
MAGIC: Final = b"PST1"
HEADER: Final = "!cQ"
"""A message's kind, and its length (of the end: how many rows there were)."""
SCHEMA: Final = b"S"
BATCH: Final = b"B"
END: Final = b"E"
MORE: Final = b"M"
SKIP: Final = b"K"
DONE: Final = b"D"

if TYPE_CHECKING:
    from pyspark import Accumulator

Push = Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]


def pushing(host: str, port: int, token: bytes, counted: "Accumulator[list[Any]]") -> Push:
    """The function that the executors run; an inner one, because those travel by value and need no install there.

    `counted` is how Spark tells the driver which attempts it counts.
    """
    hello, magic, header = HELLO, MAGIC, HEADER
    schema_kind, batch_kind, end_kind = SCHEMA, BATCH, END
    skip, done = SKIP, DONE

    def push(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        # Imported where it runs, and not through this package, which need not be there.
        socket: Any = import_module("socket")
        pa: Any = import_module("pyarrow")
        pack: Any = import_module("struct").pack
        task: Any = import_module("pyspark").TaskContext.get()
        try:
            connection = socket.create_connection((host, port), timeout=20)
        except OSError as exc:
            raise RuntimeError(
                f"this executor cannot reach the driver at {host}:{port} ({exc}): give a host= and a port= "
                f"that it can reach"
            ) from exc
        with connection:
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def over() -> Exception:
                return RuntimeError("the program that reads this DataFrame wants no more of it")

            def word() -> bytes:
                try:
                    said = connection.recv(1)
                except ConnectionError as exc:
                    raise over() from exc
                if not said:
                    raise over()
                return said

            def send(*parts: Any) -> None:
                try:
                    for part in parts:
                        connection.sendall(part)
                except ConnectionError as exc:
                    raise over() from exc

            rows, number, identity = 0, task.partitionId(), task.taskAttemptId()
            send(pack(hello, magic, token, number, task.attemptNumber(), identity, task.stageId()))
            said = word()
            if said != skip:
                for batch in batches:
                    if not batch.num_rows:
                        continue
                    if not rows:
                        schema = batch.schema.serialize()
                        send(pack(header, schema_kind, schema.size), schema)
                    else:
                        word()
                    body = batch.serialize()
                    send(pack(header, batch_kind, body.size), body)
                    rows += batch.num_rows
                send(pack(header, end_kind, rows))
                while said != done:
                    said = word()
                counted.add([(number, identity)])
        yield pa.RecordBatch.from_arrays([pa.array([number]), pa.array([identity])], ["partition", "task"])

    return push


class TaskLine:
    """The driver's end of a connection."""

    def __init__(self, connection: trio.socket.SocketType) -> None:
        self._socket = connection
        try:
            self.peer = str(connection.getpeername())
        except OSError:
            self.peer = "somebody who has left"

    async def hello(self) -> tuple[bytes, Attempt] | None:
        """The token and the attempt that is announced; None if this is not how one announces itself.

        Raises:
            EOFError, OSError: the connection has ended.
        """
        magic, token, *numbers = struct.unpack(HELLO, await self.exactly(struct.calcsize(HELLO)))
        return (token, Attempt(*numbers)) if magic == MAGIC else None

    async def header(self) -> tuple[bytes, int]:
        """The kind and the length of the next message; raises as `hello` does."""
        kind, length = struct.unpack(HEADER, await self.exactly(struct.calcsize(HEADER)))
        return kind, length

    async def exactly(self, size: int) -> bytearray:
        """Exactly `size` bytes; raises as `hello` does."""
        received = bytearray(size)
        left = memoryview(received)
        while left:
            count = await self._socket.recv_into(left)
            if not count:
                raise EOFError
            left = left[count:]
        return received

    async def say(self, word: bytes) -> None:
        """A word of one byte, which always fits; raises as `hello` does."""
        await self._socket.send(word)

    def keep_alive(self) -> None:
        """Let the system notice, within a minute, that the other machine is no more."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            option = getattr(socket, name, None)
            if option is not None:
                self._socket.setsockopt(socket.IPPROTO_TCP, option, value)

    def gone(self) -> bool:
        """Whether the other side has hung up, even if something that it sent has not been read yet."""
        hung_up: int | None = getattr(select, "POLLRDHUP", None)
        if hung_up is None:
            # Elsewhere than on Linux that is found when all has been read.
            return False
        poll = select.poll()
        poll.register(self._socket.fileno(), hung_up)
        return bool(poll.poll(0))


class Counted(list[Any]):
    """An accumulator's value in the driver, which hands on what is added to it, in a thread of Spark's."""

    def __init__(self, hear: Callable[[int, int], None]) -> None:
        super().__init__()
        self.hear: Callable[[int, int], None] | None = hear

    @override
    def __iadd__(self, told: Iterable[tuple[int, int]]) -> Self:
        for partition, task in told:
            if self.hear is not None:
                self.hear(partition, task)
        return self
