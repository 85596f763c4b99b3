"""A lane: one task's end of an edge, and what it has in flight (R4, R11)."""

from collections.abc import Coroutine, Hashable, Sequence
from typing import Any, Literal, NoReturn, overload

import trio
from typing_extensions import TypeVar, override

from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.end import End
from pullstream.engine.sidecar.counters import LaneCount
from pullstream.engine.sidecar.location import Port
from pullstream.errors import without_cancelled
from pullstream.protocol import DONE, Batch, Done, Reader, TimedBatch
from pullstream.timely import Antichain

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Lane(End[Edge[Any]], Reader[T_co]):
    """A reader of an edge: one task's end of it."""

    __slots__ = ("asker", "count", "handed", "trouble")

    def __init__(self, edge: Edge[T_co], port: Port, count: LaneCount | None = None) -> None:
        super().__init__(edge, port)
        if count is None:
            count = LaneCount()
            edge.location.meter.outs.append(count)
            port.location.meter.ins.append(count)
        self.count = count
        self.trouble: BaseException | None = None
        self.handed = False
        """Whether a user's code has it."""
        self.asker: trio.lowlevel.Task | None = None
        """Then, which task asks, if that is known."""

    @overload
    async def ask(
        self, limit: int = 1, *, stepping: Literal[False] = False, many: bool = False
    ) -> Batch[T_co] | Done: ...
    @overload
    async def ask(self, limit: int = 1, *, stepping: bool, many: bool = False) -> Batch[T_co] | Done | None: ...
    @override
    async def ask(self, limit: int = 1, *, stepping: bool = False, many: bool = False) -> Batch[T_co] | Done | None:
        if limit < 1:
            raise ValueError(f"an ask is for at least 1 value, not for {limit}")
        if self.live:
            self.acknowledge()
        self.whole = many
        if self.others is not None:
            self.let_go()
        if self.handed:
            self.asker = trio.lowlevel.current_task()
        if self._counts.alert:
            self._counts.activate(self.port)
        count = self.count
        began = count.begin()
        try:
            answer = await self.edge.ask(self, limit, stepping)
        except BaseException:
            self.over = True
            self.edge.unanswered()
            raise
        finally:
            count.end(began)
        if answer is DONE:
            self.over = True
        elif answer is not None:
            count.values += len(answer.values)
            count.batches += 1
        return answer

    @override
    def ask_many(self, limit: int = 1) -> Coroutine[Any, Any, Batch[T_co] | Done]:
        return self.ask(limit, many=True)

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
        self.let_go()
        if not self.over and self.edge.close(reason):
            self.edge.run.spawn(self._confirm)

    async def _confirm(self) -> None:
        try:
            await self.edge.confirm()
        except BaseException as exc:  # noqa: BLE001 - raised to whoever waits for the confirmation after all
            self.trouble = exc

    def close(self, reason: BaseException | None) -> bool:
        """Send a termination, if none was needed before; True if it is for the sender to have it confirmed."""
        self.let_go()
        return not self.over and self.edge.close(reason)

    async def confirm(self, reason: BaseException | None, *, closed: bool) -> None:
        """Wait for the confirmation of what `close` sent."""
        if not closed:
            await self.terminate(reason)
            return
        try:
            await self.edge.confirm()
        finally:
            self.over = True

    async def terminate(self, reason: BaseException | None) -> Done:
        """Abort or, with a reason, error; nothing is sent after a terminal answer (R9)."""
        self.let_go()
        if self.over:
            return DONE
        try:
            await self.edge.terminate(reason)
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

    @override
    def ack_but(self, left: Batch[Any]) -> None:
        if not left.values:
            self.ack()
        elif isinstance(left, TimedBatch):
            if not (self.whole and self.live):
                if not self.edge.open:
                    return
                raise ValueError(
                    f"{left!r} is no part of the batch that is worked on: that is what ask_many gave, until it is "
                    f"acknowledged or the next one is asked for"
                )
            self.stamp_many(left)
            if self._counts.alert:
                self._counts.activate(self.port)

    def ack_before(self, least: Sequence[Hashable]) -> None:
        """Acknowledge the last batch but for a part of it that is left, of which these are the least times.

        So who deals with a batch in many parts need not look at all of it with each; a sink says `ack_but`.
        """
        self.stamp_least(least)
        if self._counts.alert:
            self._counts.activate(self.port)

    def settle(self) -> None:
        """Say that what came last has been dealt with: in the step in which it is answered, or after it is held."""
        if self.live:
            self.acknowledge()
        if self.others is not None:
            self.let_go()
        elif self._counts.alert:
            self._counts.activate(self.port)

    def arriving(self) -> Antichain[Any]:
        """The times that may still come to the module below or, in flight, have come."""
        return self._counts.arriving(self.port)

    @override
    def lane(self) -> "Lane[T_co]":
        lane = Lane(self.edge, self.port, self.count)
        lane.hand_over(None)
        return lane

    def hand_over(self, asker: trio.lowlevel.Task | None) -> None:
        """A user's code has it, and asks in this task or in one that is not known yet."""
        self.handed, self.asker = True, asker
        self.edge.run.detector.lanes.add(self)
        self.edge.run.detector.check_soon()


def first_lane(edge: Edge[T], port: Port) -> Lane[T]:
    """A first lane for the module that has the `port`, which further lanes are taken from."""
    watcher = edge.run.watcher
    return Lane(edge, port) if watcher is None else watcher.lane(edge, port)


async def dismiss_all(lanes: "Sequence[Lane[Any]]", reason: BaseException | None) -> None:
    """Terminate what is upstream, each input in a task of its own, whose stack begins anew.

    Raises:
        BaseException: what the first release to fail raised.
    """
    # All are told before any other task runs, or a value could pass on one while another lets go (R5, R6).
    told = [(lane, lane.close(reason)) for lane in lanes]
    if reason is not None:
        # An ask that goes through several is cancelled in the next step, and must not be taken for an abort there.
        hearing = [lane.edge for lane in lanes]
        for edge in hearing:
            hearing += edge.announce(reason)
    failures: list[BaseException] = []

    async def confirm(lane: "Lane[Any]", closed: bool) -> None:  # noqa: FBT001
        try:
            await lane.confirm(reason, closed=closed)
        except BaseException as exc:
            if without_cancelled(exc) is None:
                raise
            failures.append(exc)

    async with trio.open_nursery() as nursery:
        for lane, closed in told:
            nursery.start_soon(confirm, lane, closed)
    if failures:
        raise failures[0]
