"""`prefetch`: asking ahead."""

from typing import Any, Final

from typing_extensions import TypeVar, override

from pullstream.blueprint import Positive
from pullstream.blueprint.parts import Same
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.outbox import Outbox
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.traits import Traits
from pullstream.protocol import Batch, Done, TimedBatch
from pullstream.timely.order import Ascending, in_one_order

A = TypeVar("A", default=Any)

FEW: Final = 64
"""The number of values whose times may each be compared with all others: of thousands that takes seconds."""


class Prefetch(TaskKernel[Any]):
    """Keeps an ask outstanding for as many values as there is room for; what came is held until it is answered."""

    traits = Traits(trusted=True, asks_apart=True)
    takes_many = True

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept = Outbox(self)
        self._most = FEW
        """The most values to ask for at a time: more and more, as long as their times are quickly compared."""

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        self.ask_ahead()
        while (answer := self._kept.answer(limit)) is None:
            await self.change()
        self.ask_ahead()
        return answer

    def ask_ahead(self) -> None:
        """Keep an ask outstanding while there is room."""
        room = self._capacity - self._kept.values
        if room > 0 and self._kept.ending is None:
            self.ask_beside(self.upstream, min(room, self._most))

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if not isinstance(answer, Batch):
            self._kept.end(answer)
            return
        quick = not isinstance(answer, TimedBatch) or isinstance(answer.times, Ascending) or in_one_order(answer.times)
        self._most = min(self._capacity, 2 * self._most) if quick else FEW
        self._kept.put_batch(answer)
        lane.ack()
        self.ask_ahead()


@transformer
def prefetch(capacity: Positive) -> Same[A]:
    """Ask ahead, and keep up to `capacity` values until they are wanted: what is above works while what is below does.

    Two stages with a prefetch between them take, together, as long as the slower one alone.

    >>> import trio, pullstream as ps
    >>> async def slowly(n):
    ...     await trio.sleep(0.001)
    ...     return n
    >>> stages = ps.pipe(ps.map_async(slowly, 1), ps.prefetch(4), ps.map_async(slowly, 1))
    >>> ps.run(ps.pipe(ps.values("abc"), stages, ps.collect()))
    ['a', 'b', 'c']

    It begins with the first ask. From then on it asks whenever there is room, so an abort may find up to `capacity`
    values that were produced and are wanted no more; they are dropped. What is kept is held at its times. If upstream
    fails, the values before come first (R8).
    """
    return opens(Prefetch(capacity))
