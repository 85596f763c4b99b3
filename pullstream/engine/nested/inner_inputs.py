"""The sources of inner streams: a module's own input, or the portion of it that belongs to one inner stream."""

from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Any

from typing_extensions import override

from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.waking import Waking
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered


class Feed(Kernel[Any]):
    """A source inside a module that mirrors the times of one of the module's inputs."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, outer: Lane[Any]) -> None:
        self.outer = outer

    def mirrored(self) -> Iterable[Hashable]:
        """The times that may still come in from the outer input."""
        return self.outer.arriving()


class Through(Feed, PolledKernel[Any]):
    """Reads the input itself, for the only stream inside. It passes on everything, terminations included."""

    traits = Traits(waits=False, trusted=True, follows=True)

    @override
    def placed(self) -> None:
        self.edge.beyond = [self.outer.edge]

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        answer = self.outer.poll(limit)
        if isinstance(answer, Batch):
            self.outer.settle()
        elif answer is DONE:
            self.edge.beyond = ()
        return answer

    @override
    def wait(self) -> Awaitable[None]:
        return self.outer.ready()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self.outer.terminate(reason)


class Queue(Waking[Any], PolledKernel[Any]):
    """A source inside a module that answers the values put into it, and holds their times until then.

    `wanted` is the limit of an ask that waits for values. `tell` is called when an ask begins to wait, and when no
    values are left.
    """

    traits = Traits(trusted=True)

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._given = Backlog(self)
        self._limit = 0
        self.wanted = 0

    def __len__(self) -> int:
        return self._given.left if self.edge.open else 0

    def give(self, time: Hashable, value: Any) -> None:
        """Append a value at `time`."""
        self._given.put(Batch(time, [value]))
        self.wanted = 0
        self.changed()

    def end(self, ending: Done | BaseException = DONE) -> None:
        """End or fail after the values put in so far; the first ending counts."""
        self._given.end(ending)
        self.wanted = 0
        self.changed()

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        self._limit = limit
        answer = self._given.answer(limit)
        if isinstance(answer, Batch) and not self._given:
            self._tell()
        return answer or WAIT

    @override
    def wait(self) -> Awaitable[None]:
        more = self.run.signal()
        self.__wakes__(more.set)
        return more.wait()

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        self.call_at_change(wake)
        self.wanted = self._limit
        self._tell()
        return True

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._given.ending


class Portion(Queue, Feed):
    """A queue of values from the outer input, at their times."""

    traits = Feed.traits

    def __init__(self, outer: Lane[Any], tell: Callable[[], None]) -> None:
        Queue.__init__(self, tell)
        self.outer = outer
