"""`handshake`: an exchange with the other side before the streams begin."""

from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Annotated, Any

import trio
from typing_extensions import override

from pullstream.blueprint import Instance, Module, OfOneRun, Seconds, Sink, Source, checked, checks
from pullstream.blueprint.variables import A, B, R
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.traits import Traits
from pullstream.errors import Abandoned, AskTimeout, Ended, ReuseError, without_cancelled
from pullstream.modules.handles.duplex import Duplex
from pullstream.modules.handles.handle import Held, run_of
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING


class Talk(Held, OfOneRun):
    """The conversation of a handshake: reads from the other side, by value or by bytes, and writes to it."""

    def __init__(self, talk: Callable[["Talk"], Awaitable[object]], timeout: float) -> None:
        super().__init__("handshake")
        self._talk = talk
        self._timeout = timeout
        self._directions: dict[type[Kernel[Any]], Kernel[Any]] = {}
        self._out, self.written = trio.open_memory_channel[Any](0)
        """The values that the conversation writes: each waits until the other side asks for it."""
        self._time: Hashable = 0
        self.unread = Backlog()
        """The rest of what the conversation has read."""
        self.over = Backlog()
        """The ending of the conversation."""

    @override
    def __repr__(self) -> str:
        return getattr(self._talk, "__name__", repr(self._talk))

    # ---- for the conversation

    async def read(self) -> Any:
        """Read the next value from the other side.

        Raises: Ended: the other side has ended.
        """
        if self.unread:
            return self.unread.take(1).values[0]
        batch: Batch[Any] | Done = await self._directions[Listening].upstream.ask(1)
        if batch is DONE:
            raise Ended(f"the other side ended during the handshake made at {self.site}")
        self._time = batch.time
        return batch.values[0]

    async def read_bytes(self, count: int) -> bytes:
        """Read the next `count` bytes; further bytes of the chunk remain to be read. Raises the errors of `read`."""
        data = bytearray()
        while len(data) < count:
            data += await self.read()
        self._put_back(bytes(data[count:]))
        return bytes(data[:count])

    async def read_line(self, end: bytes = b"\n", most: int = 8192) -> bytes:
        """Read the bytes up to the next `end`, without it. Raises the errors of `read`.

        Raises: Ended: there is no `end` in the next `most` bytes.
        """
        data = b""
        while (length := data.find(end)) < 0 and len(data) <= most:
            data += await self.read()
        # Applies even if the line arrives in one chunk with its end.
        if not 0 <= length <= most:
            raise Ended(f"the handshake made at {self.site} got no line end within {most} bytes")
        self._put_back(data[length + len(end) :])
        return data[:length]

    async def write(self, value: Any) -> None:
        """Write a value; return when the other side has asked for it.

        Raises: Ended: the other side no longer reads.
        """
        try:
            await self._out.send(value)
        except trio.ClosedResourceError:
            raise Ended(f"the other side left during the handshake made at {self.site}") from None

    def _put_back(self, rest: bytes) -> None:
        if rest:
            self.unread.put(Batch(self._time, [rest]))

    # ---- for the two directions

    def join(self, direction: Kernel[Any]) -> None:
        """Set the reading or the writing direction, when it is opened; the reading one starts the conversation."""
        if self._directions.setdefault(type(direction), direction) is not direction:
            raise ReuseError(f"{self}, was opened a second time. Make another one for each run")

    @override
    def give_back(self, run: object) -> None:
        self._directions = {kind: kernel for kind, kernel in self._directions.items() if run_of(kernel) is not run}

    async def run(self) -> None:
        """Run the conversation, and end it for both directions."""
        try:
            with trio.move_on_after(self._timeout) as scope:
                await self._talk(self)
            if scope.cancelled_caught:
                self.end(
                    AskTimeout(
                        f"the handshake made at {self.site} did not finish within {self._timeout} s. Check what each "
                        f"side waits for, or allow more time with timeout="
                    )
                )
        except BaseException as exc:
            rest = without_cancelled(exc)
            self.end(rest or Abandoned(f"the handshake made at {self.site} was broken off"))
            if rest is None:
                raise
        else:
            self.end(DONE)

    def end(self, how: Done | BaseException) -> None:
        """End the conversation; the first call counts."""
        self.over.end(how)
        self._out.close()
        if isinstance(listening := self._directions.get(Listening), Listening):
            listening.changed()


class Listening(TaskKernel[Any]):
    """The source of incoming values after the conversation, which starts at the first ask."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        talk.join(self)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.start(self._talk.run)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._talk.over.reached():
            await self.change(outside=True)
        if self._talk.unread:
            self.upstream.settle()
            return self._talk.unread.take(limit)
        answer = await self.upstream.ask_many(limit)
        self.upstream.settle()
        return answer

    @override
    def halt(self) -> None:
        super().halt()
        self._talk.end(Abandoned("the handshake was broken off: its reader has left"))


class Speaking(Kernel[Any]):
    """The source of outgoing values: those of the conversation first, then those from upstream."""

    traits = Traits(trusted=True)

    def __init__(self, talk: Talk, time: Hashable) -> None:
        self._talk = talk
        self._time = time
        self._talking = True
        talk.join(self)

    @override
    async def acquire(self) -> None:
        # Until the conversation has ended, it may write values before any from upstream.
        self.location.hold(BEGINNING)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._talking:
            with suppress(trio.EndOfChannel):
                try:
                    value = self._talk.written.receive_nowait()
                except trio.WouldBlock:
                    value = await self._talk.written.receive()
                return Batch(self._time, [value])
            self._talk.over.reached()
            self._talking = False
            self.location.drop(BEGINNING)
        answer = await self.upstream.ask_many(limit)
        self.upstream.settle()
        return answer

    @override
    async def release(self) -> None:
        self._talk.end(Ended("the handshake was broken off: the other side no longer reads"))


@checked
def handshake(
    peer: Annotated[Duplex[A, B, R], Instance(Duplex, "needs a duplex")],
    talk: Annotated[Callable[[Talk], Awaitable[object]], checks.function],
    *,
    timeout: Seconds = 5.0,
    time: Hashable = 0,
) -> Duplex[A, B, R]:
    r"""Exchange messages with the other side first; return a duplex of the values that follow.

    `talk` is an async function with one argument, through which it reads and writes: `read()`, `read_bytes(n)`,
    `read_line()`, `write(value)`. Data that it has read but not used (the rest of a chunk) comes first in the new
    source.

    >>> import trio, pullstream as ps
    >>> async def ask_for_version(io):
    ...     await io.write(b"version?\n")
    ...     assert await io.read_line() == b"2"
    >>> async def tell_version(io):
    ...     assert await io.read_line() == b"version?"
    ...     await io.write(b"2\nand ")
    >>> async def main():
    ...     client, server = ps.duplex.duplex_pair()
    ...     client, server = ps.duplex.handshake(client, ask_for_version), ps.duplex.handshake(server, tell_version)
    ...     here = ps.duplex.connect(client, ps.duplex.Duplex(ps.values([b"ping"]), ps.collect()))
    ...     there = ps.duplex.connect(server, ps.duplex.Duplex(ps.values([b"pong"]), ps.collect()))
    ...     async with here.open() as one, there.open() as other:
    ...         return await one.result(), await other.result()
    >>> trio.run(main)
    (([b'and ', b'pong'], None), ([b'ping'], None))

    The exchange begins when the new source is first asked. Its values are written at `time`. If it raises, or takes
    longer than `timeout` seconds, both directions fail, and the other side is notified of the reason. If a side ends
    during the exchange, reads and writes of the other raise `Ended`.

    It belongs to one run, and cannot be pickled. A second run is refused with `ReuseError`.

    Raises: AskTimeout: the exchange took too long (raised by the streams).
    """
    shared = Talk(talk, timeout)
    listening = Module("handshake", Listening, (shared,))
    speaking = Module("handshake", Speaking, (shared, time))
    return Duplex(Source[A]((*peer.source.modules, listening)), Sink[B, R]((speaking, *peer.sink.modules)))
