"""Batches, completions and deadlines, whichever comes first: the events of a module that computes per time.

Where no module above waits for anything (see `Stepwise`), upstream is asked in the module's own task, one step after
another, and what is complete is found between the steps. Elsewhere one task asks for as long as the stream lasts: an
ask is never cancelled because something else came first, its answer waits in a slot of one, in flight, for its turn.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Any, cast

import attrs
import trio
from typing_extensions import override

from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.pace import Pace
from pullstream.engine.parts.times_above import Above
from pullstream.engine.run import Run, Scope
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.minima import Minima
from pullstream.engine.sidecar.phases import Phase
from pullstream.engine.sidecar.waiting import Requests, Waiter, least
from pullstream.protocol import DONE, Batch, Done, Reader, TimedBatch
from pullstream.timely import BEGINNING, less_equal, less_than


@attrs.frozen
class Completed:
    """A time that was asked for with `notify_at` is complete: no batch at it, or earlier, will come any more."""

    time: Hashable


Answer = Batch[Any] | Done | BaseException


class Asker:
    """A task that asks upstream, one ask after another, for as long as the stream lasts; the first one begins it."""

    def __init__(
        self, run: Run, upstream: Reader[Any], arrived: Callable[[Answer], object], *, many: bool = False
    ) -> None:
        self._run = run
        self.ask_upstream = upstream.ask_many if many else upstream.ask
        """Asks here, and not beside."""
        self._arrived = arrived
        self._begun = False
        self._wanted = run.signal()
        self.limit = 0
        """The values that the outstanding ask is for; 0 where none is outstanding."""
        self.ended = False
        """Whether the stream is over: nothing is asked any more (R9), and what still comes is nobody's."""

    def ask(self, limit: int) -> None:
        """Let upstream be asked, unless it is being asked."""
        if self.limit or self.ended:
            return
        self.limit = limit
        if self._begun:
            self._wanted.set()
        else:
            self._begun = True
            self._run.spawn(self._ask)

    def end(self) -> None:
        """Ask nothing any more; to be called before what is upstream is terminated."""
        self.ended = True
        if self._begun:
            self._wanted.set()

    async def _ask(self) -> None:
        # Shielded while it asks: it is ended by the termination that follows `end`; cancelled, it would abort what is
        # upstream of the input before the reason of an error has reached it (R6).
        with own_scope(shield=True) as scope:
            # The stream may end in the very step in which this was started, or woken.
            while not self.ended:
                if not self.limit:
                    self._wanted = self._run.signal()
                    scope.shield = False
                    await self._wanted.wait()
                    scope.shield = True
                    continue
                answer: Answer = DONE
                # Others have had their turns: what was done for the answers before keeps nobody waiting any more.
                self._run.turn = self._run.clock.now()
                try:
                    answer = await self.ask_upstream(self.limit)
                except trio.Cancelled:
                    raise
                except BaseException as exc:  # noqa: BLE001 - the stream's failure; raised where the module answers
                    answer = exc
                self.limit = 0
                if not self.ended:
                    self._arrived(answer)
                if not isinstance(answer, Batch):
                    return
                # Nothing is kept of it while nothing is asked.
                del answer


class Awaited(Waiter):
    """The waiter of a module that is told of times, one after another: of that which comes first."""

    before: bool = False
    """Whether it waits only for everything before the time."""

    @override
    def settled(self, phase: Phase) -> bool:
        time = self.time
        if not self.before:
            return not any(phase.frontier(place).less_equal(time) for place in self.places)
        return not any(
            front is not time and front != time and less_equal(front, time)
            for place in self.places
            for front in phase.frontier(place)
        )


class Eventful:
    """The events of a module: its batches, and the completions it asked for, whichever comes first.

    Completions come before the batch that caused them, the least time first; at the end all of them.
    """

    def __init__(
        self,
        scope: Scope,
        location: Location,
        upstream: Reader[Any],
        requests: Requests[bool],
        *,
        arrived: Callable[[Answer], object] | None = None,
        many: bool = False,
        pace: Pace | None = None,
    ) -> None:
        self._scope = scope
        self._location = location
        self._upstream = upstream
        self.requests = requests
        """The times that are asked for; of each, whether it is enough that everything before it is complete."""
        self.many = many
        """Whether batches of many times are taken whole."""
        self._pace = pace
        self._asker = Asker(scope.run, upstream, self._into_slot if arrived is None else arrived, many=many)
        self._slot: Answer | None = None
        self._moved = False
        """Whether times may be complete of which nobody has looked since the last batch."""
        self._prompt = isinstance(upstream, Lane) and upstream.edge.answers_promptly()
        self.steps = isinstance(upstream, Lane) and upstream.edge.stepwise()
        """Whether upstream is asked in the module's own task, which never waits then."""
        self._wake = scope.run.signal()
        self._above: Above | None = None
        self._fronts: list[Any] | None = None
        """The least times that might still have come when somebody last looked, or earlier ones.

        What was complete then stays so: of times that complete together only the first costs a look.
        """
        self._places = [port.place for port in location.ports]
        self._waiters: list[Awaited] = []

    # ---- for a module

    def begin(self) -> Above:
        """Let the sidecar keep the frontier of the input up to date."""
        self._above = Above(self._scope.sidecar, self._location)
        for place in self._places:
            self._scope.sidecar.phase.observe(place)
        return self._above

    def end(self) -> None:
        """The stream is over here: nothing is asked any more, and nothing told."""
        self._asker.end()
        self.requests.clear()

    @property
    def ended(self) -> bool:
        """Whether the stream is over here."""
        return self._asker.ended

    async def next(self, limit: int, *, stepping: bool = False, deadline: float = inf) -> Answer | Completed | None:
        """The next event, which may be an ask's answer: a batch of at most `limit` values, the end, a failure.

        None, if nothing has come before the deadline or, with `stepping`, in one step. For a limit of 0 nothing is
        asked; otherwise the pace may ask for fewer values.
        """
        requests, slot = self.requests, self._slot
        if self.ended:
            # The end came in the step in which this was to go on: nothing is asked any more (R9).
            return DONE
        steps = self.steps or (slot is None and deadline == inf and self._steps_now())
        if slot is None:
            if requests and (self._moved or (steps and not self._prompt)):
                # Upstream has gone on: it need not be asked to find out which times are complete.
                self._moved = False
                if (told := self._completed(None)) is not None:
                    self._moved = True
                    return told
            await self._fetch(limit, steps=steps, stepping=stepping, deadline=deadline)
            slot = self._slot
        if deadline < inf and deadline <= trio.current_time():
            return None
        if requests and not (slot is None and steps and limit) and (told := self._completed(slot)) is not None:
            return told
        if isinstance(slot, Batch):
            self._slot = None
            # Its last values may have completed the times of its first ones.
            self._moved = isinstance(slot, TimedBatch)
        return slot

    def complete(self) -> list[Hashable]:
        """The times that are complete; of such as are in one order, the least."""
        requests, times = self.requests, self.requests.first
        return [time for time in times if self.knows(time, before=requests[time])] or self._look(times)

    def told(self, count: int) -> Iterator[Hashable]:
        """The next completions, at most so many, that are known without a look: of times in one order, least first.

        Each is told as it is taken: what is asked for meanwhile is among those that follow, in its place.
        """
        requests = self.requests
        for _ in range(count):
            times = requests.first
            if len(times) != 1 or not self.knows(times[0], before=requests[times[0]]):
                return
            del requests[times[0]]
            yield times[0]

    def apart(self, batch: TimedBatch[Any]) -> Iterator[Batch[Any] | Completed]:
        """Give the runs of the batch in flight, each after the completions that the runs before it cause.

        They are the completions that the runs would cause as batches of their own. But all of the batch stays in
        flight until the caller acknowledges it, and what may still come from upstream is looked up once.
        """
        minima, left, begin = Minima(batch.times), batch.least, 0
        upstream: Sequence[Any] | None = None
        for run in batch.runs():
            # Where the least times stay the same, only what waits for everything before one of them may be complete.
            if begin and ((now := minima.at(begin)) != left or any(map(self.requests.get, left))):
                left = now
                if upstream is None:
                    upstream = self._upstream_fronts()
                self._fronts = [*upstream, *left]
                while (time := self._known()) is not None:
                    yield Completed(time)
            yield run
            begin += len(run.values)

    def _known(self) -> Hashable | None:
        """Take the least time off the requests that is known to be complete without a look; None if there is none."""
        requests = self.requests
        done = [time for time in requests.first if self.knows(time, before=requests[time])]
        if not done:
            return None
        time = done[0] if len(done) == 1 else least(done)
        del requests[time]
        return time

    def _upstream_fronts(self) -> Sequence[Any]:
        """The least times that may still come from upstream, apart from what is in flight here."""
        sidecar, above = self._scope.sidecar, self._above or self.begin()
        if above.tells:
            with suppress(TypeError):
                return above.fronts(arrived=False)
        for location in self._location.upstreams:
            sidecar.phase.observe(location.output)
        sidecar.propagate()
        return [front for location in self._location.upstreams for front in sidecar.phase.frontier(location.output)]

    def knows(self, time: Hashable, *, before: bool) -> bool:
        """Whether a time, or everything `before` it, was complete when somebody last looked."""
        if self._slot is DONE:
            # Though above a tee, say, it may go on for others.
            return True
        if self._fronts is None:
            return False
        try:
            return self._is_past(time, before)
        except TypeError:
            # They are of two domains, which a look is to find out.
            return False

    def fronts(self) -> Sequence[Any]:
        """The least times that might still have come when somebody last looked."""
        if self._slot is DONE:
            return ()
        return (BEGINNING,) if self._fronts is None else self._fronts

    def ask(self, limit: int) -> None:
        """Let upstream be asked beside, unless it is being asked."""
        if not self._asker.limit:
            self._asker.ask(limit if self._pace is None else min(limit, self._pace.next()))

    async def wait(self, *, deadline: float = inf, outside: bool = False) -> None:
        """Wait until the answer is there, a time that was asked for is complete, or the deadline has come."""
        self._wake = self._scope.run.signal()
        waiters = self._awaited(self.requests.first)
        await self._scope.sidecar.until(waiters, self._wake, outside=outside, deadline=deadline)

    def fail(self, failure: BaseException) -> None:
        """Let the module's own failure be an event, after the completions that come before it."""
        self._slot = failure

    def wake(self) -> None:
        """End the wait."""
        self._wake.set()

    # ----

    def _is_past(self, time: Hashable, before: bool) -> bool:  # noqa: FBT001
        """Whether nothing that was there at the last look may lead to a time, or to one before it."""
        for front in self._fronts or ():  # noqa: SIM110 - for most times `any` would cost more than all the rest
            if less_equal(front, time) and not (before and front == time):
                return False
        return True

    def _look(self, times: list[Hashable]) -> list[Hashable]:
        """The times, of some that are asked for, that are complete now."""
        requests, sidecar = self.requests, self._scope.sidecar
        above = self._above or self.begin()
        if above.tells:
            with suppress(TypeError):
                # Else times of two domains have met: the sidecar is to be told.
                if any(requests[time] for time in times):
                    # Windows are told one moment after another.
                    self._fronts = above.fronts()
                    return [time for time in times if self._is_past(time, requests[time])]
                done = [time for time in times if not above.may_lead_to(time)]
                if done and len(requests) > len(done):
                    self._fronts = above.fronts()
                return done
        sidecar.propagate()
        self._fronts = [front for place in self._places for front in sidecar.phase.frontier(place)]
        return [time for time in times if self._is_past(time, requests[time])]

    def _into_slot(self, answer: Answer) -> None:
        if self._pace is not None:
            self._pace.took()
        self._slot = answer
        self._wake.set()

    def _steps_now(self) -> bool:
        """Whether upstream can be asked for a step in the module's own task this time."""
        upstream = self._upstream
        return isinstance(upstream, Lane) and not self._asker.limit and upstream.edge.steps_now()

    async def _fetch(self, limit: int, *, steps: bool, stepping: bool, deadline: float) -> None:
        """Ask here, or beside, and wait for something to come."""
        asker = self._asker
        if limit and (steps or not (self.requests or asker.limit or deadline < inf)):
            if self._pace is not None:
                limit = min(limit, self._pace.next())
            try:
                if steps and (stepping or self.requests):
                    lane = cast("Lane[Any]", self._upstream)
                    self._slot = await lane.ask(limit, stepping=True, many=self.many)
                else:
                    self._slot = await asker.ask_upstream(limit)
            except trio.Cancelled:
                raise
            except BaseException as exc:  # noqa: BLE001 - the module's, to be raised when what comes first is answered
                self._slot = exc
            if self._pace is not None and self._slot is not None:
                self._pace.took()
            return
        if limit:
            self.ask(limit)
            for _ in range(2):
                # Time for the task to run once: most answers are there then, and to wait for completions costs more.
                await trio.lowlevel.checkpoint()
                if self._slot is not None:
                    return
        try:
            await self.wait(deadline=deadline)
        except BaseException as exc:
            if exc is not self._scope.sidecar.trouble:
                raise
            # The stream's failure, which is told here before it comes from upstream: what is a result comes first.
            if self._slot is None:
                self._slot = exc

    def _completed(self, slot: Answer | None) -> Completed | None:
        """The least time that is complete, if any is; at the end of the stream all are."""
        requests = self.requests
        if slot is DONE:
            # Though above a tee, say, it may go on for others.
            done = requests.first
        else:
            if isinstance(slot, Batch) and len(requests) == 1 and not isinstance(slot, TimedBatch):
                ((time, before),) = requests.items()
                if slot.time is time:
                    if not before:
                        return None
                elif (less_than if before else less_equal)(slot.time, time):
                    # It is in flight, and shows without a look that nothing has been completed.
                    return None
            done = self.complete()
            if not done:
                return None
        time = done[0] if len(done) == 1 else least(done)
        del requests[time]
        return Completed(time)

    def _awaited(self, times: list[Hashable]) -> list[Awaited]:
        """A waiter for each of some times; where times are in one order there is one, the same for the whole run."""
        while len(self._waiters) < len(times):
            self._waiters.append(Awaited(self._places, None, None, self._location, self._wake))
        waiters = self._waiters[: len(times)]
        for waiter, time in zip(waiters, times, strict=True):
            waiter.time, waiter.before = time, self.requests[time]
        return waiters
