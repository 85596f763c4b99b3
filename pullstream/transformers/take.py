"""`take`, `take_times`: a stream's beginning."""

from collections.abc import AsyncIterator, Hashable
from typing import Any, ClassVar

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Transformer, count_argument
from pullstream.decorators import transformer
from pullstream.engine.context import Completed, Context
from pullstream.engine.kernel import Kernel
from pullstream.protocol import DONE, Batch, Done, Reader

A = TypeVar("A")


class _Take(Kernel[Any]):
    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True

    def __init__(self, count: int) -> None:
        self._left = count

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._left == 0:
            return DONE
        batch = await self.upstream.ask(min(limit, self._left))
        if batch is not DONE:
            self._left -= len(batch.values)
        return batch

    @override
    def acknowledged(self) -> None:
        self.upstream.ack()


def take(count: int) -> Transformer[A, A]:
    """Give the first `count` values, then abort what is upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(), ps.take(3), ps.collect()))
    [0, 1, 2]

    It never asks for more than it gives, and aborts with the ask after the last value (R7). It may end in the middle
    of a time, which is then complete with a part of its values: `take_times` takes whole times.
    """
    count_argument("take", "count", count)
    return Transformer((Module("take", _Take, (count,)),))


@transformer
async def _take_times(upstream: Reader[Any], ctx: Context, count: int) -> AsyncIterator[Batch[Any]]:
    taken: set[Hashable] = set()
    pending = count
    if count == 0:
        return
    async for event in ctx.events(upstream):
        match event:
            case Batch(time, _):
                if time not in taken and len(taken) < count:
                    taken.add(time)
                    ctx.notify_at(time)
                if time in taken:
                    yield event
            case Completed():
                pending -= 1
                if pending == 0:
                    return


def take_times(count: int) -> Transformer[A, A]:
    """Give all values of the first `count` times that come, then abort what is upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 11, 20, 21, 30], time=lambda n: n // 10), ps.take_times(2), ps.collect()))
    [10, 11, 20, 21]

    It ends as soon as those times are complete at its input: for a source in time order, when the next time comes,
    or sooner if the source knows sooner. Batches at other times that come before are dropped.
    """
    count_argument("take_times", "count", count)
    (module,) = _take_times(count).modules
    return Transformer((attrs.evolve(module, name="take_times"),))
