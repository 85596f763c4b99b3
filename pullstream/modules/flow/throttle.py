"""`throttle`, `debounce` and `sample`: later values replace earlier ones, by the clock."""

from abc import abstractmethod
from collections.abc import Hashable
from math import inf
from typing import Any

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Seconds
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.eventful import Eventful
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.waiting import Requests
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done, Reader


@attrs.define(eq=False)
class Latest:
    """The latest value at one logical time, until it is answered or replaced."""

    value: Any
    came: float
    final: bool = False


class KeepLatest(Kernel[Any]):
    """Reads continuously, and keeps the latest value of each logical time; a subclass decides when it is due.

    When a time is complete at the input, nothing can replace its value any more, so it is due whatever the clock says.
    Until it is answered, nothing more is read. So at most one value is kept per incomplete time, plus one.
    """

    traits = Traits(trusted=True, reorders=True, asks_apart=True, clocked=True)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.came = self.answered = -inf
        """The moments of the latest arrival and of the latest answer."""
        self._kept: dict[Hashable, Latest] = {}
        self._given: tuple[Hashable, Any] | None = None
        self._waited_for = False

    @abstractmethod
    def due(self, kept: Latest) -> float:
        """Give the moment at which a kept value is due."""

    @override
    def placed(self) -> None:
        self._pace = Pace(self.run)
        self.events = Eventful(
            self.scope, self.location, self.upstream, Requests(), arrived=self._arrived, many=True, pace=self._pace
        )
        self._input = Input(self.upstream)

    @override
    async def acquire(self) -> None:
        self.began = trio.current_time()

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
            if self._given is None:
                self._given = self._pick()
            if self._given is not None:
                (time, value), self._given = self._given, None
                self.location.drop(time)
                return Batch(time, [value])
            if self._input.known:
                return self._input.reached() or DONE
            self._waited_for = True
            deadline = min(map(self.due, self._kept.values()), default=inf)
            await self.events.wait(deadline=deadline, outside=bool(self._kept))
            self._waited_for = False

    def _pick(self) -> tuple[Hashable, Any] | None:
        now = trio.current_time()
        for time, kept in self._kept.items():
            if kept.final or self._input.known or self.due(kept) <= now:
                del self._kept[time]
                self.events.requests.pop(time, None)
                self.answered = now
                return time, kept.value
        return None

    def _read_on(self) -> None:
        """Take what has arrived, run by run, then ask for more. A value that nothing can replace is answered first."""
        while not (self._input.known or any(kept.final for kept in self._kept.values())):
            if not self._input:
                # A waiting ask that has its value goes first: its consumer may need no more.
                if not self._waited_for or self._given is None:
                    self.events.ask(self.run.limit)
                return
            # A value that is due now is given, whether the tick or its replacement came first.
            self._give()
            now, time = trio.current_time(), self._input.first
            for value in self._input.take_run(self._input.left).values:
                self._take(time, value, now)
            self._settle()

    def _arrived(self, _: Reader[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if isinstance(answer, Batch):
            self._pace.took()
            self._input.put(answer)
            self._read_on()
        else:
            self._input.end(answer)
        self.events.wake()

    def _take(self, time: Hashable, value: Any, now: float) -> None:
        kept = self._kept.get(time)
        if kept is None:
            self.location.hold(time)
            self.events.requests[time] = False
            self._kept[time] = Latest(value, now)
        else:
            kept.value, kept.came = value, now
        self.came = now
        self._give()

    def _give(self) -> None:
        if self._waited_for and self._given is None:
            # An ask is waiting: it gets the value that is due now, which must not be replaced before the ask resumes.
            self._given = self._pick()

    def _settle(self) -> None:
        """Mark the times that are complete."""
        while self.events.requests and (complete := self.events.complete()):
            for time in complete:
                del self.events.requests[time]
                self._kept[time].final = True


class _Throttle(KeepLatest):
    @override
    def due(self, kept: Latest) -> float:
        return self.answered + self.seconds


class _Debounce(KeepLatest):
    @override
    def due(self, kept: Latest) -> float:
        return self.came + self.seconds


class _Sample(KeepLatest):
    @override
    def due(self, kept: Latest) -> float:
        # A value that arrives exactly at a tick counts for the next one, whichever is processed first.
        tick = int((kept.came - self.began) / self.seconds)
        while self.began + tick * self.seconds <= kept.came:
            tick += 1
        return self.began + tick * self.seconds


@transformer
def throttle(seconds: Seconds) -> Same[V]:
    """Give at most one value in any `seconds`: the first at once, then the latest of each period; drop the others.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.throttle(60), ps.collect()))
    ['a', 'c']

    `debounce` waits for a pause, `sample` follows the ticks of a clock, and `rate_limit` drops nothing.

    A kept value is given no later than the end of the stream, or before its failure. Periods follow trio's clock, even
    while upstream is silent. Upstream is read continuously, whether values are asked for or not, and a later value
    replaces one that was not asked for yet: back-pressure ends here.

    Logical times do not mix: a value is replaced only by a later value at the same time. When a time is complete, its
    last value is given, whatever the clock says. A kept value is held at its time.
    """
    return opens(_Throttle(seconds))


@transformer
def debounce(seconds: Seconds) -> Same[V]:
    """Give the latest value once no other has arrived for `seconds`: the last of every burst; drop the others.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.debounce(60), ps.collect()))
    ['c']

    The end of the stream, back-pressure and logical times are handled as in `throttle`.
    """
    return opens(_Debounce(seconds))


@transformer
def sample(seconds: Seconds) -> Same[V]:
    """Give the latest value every `seconds`, if one arrived since the last tick; drop the others.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.sample(60), ps.collect()))
    ['c']

    The clock starts at the first ask. A value that arrives exactly at a tick counts for the next one. The end of the
    stream, back-pressure and logical times are handled as in `throttle`.
    """
    return opens(_Sample(seconds))
