"""Kernels with tasks alongside the asks they serve: for inputs that are asked concurrently, for calls and clocks."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import trio
from typing_extensions import override

from pullstream.blueprint.variables import T
from pullstream.engine.edge.edge import DEEP
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.asking import Askers
from pullstream.engine.parts.waking import Waking
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.traits import Traits
from pullstream.errors import raised_when_cancelled, without_cancelled
from pullstream.logger import LOG
from pullstream.protocol import NOT_YET, WAIT, Batch, Done, Unanswered

LATE: Final = 10.0
"""The seconds after which a failure that is not raised yet is logged."""


class Asking(Waking[T], PolledKernel[T]):
    """A kernel that waits for its inputs and for something else as well: it asks them in tasks where it has to.

    `poll` answers if it can, and otherwise asks and returns `pending()`. A subclass that overrides `acquire` or `halt`
    must call the base method as well. A module sends an ask upstream only while it serves one itself, unless asking
    ahead is its purpose.
    """

    traits = Traits(trusted=True)

    __answered = False
    """Whether a polled input has answered since the last `change`: its answer has not been processed.

    Its name is mangled, because a subclass may well have an attribute of that name.
    """
    __late: trio.CancelScope | None = None
    """The scope of the task that reports an input's failure if it is not raised for a long time."""

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._askers = Askers(self.run, self._take)

    @override
    def halt(self) -> None:
        self._askers.end()
        if self.__late is not None:
            self.__late.cancel()
        super().halt()

    @property
    def outside(self) -> bool:
        """Whether something outside the run, a handle or a clock, may end the wait for an answer."""
        return False

    def pending(self) -> Unanswered:
        """Return NOT_YET if a poll is worthwhile: an input has answered `ask_input` at once, or is due. Else WAIT."""
        return NOT_YET if self.answered() or self._askers.due else WAIT

    @override
    def wait(self) -> Awaitable[None]:
        return self.change(outside=self.outside)

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        if type(self).wait is not vars(Asking)["wait"] or self.outside:
            return False
        self.call_at_change(wake)
        return True

    @override
    async def change(self, *, outside: bool = False) -> None:
        if self.answered():
            # An input has answered `ask_input` at once.
            await self.breathe()
        else:
            await super().change(outside=outside)

    def ask_beside(self, lane: Lane[Any], limit: int) -> None:
        """Ask an input in a task; `arrived` is called with its answer. Does nothing while it is being asked."""
        self._askers.due.pop(lane, None)
        self._askers.ask(lane, limit)

    def take_back(self, lane: Lane[Any]) -> None:
        """Withdraw an ask that no task has begun: the input can be asked in this step."""
        self._askers.take_back(lane)

    def ask_input(self, lane: Lane[Any], limit: int) -> None:
        """Ask an input: in this step, or once it says that it can answer; otherwise in a task, as `ask_beside` does.

        After a long row of modules it is always a task, with a fresh stack.
        """
        if self.ended or self.asking(lane):
            return
        self._askers.due.pop(lane, None)
        answer = lane.poll(limit) if lane.edge.depth < DEEP else WAIT
        if not isinstance(answer, Unanswered):
            self.__answered = True
            self._take(lane, answer)
        elif answer is WAIT and lane.wakes(partial(self._woken, lane)):
            self._askers.asking.add(lane)
        else:
            self._askers.ask(lane, limit)

    def _woken(self, lane: Lane[Any]) -> None:
        """Ask an input again, because it may have its answer: in a task, if this module is not polled soon."""
        self._askers.asking.discard(lane)
        if self.edge.asked:
            self._askers.due[lane] = None
            self.changed()
        else:
            self._askers.ask(lane, lane.polled_for)

    def ask_due(self) -> None:
        """Ask the inputs that have woken this module before a poll answers: the asks to them are outstanding.

        Otherwise an input that has no answer yet would stand idle until the consumer has handled another input's
        answer.
        """
        due = self._askers.due
        until = clocks.monotonic() + BREATH if due else 0
        while due:
            lane = next(iter(due))
            del due[lane]
            # In this step, unless the inputs before it have kept other tasks waiting.
            ask = self.ask_input if clocks.monotonic() < until else self.ask_beside
            ask(lane, lane.polled_for)

    def answered(self) -> bool:
        """Whether `ask_input` got an answer at once since the last call."""
        answered, self.__answered = self.__answered, False
        return answered

    def asking(self, lane: Lane[Any]) -> bool:
        """Whether an ask to the input is outstanding."""
        return lane in self._askers.asking

    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        """Take an answer to `ask_beside`; a batch may be multi-time.

        It counts as in flight until the lane is asked again or acknowledged with `lane.ack()`. Values kept beyond that
        must be held before, with `self.location.hold(time)`.
        """
        raise NotImplementedError(f"{type(self).__name__} asks inputs, but has no arrived(lane, answer) for {answer!r}")

    def _take(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if isinstance(answer, BaseException) and self.__late is None and lane in self.inputs:
            self.__late = trio.CancelScope()
            # One report is enough: `group_by` passes the same failure to all groups.
            if answer is not self.run.failing:
                self.run.failing = answer
                self.run.spawn_watch(self.__report, self.__late, answer)
        self.arrived(lane, answer)
        self.changed()

    async def __report(self, late: trio.CancelScope, failure: BaseException) -> None:
        """Log a failure that is not raised for a long time: the work before it (R8) may never end."""
        with late:
            await trio.sleep(LATE)
            LOG.warning(
                "%s: upstream failed with %r %g s ago. The failure is raised when the work on the values before it has "
                "ended. If that never ends, stop the run",
                self.location,
                failure,
                LATE,
            )


class TaskKernel(Waking[T]):
    """A kernel that also works in tasks of its own, alongside the asks it serves; they are cancelled with the stream.

    `produce` answers if it can, and otherwise waits for a `change`. A subclass that overrides `acquire`, `halt` or
    `release` must call the base method as well.
    """

    traits = Traits(trusted=True)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._quiet = trio.Event()
        self._release_failure: BaseException | None = None
        self._nursery: trio.Nursery = await self.run.nursery.start(self._host)

    async def _host(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                with self.run.shielded(nursery.cancel_scope):
                    # Nothing ever sets this signal. The task only keeps the nursery open, and because its wait is a
                    # signal of the run, a stall is still detected.
                    await self.run.signal().wait()
        finally:
            self._quiet.set()

    @override
    def halt(self) -> None:
        super().halt()
        self._nursery.cancel_scope.cancel()

    @override
    async def release(self) -> None:
        await self._quiet.wait()
        if self._release_failure is not None:
            raise self._release_failure

    def start(self, task: Callable[..., Awaitable[object]], *args: object) -> None:
        """Run a task until the stream ends. The task must handle its own exceptions, except those of its cancellation.

        An exception raised because of the cancellation is kept, and raised by the release. One that was on its way
        before the cancellation came is discarded.
        """
        self._nursery.start_soon(self._guarded, task, args)

    async def _guarded(self, task: Callable[..., Awaitable[object]], args: tuple[object, ...]) -> None:
        try:
            await task(*args)
        except BaseException as exc:
            rest = without_cancelled(exc)
            if rest is None or not self._nursery.cancel_scope.cancel_called:
                raise
            if raised_when_cancelled(rest):
                self._release_failure = self._release_failure or rest
