"""`throttle`, `debounce` and `sample`: later values replace earlier ones, by the clock."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from math import inf
from typing import Any

import trio
from typing_extensions import override

from pullstream.blueprint import Emits, Seconds
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.eventful import Completed, Eventful
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.waiting import Requests
from pullstream.engine.traits import Traits
from pullstream.protocol import WAIT, Batch, Done, Reader, Unanswered


class _KeepLatest(PolledKernel[Any]):
    """Reads continuously, and keeps the latest value of each logical time, until it is due.

    `due` returns the moment at which a value that arrived at the given moment is due.

    When a time is complete at the input, nothing can replace its value, so it is due whatever the clock says.
    Until it is emitted, nothing more is read, unless an ask wants more. So at most one value is kept per incomplete
    time, plus one.
    """

    traits = Traits(trusted=True, reorders=True, asks_apart=True, clocked=True)

    def __init__(self, seconds: float, due: Callable[["_KeepLatest", float], float]) -> None:
        self.seconds = seconds
        self._due = due
        self.arrival = self.answered = -inf
        """The moments of the latest arrival and of the latest answer."""
        self._kept: dict[Hashable, tuple[float, Any]] = {}
        """The latest value at each logical time, until it is emitted, with the moment of its arrival."""
        self._arrivals = OrderedDict[Hashable, None]()
        """The same times in the order of these moments, so also of the moments at which the values are due."""
        self._ready = Backlog(self)
        self._wanted = 0
        """The limit of the waiting ask; 0 if none waits."""
        self._coming: Iterator[Batch[Any] | Completed] = iter(())
        """The rest of the arrived values, with the completions among them."""

    @override
    def placed(self) -> None:
        self._pace = Pace(self.run)
        self.events = Eventful(
            self.scope, self.location, self.upstream, Requests(), arrived=self._arrived, many=True, pace=self._pace
        )
        self._input = Backlog()

    @override
    async def acquire(self) -> None:
        self.began = trio.current_time()

    @override
    def halt(self) -> None:
        self.events.end()
        self.events.wake()

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        self._limit = limit
        self._give_complete()
        self._give_due()
        # One more value than the answer takes: between the answer and the return, no frontier may be read.
        self._go_on(limit + 1)
        self._give_due()
        answer = self._ready.answer(limit)
        if answer is not None:
            self.answered = trio.current_time()
        self._ask_on()
        return answer or WAIT

    @override
    async def wait(self) -> None:
        self._wanted = self._limit
        await self.events.wait(deadline=self._next_due())
        self._wanted = 0

    def _arrived(self, _: Reader[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if isinstance(answer, Batch):
            self._pace.took()
            self._input.put(answer)
            self._coming = iter((answer,)) if answer.uniform else self.events.apart(answer)
            if self._wanted:
                # A value that is due now is emitted, even if its replacement was processed before the tick.
                self._give_due()
            self._give_complete()
            self._go_on(self._wanted or 1)
            self._ask_on()
        else:
            for time in list(self._kept):
                self._give(time)
            self._ready.end(answer)
        self.events.wake()

    def _go_on(self, limit: int) -> None:
        """Process arrived values until `limit` values are ready."""
        now = trio.current_time()
        while self._input and self._ready.left < limit:
            event = next(self._coming)
            if isinstance(event, Completed):
                self._give(event.time)
                continue
            self.arrival = now
            values = self._input.take_run(len(event.values)).values
            # A waiting ask gets the first value if that is due now; values between the first and the last never are.
            for value in (values[0], values[-1]) if len(values) > 1 else values:
                self._keep(event.time, value, now)
        if self._input:
            self.upstream.ack_before(self._input.least)
        else:
            self.upstream.settle()

    def _ask_on(self) -> None:
        # A waiting ask whose value is ready goes first: its consumer may need no more.
        if not (self._ready or self._ready.known):
            self.events.ask(self.run.limit)

    def _keep(self, time: Hashable, value: Any, now: float) -> None:
        if time not in self._kept:
            self.location.hold(time)
            self.events.requests[time] = False
        self._kept[time] = now, value
        self._arrivals[time] = None
        self._arrivals.move_to_end(time)
        if self._wanted and not self._ready and self._due(self, now) <= now:
            self._give(time)

    def _give(self, time: Hashable) -> None:
        """Make the value of a time ready; nothing replaces it from now on."""
        self.events.requests.pop(time, None)
        self._ready.put(Batch(time, [self._kept.pop(time)[1]]))
        del self._arrivals[time]
        self.location.drop(time)

    def _give_complete(self) -> None:
        """Make the values of all complete times ready."""
        while self.events.requests and (complete := self.events.complete()):
            for time in complete:
                self._give(time)

    def _give_due(self) -> None:
        """Make the first value that is due now ready, unless another is ready."""
        now = trio.current_time()
        if not self._ready and self._next_due() <= now:
            # The one that was first kept: by arrival, one that is replaced often would never get its turn.
            self._give(next(time for time, (at, _) in self._kept.items() if self._due(self, at) <= now))

    def _next_due(self) -> float:
        for time in self._arrivals:
            return self._due(self, self._kept[time][0])
        return inf


def tick_after(moment: float, start: float, every: float) -> int:
    """Return the number of the first tick after a moment; tick 0 is at `start`, the others `every` seconds apart.

    A value that arrives exactly at a tick counts for the next one, whichever is processed first.
    """
    tick = int((moment - start) / every)
    while start + tick * every <= moment:
        tick += 1
    return tick


def _next_tick(module: _KeepLatest, arrival: float) -> float:
    return module.began + tick_after(arrival, module.began, module.seconds) * module.seconds


@transformer
@Emits.AT_ONCE
def throttle(seconds: Seconds) -> Same[V]:
    """Emit at most one value in any `seconds`: the first at once, then the latest of each period; drop the others.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.throttle(60), ps.collect()))
    ['a', 'c']

    `debounce` waits for a pause, `sample` follows the ticks of a clock, and `rate_limit` drops nothing.

    A kept value is emitted no later than the end of the stream, or before its failure. Periods follow trio's clock,
    even while upstream is silent. While a function upstream blocks, nothing is emitted, so a value may be late, or
    replaced by the next one: call such a function with `map_thread`. Upstream is read continuously, whether values are
    asked for or not, and a later value replaces one that was not asked for yet: back-pressure ends here.

    Logical times do not mix: a value is replaced only by a later value at the same time. When a time is complete, its
    last value is emitted, whatever the clock says. A kept value is held at its time.
    """
    return opens(_KeepLatest(seconds, lambda module, _: module.answered + module.seconds))


@transformer
@Emits.AT_ONCE
def debounce(seconds: Seconds) -> Same[V]:
    """Emit the latest value once no other has arrived for `seconds`: the last of every burst; drop the others.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.debounce(60), ps.collect()))
    ['c']

    The end of the stream, back-pressure and logical times are handled as in `throttle`.
    """
    return opens(_KeepLatest(seconds, lambda module, _: module.arrival + module.seconds))


@transformer
@Emits.AT_ONCE
def sample(seconds: Seconds) -> Same[V]:
    """Emit the latest value every `seconds`, if one arrived since the last tick; drop the others.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.sample(60), ps.collect()))
    ['c']

    The clock starts at the first ask. A value that arrives exactly at a tick counts for the next one. The end of the
    stream, back-pressure and logical times are handled as in `throttle`.
    """
    return opens(_KeepLatest(seconds, _next_tick))
