"""A kernel with tasks of its own: for running calls, asks ahead, several inputs asked concurrently, clocks."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import trio
from typing_extensions import TypeVar, override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.traits import Traits
from pullstream.errors import raised_when_cancelled, without_cancelled
from pullstream.protocol import Batch, Done

T = TypeVar("T")

Job: TypeAlias = tuple[Lane[Any], int]
"""An input, and the number of values to ask it for."""

MOST_IDLE: Final = 8
"""The number of asking tasks that are kept while there is nothing to ask."""


class TaskKernel(Kernel[T]):
    """A kernel whose work goes on in tasks of its own, beside the asks it serves. They are cancelled with the stream.

    `produce` answers if it can, and otherwise waits for a `change`. A subclass that overrides `acquire`, `halt` or
    `release` must call the base method as well. A module sends an ask upstream only while it serves one itself, unless
    asking ahead is its purpose.
    """

    traits = Traits(trusted=True)

    ended = False
    """Whether the stream is over here: an answer that reaches a task now starts nothing new."""

    @override
    async def acquire(self) -> None:
        self.begin_here()
        self._quiet = trio.Event()
        self._trouble: BaseException | None = None
        self._nursery: trio.Nursery = await self.run.nursery.start(self._host)

    def begin_here(self) -> None:
        """Begin without a nursery; enough where all inputs answer promptly."""
        self._changed = self.run.signal()
        self._askers = Askers(self)

    async def _host(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                with self.run.shielded(nursery.cancel_scope):
                    # Nothing ever sets this signal. The task only keeps the nursery open, and as its wait is a signal
                    # of the run, a stall is still detected.
                    await self.run.signal().wait()
        finally:
            self._quiet.set()

    @override
    def halt(self) -> None:
        # A task that was woken in this very step still runs once more, and must start nothing.
        self.ended = True
        self._nursery.cancel_scope.cancel()

    @override
    async def release(self) -> None:
        await self._quiet.wait()
        if self._trouble is not None:
            raise self._trouble

    # ---- for subclasses

    async def change(self, *, outside: bool = False) -> None:
        """Wait until `changed` is called; `outside` the run, if a handle or a clock may call it as well."""
        self._changed = self.run.signal()
        await self._changed.wait(outside=outside)

    def changed(self) -> None:
        """Wake `produce` to check again whether it can answer."""
        self._changed.set()

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
                self._trouble = self._trouble or rest

    def ask_beside(self, lane: Lane[Any], limit: int) -> None:
        """Ask an input in a task; `arrived` is called with its answer. Does nothing while it is being asked."""
        self._askers.ask(lane, limit)

    async def ask_promptly(self, lane: Lane[Any], limit: int) -> None:
        """Ask in this task an input that answers promptly: `arrived` has been called when this returns."""
        await self._askers.ask_here(lane, limit)

    def asking(self, lane: Lane[Any]) -> bool:
        """Whether an ask to the input is outstanding."""
        return lane in self._askers.asking

    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        """Take an answer to `ask_beside`; a batch may be multi-time.

        It counts as in flight until the lane is asked again or acknowledged with `lane.ack()`. Values kept beyond
        that must be held before, with `self.location.hold(time)`.
        """
        raise NotImplementedError(f"{type(self).__name__} asks beside and does not say what it does with {answer!r}")


class _Wanted(Signal):
    """The wait of an idle asking task; it ends when the task gets a job."""

    __slots__ = ("job",)
    job: Job


class Askers:
    """The tasks of a kernel that ask its inputs. A few stay while idle, because starting a new task costs more.

    The termination that follows `halt` ends an outstanding ask. A cancelled ask would abort the modules upstream of the
    input before the reason of an error has reached them (R6). So a task can be cancelled only between two asks.
    """

    __slots__ = ("_idle", "_kernel", "_next", "_taking", "asking")

    def __init__(self, kernel: TaskKernel[Any]) -> None:
        self._kernel = kernel
        self.asking: set[Lane[Any]] = set()
        """The inputs that are being asked or have a job waiting."""
        self._idle: list[_Wanted] = []
        self._taking = False
        """Whether a task is passing an answer to the kernel."""
        self._next: Job | None = None
        """The next job of that task, requested while it passes the answer."""

    def ask(self, lane: Lane[Any], limit: int) -> None:
        """Let a task ask an input in the task's next step; does nothing while the input is being asked."""
        if lane in self.asking or self._kernel.ended:
            return
        self.asking.add(lane)
        if self._taking and self._next is None:
            self._next = lane, limit
        elif self._idle:
            wanted = self._idle.pop()
            wanted.job = lane, limit
            wanted.set()
        else:
            self._kernel.start(self._work, [(lane, limit)])

    async def ask_here(self, lane: Lane[Any], limit: int) -> None:
        """Ask an input in the caller's task; does nothing while the input is being asked."""
        if lane not in self.asking and not self._kernel.ended:
            self.asking.add(lane)
            with own_scope(shield=True):
                self._take(lane, await self._answer(lane, limit))

    async def _work(self, first: list[Job]) -> None:
        # Removed from the list, because the task keeps its arguments.
        job: Job | None = first.pop()
        kernel = self._kernel
        with own_scope(shield=True) as scope:
            # If the task was started or woken in the same step in which the stream ended, it asks nothing (R9).
            while job is not None and not kernel.ended:
                answer = await self._answer(*job)
                self._taking = True
                self._take(job[0], answer)
                self._taking = False
                job, self._next = self._next, None
                # Keep no reference to the answer while waiting.
                del answer
                if job is not None:
                    await trio.lowlevel.cancel_shielded_checkpoint()
                elif len(self._idle) < MOST_IDLE:
                    scope.shield = False
                    job = await self._wanted()
                    scope.shield = True

    async def _wanted(self) -> Job:
        wanted = _Wanted(self._kernel.run.detector)
        self._idle.append(wanted)
        await wanted.wait()
        return wanted.job

    async def _answer(self, lane: Lane[Any], limit: int) -> Batch[Any] | Done | BaseException:
        try:
            return await lane.ask(limit, many=True)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - the stream's failure; raised where the module answers
            return exc

    def _take(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self.asking.discard(lane)
        if not self._kernel.ended:
            self._kernel.arrived(lane, answer)
            self._kernel.changed()
