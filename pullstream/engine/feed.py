"""What a stream inside a module reads: the module's own input, or the part of it that is meant for this stream."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar

import trio
from typing_extensions import override

from pullstream.engine.kernel import Kernel
from pullstream.engine.lane import Lane
from pullstream.protocol import DONE, Batch, Done


class Feed(Kernel[Any]):
    """A source inside a module, whose times are those of an input of the module: what may come there may come here."""

    trusted: ClassVar[bool] = True

    def __init__(self, outer: Lane[Any]) -> None:
        self.outer = outer

    @override
    async def acquire(self) -> None:
        # Its times follow from those outside, and not from what it answers.
        self.origin = False

    def mirrored(self) -> Iterable[Hashable]:
        """The times that may still come in from outside."""
        return self.outer.arriving()


class Through(Feed):
    """Reads the input itself, for a stream that is alone below it; it passes on everything, endings too."""

    waits: ClassVar[bool] = False

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        return await self.outer.ask(limit)

    @override
    def acknowledged(self) -> None:
        self.outer.ack()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self.outer.terminate(reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self.outer.kernel.failure


class Queue(Feed):
    """Gives what it is given, which it holds until it has; `wanted` says how much is asked for and not there."""

    waits: ClassVar[bool] = True

    def __init__(self, outer: Lane[Any], changed: Callable[[], None]) -> None:
        super().__init__(outer)
        self._changed = changed
        self._row: deque[tuple[Hashable, Any]] = deque()
        self._ending: Done | BaseException | None = None
        self._given = trio.Event()
        self.wanted = 0

    def __len__(self) -> int:
        return len(self._row)

    def give(self, time: Hashable, value: Any) -> None:
        """Have a value given at `time`, after those before it."""
        self.seat.hold(time)
        self._row.append((time, value))
        self._given.set()

    def end(self, ending: Done | BaseException = DONE) -> None:
        """End, or fail, after what was given; the first ending counts."""
        if self._ending is None:
            self._ending = ending
            self._given.set()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        try:
            while not self._row:
                if isinstance(self._ending, BaseException):
                    raise self._ending
                if self._ending is not None:
                    return DONE
                self.wanted = limit
                self._changed()
                self._given = trio.Event()
                await self._given.wait()
        finally:
            self.wanted = 0
        time = self._row[0][0]
        values: list[Any] = []
        while self._row and len(values) < limit and self._row[0][0] == time:
            values.append(self._row.popleft()[1])
            self.seat.drop(time)
        return Batch(time, values)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._ending
