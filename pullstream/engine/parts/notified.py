"""The kernel of the modules that compute per time: told of batches and of completions, whichever comes first.

It is `ctx.events` for a class instead of a generator, without a task of its own: where upstream never waits, an ask
goes straight through, and what is complete is found before the batch that comes next.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import trio
from typing_extensions import override

from pullstream.engine.parts.above import Above
from pullstream.engine.parts.beside import Slotted
from pullstream.engine.parts.outbox import Outbox
from pullstream.engine.sidecar.waiting import Requests, Waiter, least
from pullstream.protocol import DONE, Batch, Done, State
from timely import Tracker, less_equal, less_than


class Notified(Slotted[Any]):
    """Gives batches to `receive` and completions to `complete`, which `give` results and ask for notifications.

    Completions come before the batch that caused them, least time first; at the end all of them. When upstream fails,
    or one of the two raises, what was given before is answered, and nothing else.
    """

    def __init__(self) -> None:
        self._requests = Requests[_Complete]()
        self._owed: dict[Hashable, Hashable] = {}
        self._ready = Outbox(self)
        self._end: Done | BaseException | None = None

    # ---- what a module supplies

    @abstractmethod
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        """Take the values of one batch."""

    @abstractmethod
    def complete(self, time: Hashable) -> None:
        """A time that was asked for is complete."""

    # ---- for a module to use

    def notify(self, time: Hashable, owed: Hashable, *, before: bool = False) -> None:
        """Ask for `complete(time)`, once; until it returns, hold the right to give results at `owed`.

        With `before` it comes as soon as everything before `time` is complete, though at `time` more may come.
        """
        self.location.hold(owed)
        self._owed[time] = owed
        self._listen(time, before=before)

    def remind(self, time: Hashable, *, before: bool = False) -> None:
        """Ask for `complete(time)`, once, and hold nothing; `before` as in `notify`."""
        self._listen(time, before=before)

    def forget(self, time: Hashable) -> None:
        """Take back what was asked for at `time`."""
        del self._requests[time]
        self._settle(time)

    def give(self, time: Hashable, results: Sequence[Any]) -> None:
        """Answer results at `time`, in the order in which they are given; those of no values are none."""
        if results:
            self._ready.put(time, results)

    def stop(self) -> None:
        """End after what was given; nothing that was asked for is told any more."""
        self._requests.clear()
        self._end = DONE

    def left_out(self) -> None:
        """Count a value that is left out."""
        self.location.meter.skipped += 1

    # ----

    def _listen(self, time: Hashable, *, before: bool) -> None:
        kind = _Reached if before else _Complete
        self._requests[time] = kind(self._places, time, None, self.location, self._changed)

    def _settle(self, time: Hashable) -> None:
        if time in self._owed:
            self.location.drop(self._owed.pop(time))

    @override
    def placed(self) -> None:
        self._prompt = self.upstream.kernel.answers_promptly()
        self._steps = self.upstream.kernel.stepwise()

    @override
    def waits_here(self) -> bool:
        # Where steps will do, no task is beside, and no scope to cancel it by, which is most of a time's cost.
        return not self._steps

    @override
    async def acquire(self) -> None:
        self._changed = self.run.signal()
        if not self._steps:
            await super().acquire()
        self._places = [port.place for port in self.location.ports]
        self._above = Above(self.run.progress, self.location)
        for place in self._places:
            self.run.progress.tracker.observe(place)

    @override
    def halt(self) -> None:
        if not self._steps:
            super().halt()

    @override
    async def release(self) -> None:
        if not self._steps:
            await super().release()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while (answer := await self._once(limit)) is None:
            pass
        return answer

    @override
    def stepwise(self) -> bool:
        return self._steps

    @override
    async def step(self, limit: int) -> Batch[Any] | Done | None:
        return await self._once(limit, stepping=True)

    async def _once(self, limit: int, *, stepping: bool = False) -> Batch[Any] | Done | None:
        """The next answer, or one step towards it."""
        if not self._ready:
            if isinstance(self._end, BaseException):
                raise self._end
            if self._end is None:
                await self._next(limit, stepping=stepping)
            elif self._requests:
                self._tell(self._requests.first)
            else:
                return DONE
        return self._ready.take(limit) if self._ready else None

    async def _next(self, limit: int, *, stepping: bool) -> None:
        """One step towards the next answer: a completion, or the next batch, or waiting for either."""
        if self.state is not State.OPEN:
            # The end came in the step in which this was to go on: nothing is asked any more (R9).
            self._end = DONE
            self._requests.clear()
            return
        if self.slot is None:
            if self._steps and not self._prompt and self._requests and self._tell_complete():
                # What is above has gone on: it need not be asked to know so.
                return
            await self._fetch(limit, stepping=stepping)
            if self.slot is None and self._steps:
                return
        if self._requests and self.slot is not DONE and self._tell_complete():
            return
        if self.slot is not None:
            slot, self.slot = self.slot, None
            if isinstance(slot, Batch):
                self._guard(lambda: self.receive(slot.time, slot.values))
                if self._end is None:
                    # What is kept is held, and so is what is answered.
                    self.upstream.settle()
                await self.breathe()
            else:
                self._end = slot

    async def _fetch(self, limit: int, *, stepping: bool) -> None:
        if self._steps or not (self._requests or self.asking(self.upstream)):
            await self.ask_here(limit, stepping=self._steps and (stepping or bool(self._requests)))
            return
        self.ask_beside(self.upstream, limit)
        for _ in range(2):
            # Time for the task to run once: most answers are there then, and to wait for completions costs more.
            await trio.lowlevel.checkpoint()
            if self.slot is not None:
                return
        await self._wait()

    def _tell_complete(self) -> bool:
        """Tell the least time that is complete, if any is."""
        slot, requests = self.slot, self._requests
        if isinstance(slot, Batch) and len(requests) == 1:
            (waiter,) = requests.values()
            if waiter.blocked_by(slot.time):
                # It is in flight, and shows without a look that nothing has been completed.
                return False
        done = self._complete_ones()
        if done:
            self._tell(done)
        return bool(done)

    def _complete_ones(self) -> list[Hashable]:
        requests, times = self._requests, self._requests.first
        if self._above.tells and not any(requests[time].before for time in times):
            with suppress(TypeError):
                # Else times of two domains have met: the sidecar is to be told.
                return [time for time in times if not self._above.may_lead_to(time)]
        progress = self.run.progress
        progress.look()
        return [time for time in times if requests[time].settled(progress.tracker)]

    def _tell(self, done: Sequence[Hashable]) -> None:
        time = done[0] if len(done) == 1 else least(done)
        del self._requests[time]
        self._guard(lambda: self.complete(time))
        if self._end is None or self._end is DONE:
            self._settle(time)

    def _guard(self, call: Callable[[], None]) -> None:
        """Call a function of the module's; what it raises follows what was given before."""
        try:
            call()
        except BaseException as exc:
            if not self._ready:
                raise
            self._end = exc

    async def _wait(self) -> None:
        """Until the answer is there, or a time that was asked for is complete."""
        self._changed = self.run.signal()
        await self.run.progress.until([self._requests[time] for time in self._requests.first], self._changed)


class _Complete(Waiter):
    """Somebody who waits until a time is complete."""

    before: ClassVar[bool] = False
    """Whether it is until everything before that is."""

    def blocked_by(self, time: Hashable) -> bool:
        """Whether it is in vain while there is a batch at `time`."""
        return time is self.time or less_equal(time, self.time)


class _Reached(_Complete):
    """Somebody who waits until everything before a time is complete."""

    before: ClassVar[bool] = True

    @override
    def blocked_by(self, time: Hashable) -> bool:
        return time is not self.time and less_than(time, self.time)

    @override
    def settled(self, tracker: Tracker) -> bool:
        time = self.time
        return not any(
            front is not time and front != time and less_equal(front, time)
            for place in self.places
            for front in tracker.frontier(place)
        )
