"""`prefetch`: asking ahead."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Transformer, count_argument
from pullstream.engine.beside import Beside
from pullstream.engine.lane import Lane
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")


class Prefetch(Beside[Any]):
    """Keeps an ask outstanding for as many values as there is room for; what came is held until it is answered."""

    def __init__(self, count: int) -> None:
        self._room = count
        self._kept: deque[tuple[Hashable, Sequence[Any]]] = deque()
        self._given = 0
        self._end: Done | BaseException | None = None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        self.ask_ahead()
        while not self._kept:
            if isinstance(self._end, BaseException):
                raise self._end
            if self._end is not None:
                return DONE
            await self.change()
        time = self._kept[0][0]
        values: list[Any] = []
        while self._kept and self._kept[0][0] == time and len(values) < limit:
            self._take(values, limit)
        self._room += len(values)
        self.ask_ahead()
        return Batch(time, values)

    def _take(self, values: list[Any], limit: int) -> None:
        time, kept = self._kept[0]
        part = kept[self._given : self._given + limit - len(values)]
        values.extend(part)
        self._given += len(part)
        if self._given == len(kept):
            self._kept.popleft()
            self._given = 0
            self.seat.drop(time)

    def ask_ahead(self) -> None:
        """Have an ask outstanding while there is room."""
        if self._room and self._end is None:
            self.ask_beside(self.upstream, self._room)

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if not isinstance(answer, Batch):
            self._end = answer
            return
        self.seat.hold(answer.time)
        self._kept.append((answer.time, answer.values))
        self._room -= len(answer.values)
        lane.ack()
        self.ask_ahead()


def prefetch(count: int) -> Transformer[A, A]:
    """Ask ahead, and keep up to `count` values until they are asked for: what is above works while what is below does.

    Two stages with a prefetch between them take, together, as long as the slower one alone.

    >>> import trio, pullstream as ps
    >>> async def slowly(n):
    ...     await trio.sleep(0.001)
    ...     return n
    >>> stages = ps.pipe(ps.map_async(slowly, 1), ps.prefetch(4), ps.map_async(slowly, 1))
    >>> ps.run(ps.pipe(ps.values("abc"), stages, ps.collect()))
    ['a', 'b', 'c']

    It begins with the first ask. From then on it asks whenever there is room, so an abort may find up to `count` values
    that were produced and are wanted no more; they are dropped. What is kept is held at its times. If upstream fails,
    the values before come first (R8).
    """
    count_argument("prefetch", "count", count, least=1)
    return Transformer((Module("prefetch", Prefetch, (count,)),))
