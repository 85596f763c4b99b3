"""`handshake`: a few words with the other side before the streams begin."""

from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Annotated, Any, NoReturn

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Instance, Module, OfOneRun, Seconds, Sink, Site, Source, checked, checks
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.outbox import StreamEnd
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.traits import Traits
from pullstream.errors import Abandoned, AskTimeout, Ended, ReuseError, without_cancelled
from pullstream.modules.handles.duplex import Duplex
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")


class Talk(OfOneRun):
    """A talk of a handshake with the other side: reads what it says, value by value or cut, and says something."""

    def __init__(self, site: Site, talk: Callable[["Talk"], Awaitable[object]], timeout: float) -> None:
        self._site = site
        self._talk = talk
        self._timeout = timeout
        self._listening: Listening | None = None
        self._speaking: Speaking | None = None
        self._said: deque[Any] = deque()
        self._rest: deque[Any] = deque()
        self._time: Hashable = 0
        self.over = StreamEnd()
        """The ending of the talk."""
        self._moved = trio.Event()

    def __repr__(self) -> str:
        return getattr(self._talk, "__name__", repr(self._talk))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"handshake, made at {self._site}, cannot be pickled: it is a handle, and belongs to one run")

    # ---- for the one who talks

    async def read(self) -> Any:
        """The next value that the other side says.

        Raises:
            Ended: it says nothing more.
        """
        if self._rest:
            return self._rest.popleft()
        listening = self._listening
        assert listening is not None, "only what listens starts the talk"
        batch = await listening.upstream.ask(1)
        if batch is DONE:
            raise Ended(f"the other side ended in the middle of the handshake made at {self._site}")
        self._time = batch.time
        return batch.values[0]

    async def read_bytes(self, count: int) -> bytes:
        """The next `count` bytes; what comes with them and is more stays to be read. Raises what `read` raises."""
        data = bytearray()
        while len(data) < count:
            data += await self.read()
        self._put_back(bytes(data[count:]))
        return bytes(data[:count])

    async def read_line(self, end: bytes = b"\n", most: int = 8192) -> bytes:
        """The bytes before the next `end`, which is left out; raises what `read` raises.

        Raises:
            Ended: there is none in the next `most` bytes.
        """
        data = b""
        while (length := data.find(end)) < 0 and len(data) <= most:
            data += await self.read()
        # However it comes, also in one piece with its end.
        if not 0 <= length <= most:
            raise Ended(f"no line of at most {most} bytes came in the handshake made at {self._site}")
        self._put_back(data[length + len(end) :])
        return data[:length]

    async def write(self, value: Any) -> None:
        """Say something; returns when it has been asked for.

        Raises:
            Ended: the other side does not listen any more.
        """
        self._said.append(value)
        self._move()
        while self._said and not self.over.known:
            await self._wait()
        if self._said:
            raise Ended(f"the other side left in the middle of the handshake made at {self._site}")

    def _put_back(self, rest: bytes) -> None:
        if rest:
            self._rest.appendleft(rest)

    # ---- for the two directions

    def listen(self, listening: "Listening") -> None:
        """The direction that is read is opened."""
        if self._listening is not None:
            raise self._reused()
        self._listening = listening

    def speak(self, speaking: "Speaking") -> None:
        """The direction that is written is opened."""
        if self._speaking is not None:
            raise self._reused()
        self._speaking = speaking

    def _reused(self) -> ReuseError:
        return ReuseError(f"handshake, made at {self._site}, was opened a second time: make another one for each run")

    async def run(self) -> None:
        """Run the talk, and end it for both directions."""
        try:
            with trio.move_on_after(self._timeout) as scope:
                await self._talk(self)
            if scope.cancelled_caught:
                self.end(
                    AskTimeout(
                        f"the handshake made at {self._site} did not come to its end within {self._timeout} s: look at "
                        f"what each side waits for, or give it longer with timeout=",
                    )
                )
        except BaseException as exc:
            rest = without_cancelled(exc)
            self.end(rest or Abandoned(f"the handshake made at {self._site} was broken off"))
            if rest is None:
                raise
        else:
            self.end(DONE)

    def end(self, how: Done | BaseException) -> None:
        """The talk is over; the first way counts."""
        self.over.end(how)
        self._move()
        if self._listening is not None:
            self._listening.wake()

    @property
    def left(self) -> bool:
        """Whether anything that was read by the talk is left over."""
        return bool(self._rest)

    def heard(self, limit: int) -> Batch[Any] | None:
        """The values that the talk read and left over."""
        if not self._rest:
            return None
        return Batch(self._time, [self._rest.popleft() for _ in range(min(limit, len(self._rest)))])

    async def said(self, limit: int) -> list[Any]:
        """The values said to the other side; none, once the talk is over."""
        while not self._said and not self.over.known:
            await self._wait()
        values = [self._said.popleft() for _ in range(min(limit, len(self._said)))]
        self._move()
        return values

    def _move(self) -> None:
        self._moved.set()

    async def _wait(self) -> None:
        if self._moved.is_set():
            self._moved = trio.Event()
        await self._moved.wait()


class Listening(TaskKernel[Any]):
    """The source of what the other side says after the talk, which is had at the first ask."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        talk.listen(self)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.start(self._talk.run)

    def wake(self) -> None:
        """The talk is over."""
        if hasattr(self, "_changed"):
            self.changed()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._talk.over.reached():
            await self.change(outside=True)
        heard = self._talk.heard(limit)
        if heard is not None:
            if not self._talk.left:
                self.upstream.settle()
            return heard
        answer = await self.upstream.ask_many(limit)
        self.upstream.settle()
        return answer

    @override
    def halt(self) -> None:
        super().halt()
        self._talk.end(Abandoned("the handshake was broken off: its reader has left"))


class Speaking(Kernel[Any]):
    """The source of what is said in the talk, and then of what comes from upstream."""

    traits = Traits(trusted=True)

    def __init__(self, talk: Talk, time: Hashable) -> None:
        self._talk = talk
        self._time = time
        self._talking = True
        talk.speak(self)

    @override
    async def acquire(self) -> None:
        # Until the talk is over it may speak before anything upstream does.
        self.location.hold(BEGINNING)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._talking:
            values = await self._talk.said(limit)
            if values:
                return Batch(self._time, values)
            self._talk.over.reached()
            self._talking = False
            self.location.drop(BEGINNING)
        answer = await self.upstream.ask_many(limit)
        self.upstream.settle()
        return answer

    @override
    async def release(self) -> None:
        self._talk.end(Ended("the handshake was broken off: the other side does not listen any more"))


@checked
def handshake(
    peer: Annotated[Duplex[A, B, R], Instance(Duplex, "talks over a duplex")],
    talk: Annotated[Callable[[Talk], Awaitable[object]], checks.function],
    *,
    timeout: Seconds = 5.0,
    time: Hashable = 0,
) -> Duplex[A, B, R]:
    r"""Talk with the other side first, then hand over what follows: a duplex of what it says after that.

    `talk` is an async function of one argument, with which it reads and writes: `read()`, `read_bytes(n)`,
    `read_line()`, `write(value)`. What it has read too much (the rest of a chunk) comes first in what follows.

    >>> import trio, pullstream as ps
    >>> async def ask_for_version(io):
    ...     await io.write(b"version?\n")
    ...     assert await io.read_line() == b"2"
    >>> async def tell_version(io):
    ...     assert await io.read_line() == b"version?"
    ...     await io.write(b"2\nand ")
    >>> async def main():
    ...     client, server = ps.duplex_pair()
    ...     client, server = ps.handshake(client, ask_for_version), ps.handshake(server, tell_version)
    ...     here = ps.connect(client, ps.Duplex(ps.values([b"ping"]), ps.collect()))
    ...     there = ps.connect(server, ps.Duplex(ps.values([b"pong"]), ps.collect()))
    ...     async with here.open() as one, there.open() as other:
    ...         return await one.result(), await other.result()
    >>> trio.run(main)
    (([b'and ', b'pong'], None), ([b'ping'], None))

    The talk begins when what follows is first asked for. What it writes is at `time`. It may take `timeout` seconds;
    if it takes longer, or raises, both directions fail, and the other side is told why. A side that ends during the
    talk is `Ended` for the one who reads or writes.

    It belongs to one run: a second is refused with `ReuseError`, and so is pickling.

    Raises:
        AskTimeout: the talk took too long (as the streams' failure).
    """
    shared = Talk(Site.here(), talk, timeout)
    listening = Module("handshake", Listening, (shared,))
    speaking = Module("handshake", Speaking, (shared, time))
    return Duplex(
        Source[A]((*peer.source.modules, listening)),
        Sink[B, R]((speaking, *peer.sink.modules)),
    )
