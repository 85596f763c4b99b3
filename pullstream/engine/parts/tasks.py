"""A kernel with tasks of its own: calls under way, asks ahead, several inputs asked at once, clocks."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio
from typing_extensions import TypeVar, override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.traits import Traits
from pullstream.errors import raised_when_cancelled, without_cancelled
from pullstream.protocol import DONE, Batch, Done

T = TypeVar("T")


class TaskKernel(Kernel[T]):
    """A kernel whose work goes on in tasks beside the asks it serves; they end, cancelled, with the stream.

    `produce` looks whether it has an answer, and otherwise waits for a `change`. A subclass that overrides `acquire`,
    `halt` or `release` calls these as well. An ask is sent upstream only while one is being served here, unless the
    module is there for asking ahead.
    """

    traits = Traits(trusted=True)

    takes_many: bool = False
    """Whether what is asked for beside may come as a batch of many times."""

    ended = False
    """Whether the stream is over here: what comes to a task now starts nothing new."""

    @override
    async def acquire(self) -> None:
        self.begin_here()
        self._quiet = trio.Event()
        self._trouble: BaseException | None = None
        self._nursery: trio.Nursery = await self.run.nursery.start(self._host)

    def begin_here(self) -> None:
        """Begin without a place for tasks, for whom all inputs answer promptly."""
        self._changed = self.run.signal()
        self._asking: set[Lane[Any]] = set()

    async def _host(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                # Nobody ever sets it: this task has nothing to do, and hinders no one from noticing a stall.
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
        """Let `produce` look again."""
        self._changed.set()

    def start(self, task: Callable[..., Awaitable[object]], *args: object) -> None:
        """Run a task until the stream ends; it deals with what it raises, except for what it raises when cancelled.

        That is kept, and raised by the release; what was on its way before the cancellation came is let go of.
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
        if lane not in self._asking and not self.ended:
            self._asking.add(lane)
            self.start(self._ask, lane, limit)

    async def ask_promptly(self, lane: Lane[Any], limit: int) -> None:
        """The same in this task, for an input that answers promptly: it has answered when this returns."""
        if lane not in self._asking and not self.ended:
            self._asking.add(lane)
            await self._ask(lane, limit)

    def asking(self, lane: Lane[Any]) -> bool:
        """Whether an ask is outstanding."""
        return lane in self._asking

    async def _ask(self, lane: Lane[Any], limit: int) -> None:
        answer: Batch[Any] | Done | BaseException = DONE
        if self.ended:
            # Started in the very step in which the stream ended: nothing is asked after a termination (R9).
            return
        try:
            # Ended by the termination that follows `halt`: cancelled, it would abort what is upstream of the input
            # before the reason of an error has reached it (R6).
            with own_scope(shield=True):
                answer = await lane.ask(limit, many=self.takes_many)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - the stream's failure; raised where the module answers
            answer = exc
        self._asking.discard(lane)
        if not self.ended:
            self.arrived(lane, answer)
            self.changed()

    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        """Take an answer to `ask_beside`.

        A batch counts as in flight until the lane is asked again or acknowledged with `lane.ack()`: what is kept
        beyond that is held, with `self.location.hold(time)`, before.
        """
        raise NotImplementedError(f"{type(self).__name__} asks beside and does not say what it does with {answer!r}")
