"""A lane: one task's end of an edge, and what it has in flight (R4, R11)."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import trio
from typing_extensions import TypeVar, override

from pullstream.engine.sidecar.counters import LaneCount
from pullstream.engine.sidecar.location import Port, Stamp
from pullstream.protocol import DONE, Batch, Done, Reader
from timely import Antichain

if TYPE_CHECKING:
    from pullstream.engine.edge.kernel import Kernel

T_co = TypeVar("T_co", covariant=True)


class Lane(Stamp, Reader[T_co]):
    """A reader of a kernel: one task's end of the edge."""

    __slots__ = ("asker", "count", "drops", "handed", "kernel", "over", "trouble")

    def __init__(self, kernel: "Kernel[T_co]", port: Port, count: LaneCount | None = None) -> None:
        super().__init__(kernel.scope.sidecar, port)
        self.kernel = kernel
        if count is None:
            count = LaneCount()
            kernel.location.meter.outs.append(count)
            port.location.meter.ins.append(count)
        self.count = count
        self.over = False
        self.trouble: BaseException | None = None
        # Every lane of an edge drops what the first one does: that one is told when the run begins.
        self.drops: Callable[[Hashable], bool] | None = next(
            (lane.drops for lane in kernel.lanes if lane.port is port), None
        )
        """Times that are not let pass, because an earlier run has completed what comes of them."""
        kernel.lanes.add(self)
        self.handed = False
        """Whether a user's code has it."""
        self.asker: trio.lowlevel.Task | None = None
        """Then, which task asks, if that is known."""

    @overload
    async def ask(self, limit: int = 1, *, stepping: Literal[False] = False) -> Batch[T_co] | Done: ...
    @overload
    async def ask(self, limit: int = 1, *, stepping: bool) -> Batch[T_co] | Done | None: ...
    @override
    async def ask(self, limit: int = 1, *, stepping: bool = False) -> Batch[T_co] | Done | None:
        if limit < 1:
            raise ValueError(f"an ask is for at least 1 value, not for {limit}")
        self.live = False
        if self.handed:
            self.asker = trio.lowlevel.current_task()
        if self._counts.alert:
            self._counts.activate(self.port)
        count = self.count
        began = count.begin()
        try:
            answer = await (self.kernel.ask(self, limit, stepping=True) if stepping else self.kernel.ask(self, limit))
        except BaseException:
            self.over = True
            raise
        finally:
            count.end(began)
        if answer is DONE:
            self.over = True
        elif answer is not None:
            count.values += len(answer.values)
        return answer

    @override
    async def abort(self) -> Done:
        return await self.terminate(None)

    @override
    async def error(self, reason: BaseException) -> Done:
        return await self.terminate(reason)

    @override
    def abort_nowait(self) -> None:
        self._indicate(None)

    @override
    def error_nowait(self, reason: BaseException) -> None:
        self._indicate(reason)

    def _indicate(self, reason: BaseException | None) -> None:
        self.live = False
        if not self.over and self.kernel.close(reason):
            self.kernel.run.spawn(self._confirm)

    async def _confirm(self) -> None:
        try:
            await self.kernel.confirm()
        except BaseException as exc:  # noqa: BLE001 - raised to whoever waits for the confirmation after all
            self.trouble = exc

    def close(self, reason: BaseException | None) -> bool:
        """Send a termination, if none was needed before; True if it is for the sender to have it confirmed."""
        self.live = False
        return not self.over and self.kernel.close(reason)

    async def confirm(self, reason: BaseException | None, *, closed: bool) -> None:
        """Wait for the confirmation of what `close` sent."""
        if not closed:
            await self.terminate(reason)
            return
        try:
            await self.kernel.confirm()
        finally:
            self.over = True

    async def terminate(self, reason: BaseException | None) -> Done:
        """Abort or, with a reason, error; nothing is sent after a terminal answer (R9)."""
        self.live = False
        if self.over:
            return DONE
        try:
            await self.kernel.terminate(reason)
        finally:
            self.over = True
        trouble, self.trouble = self.trouble, None
        if trouble is not None:
            raise trouble
        return DONE

    def __aiter__(self) -> NoReturn:
        raise TypeError("a reader is asked: `async for batch in ctx.batches(upstream)`, or `await upstream.ask(limit)`")

    @override
    def ack(self) -> None:
        self.settle()

    def settle(self) -> None:
        """What came last has been dealt with: to be called in the step in which it is answered, or after it is held."""
        self.live = False
        if self._counts.alert:
            self._counts.activate(self.port)

    def arriving(self) -> Antichain[Any]:
        """The times that may still come to the module below or, in flight, have come."""
        return self._counts.arriving(self.port)

    @override
    def lane(self) -> "Lane[T_co]":
        lane = Lane(self.kernel, self.port, self.count)
        lane.hand_over(None)
        return lane

    def hand_over(self, asker: trio.lowlevel.Task | None) -> None:
        """A user's code has it, and asks in this task or in one that is not known yet."""
        self.handed, self.asker = True, asker
        self.kernel.run.detector.lanes.add(self)
        self.kernel.run.detector.doubt()
