"""`throttle`, `debounce`, `sample`: values are replaced by later ones, by the clock."""

from abc import abstractmethod
from collections.abc import Hashable
from math import inf
from typing import Any

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Seconds
from pullstream.blueprint.parts import Same
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.eventful import Eventful
from pullstream.engine.parts.outbox import StreamEnd
from pullstream.engine.sidecar.waiting import Requests
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A", default=Any)


@attrs.define(eq=False)
class Latest:
    """The latest value at one logical time, until it is answered or replaced."""

    value: Any
    came: float
    final: bool = False


class KeepLatest(Kernel[Any]):
    """Reads on and on, and keeps the latest value of each logical time; a subclass says when it is due.

    When its time is complete at the input, so that nothing can replace it any more, it is due whatever the clock says;
    and until it is answered, nothing more is read. So as many are kept as there are incomplete times, and one.
    """

    traits = Traits(trusted=True, reorders=True, asks_apart=True, clocked=True)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._kept: dict[Hashable, Latest] = {}
        self._given: tuple[Hashable, Any] | None = None
        self._waited_for = False
        self._end = StreamEnd()

    # ---- for subclasses

    def began(self, now: float) -> None:
        """The first ask is here."""

    @abstractmethod
    def due(self, kept: Latest, now: float) -> bool:
        """Whether a value may be answered now."""

    @abstractmethod
    def deadline(self) -> float:
        """The moment at which a value that is kept will be due."""

    def came(self, now: float) -> None:
        """A value has arrived."""

    def passed(self, now: float) -> None:
        """A value is answered."""

    # ----

    @override
    def placed(self) -> None:
        self.events = Eventful(self.scope, self.location, self.upstream, Requests(), arrived=self._arrived)

    @override
    async def acquire(self) -> None:
        self.began(trio.current_time())

    @override
    def halt(self) -> None:
        self.events.end()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            self._settle()
            if self._given is None:
                self._given = self._pick()
            self._read_on()
            if self._given is not None:
                (time, value), self._given = self._given, None
                self.location.drop(time)
                return Batch(time, [value])
            if self._end.known:
                return self._end.reached() or DONE
            self._waited_for = True
            deadline = self.deadline() if self._kept else inf
            await self.events.wait(deadline=deadline, outside=bool(self._kept))
            self._waited_for = False

    def _pick(self) -> tuple[Hashable, Any] | None:
        now = trio.current_time()
        for time, kept in self._kept.items():
            if kept.final or self._end.known or self.due(kept, now):
                del self._kept[time]
                self.events.requests.pop(time, None)
                self.passed(now)
                return time, kept.value
        return None

    def _read_on(self) -> None:
        if not self._end.known and not any(kept.final for kept in self._kept.values()):
            self.events.ask(self.run.limit)

    def _arrived(self, answer: Batch[Any] | Done | BaseException) -> None:
        if isinstance(answer, Batch):
            now = trio.current_time()
            # What is due in this very moment goes out, whichever came first: the tick, or what would replace it.
            self._give()
            for value in answer.values:
                self._take(answer.time, value, now)
            self.upstream.settle()
            self._settle()
            self._read_on()
        else:
            self._end.end(answer)
        self.events.wake()

    def _take(self, time: Hashable, value: Any, now: float) -> None:
        kept = self._kept.get(time)
        if kept is None:
            self.location.hold(time)
            self.events.requests[time] = False
            self._kept[time] = Latest(value, now)
        else:
            kept.value, kept.came = value, now
        self.came(now)
        self._give()

    def _give(self) -> None:
        if self._waited_for and self._given is None:
            # Somebody waits: what is due now is his, and cannot be replaced before he is back.
            self._given = self._pick()

    def _settle(self) -> None:
        """Find the times that are complete."""
        while self.events.requests and (complete := self.events.complete()):
            for time in complete:
                del self.events.requests[time]
                self._kept[time].final = True


class _Throttle(KeepLatest):
    _next = -inf

    @override
    def due(self, kept: Latest, now: float) -> bool:
        return now >= self._next

    @override
    def deadline(self) -> float:
        return self._next

    @override
    def passed(self, now: float) -> None:
        self._next = now + self.seconds


class _Debounce(KeepLatest):
    _last = -inf

    @override
    def came(self, now: float) -> None:
        self._last = now

    @override
    def due(self, kept: Latest, now: float) -> bool:
        return now >= self._last + self.seconds

    @override
    def deadline(self) -> float:
        return self._last + self.seconds


class _Sample(KeepLatest):
    @override
    def began(self, now: float) -> None:
        self._first = now
        self._ticks = 0

    @override
    def due(self, kept: Latest, now: float) -> bool:
        self._count(now)
        # What comes in the very moment of a tick is for the next one, whichever of the two is first.
        return kept.came < self._first + self._ticks * self.seconds

    @override
    def deadline(self) -> float:
        self._count(trio.current_time())
        return self._first + (self._ticks + 1) * self.seconds

    def _count(self, now: float) -> None:
        self._ticks = max(self._ticks, int((now - self._first) / self.seconds))
        while self._first + (self._ticks + 1) * self.seconds <= now:
            self._ticks += 1


@transformer
def throttle(seconds: Seconds) -> Same[A]:
    """Give the first value at once, and after any value nothing for so many seconds, then the latest that came.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.throttle(60), ps.collect()))
    ['a', 'c']

    What is kept goes out at the latest when the stream ends or, before its failure, fails. It fires on trio's clock,
    also while upstream is silent. It reads on whether anybody asks or not, and what nobody has asked for yet is
    replaced as well: back-pressure ends here.

    Logical times are never mixed: a value is replaced by a later one at the same time only, and when its time is
    complete the last value at it goes out, whatever the clock says. What is kept is held at its time.
    """
    return opens(_Throttle(seconds))


@transformer
def debounce(seconds: Seconds) -> Same[A]:
    """Give a value when so many seconds have passed without another: the last one of every burst.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.debounce(60), ps.collect()))
    ['c']

    Ends, back-pressure and logical times: as `throttle`.
    """
    return opens(_Debounce(seconds))


@transformer
def sample(seconds: Seconds) -> Same[A]:
    """Give, every so many seconds from the first ask on, the latest value, if one came since the last tick.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.sample(60), ps.collect()))
    ['c']

    What comes in the very moment of a tick is for the next one. Ends, back-pressure and logical times: as `throttle`.
    """
    return opens(_Sample(seconds))
