"""`map_async`: an async function over several values at a time."""

from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, ClassVar

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Transformer, callable_argument, count_argument
from pullstream.engine.kernel import Kernel
from pullstream.errors import without_cancelled
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")


@attrs.define(eq=False)
class _Call:
    """One value, from its arrival until its result is answered."""

    value: Any
    time: Hashable
    ended: bool = False
    failure: BaseException | None = None


class MapAsync(Kernel[Any]):
    """Calls run in tasks of their own; an ask is answered as soon as one result is there.

    A value is held, in the sidecar, from its arrival until its result is answered. Upstream is asked for no more
    than was asked for here and is not here already, so demand does not grow on its way up.
    """

    waits: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    def __init__(self, function: Callable[[Any], Awaitable[Any]], width: int, *, ordered: bool) -> None:
        self._function = function
        self._width = width
        self._ordered = ordered
        self._waiting: deque[_Call] = deque()
        self._under_way: list[_Call] = []
        self._asking_upstream = False
        self._stopped = False
        self._upstream_end: Done | BaseException | None = None
        self._trouble: BaseException | None = None

    @override
    async def acquire(self) -> None:
        self._changed = trio.Event()
        self._quiet = trio.Event()
        self._nursery: trio.Nursery = await self.run.nursery.start(self._host)

    async def _host(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                await trio.sleep_forever()
        finally:
            self._quiet.set()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            self._begin(limit)
            results = self._ready(limit)
            if results:
                for call in results:
                    self._under_way.remove(call)
                    self.seat.drop(call.time)
                return Batch(results[0].time, [call.value for call in results])
            if not self._under_way and self._upstream_end is not None:
                if isinstance(self._upstream_end, BaseException):
                    raise self._upstream_end
                return DONE
            self._changed = trio.Event()
            await self._changed.wait()

    def _begin(self, limit: int) -> None:
        """Start what may start, and ask upstream for what was asked for and is not here."""
        if self._stopped:
            return
        running = sum(not call.ended for call in self._under_way)
        while self._waiting and running < self._width:
            call = self._waiting.popleft()
            self._under_way.append(call)
            self._nursery.start_soon(self._call, call)
            running += 1
        room = limit - len(self._waiting) - len(self._under_way)
        if room > 0 and running < self._width and not self._asking_upstream and self._upstream_end is None:
            self._asking_upstream = True
            self._nursery.start_soon(self._ask, room)

    def _ready(self, limit: int) -> list[_Call]:
        """The results to answer now, all at one time: the head of the row or, out of order, whatever has ended."""
        results: list[_Call] = []
        failed: _Call | None = None
        for call in self._under_way:
            if call.failure is not None:
                failed = failed or call
                if self._ordered:
                    break
            elif call.ended and (not results or call.time == results[0].time):
                results.append(call)
                if len(results) == limit:
                    break
            elif self._ordered:
                break
        if not results and failed is not None:
            assert failed.failure is not None
            raise failed.failure
        return results

    async def _call(self, call: _Call) -> None:
        try:
            awaitable = self._function(call.value)
            if not hasattr(awaitable, "__await__"):
                raise TypeError(f"map_async awaits what its function returns, and got {awaitable!r}: use map")  # noqa: TRY301
            call.value = await awaitable
        except BaseException as exc:
            rest = without_cancelled(exc)
            if rest is None:
                raise
            self._stopped = True
            call.failure = rest
            if self._nursery.cancel_scope.cancel_called:
                self._trouble = rest
        call.ended = True
        self._changed.set()

    async def _ask(self, room: int) -> None:
        if self._nursery.cancel_scope.cancel_called:
            # Started in the very step in which the stream ended: nothing is asked after a termination (R9).
            return
        try:
            batch = await self.upstream.ask(room)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised in the asker's task, after the results before it
            self._upstream_end = exc
        else:
            if batch is DONE:
                self._upstream_end = DONE
            else:
                for value in batch.values:
                    self.seat.hold(batch.time)
                    self._waiting.append(_Call(value, batch.time))
                self.upstream.ack()
        self._asking_upstream = False
        self._changed.set()

    @override
    def halt(self) -> None:
        # An ask that was woken in this very step still runs once more, and must start nothing.
        self._stopped = True
        self._nursery.cancel_scope.cancel()

    @override
    async def release(self) -> None:
        await self._quiet.wait()
        if self._trouble is not None:
            raise self._trouble


def map_async(function: Callable[[A], Awaitable[B]], width: int, *, ordered: bool = True) -> Transformer[A, B]:
    """Apply an async function, to at most `width` values at a time.

    Results come in the order of the values or, with `ordered=False`, as they are ready.

    >>> import trio, pullstream as ps
    >>> async def slowly(n):
    ...     await trio.sleep(0.001 * n)
    ...     return n
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_async(slowly, width=3), ps.collect()))
    [3, 1, 2]

    No more than what was asked for is under way: `take(2)` below lets two calls start, and `run(..., limit=1)` one.
    If a call raises, no other is started; the results before it (in order) or already there (as ready) are
    delivered, the other calls are cancelled, and the exception arrives at the sink (R8). An abort cancels the calls.
    """
    callable_argument("map_async", "function", function)
    count_argument("map_async", "width", width, least=1)
    return Transformer((Module("map_async", MapAsync, (function, width), (("ordered", ordered),)),))
