"""`merge`: several sources, values as they come."""

from bisect import bisect_left, insort
from collections.abc import Collection
from itertools import count
from operator import itemgetter
from typing import Annotated, Any, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.fan_in import FanIn, Input
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")


class Merge(FanIn):
    """Gives what is there, from one input after another."""

    traits = Traits(prompt=True, trusted=True, reorders=True)
    takes_many = True
    _turn = 0

    @override
    async def acquire(self) -> None:
        # Of thousands of inputs only those are looked at that have something, or of which nothing is left.
        self._numbers = count()
        self._number: dict[Input, int] = {}
        self._having: list[tuple[int, Input]] = []
        self._empty: list[Input] = []
        await super().acquire()

    @override
    def enter(self, each: Input) -> None:
        super().enter(each)
        self._number[each] = next(self._numbers)
        self._empty.append(each)

    @override
    def leave(self, inputs: Collection[Input]) -> None:
        super().leave(inputs)
        for each in inputs:
            del self._number[each]

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        super().arrived(lane, answer)
        each = self._inputs[lane]
        if each.left:
            insort(self._having, (self._number[each], each), key=itemgetter(0))

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            await self.ask_prompt_inputs(limit, self._empty)
            self.ask_inputs(limit, self._empty)
            self._empty.clear()
            if self._having:
                return self._part(limit)
            if self.failure_above is not None:
                raise self.failure_above
            if self.finished():
                return DONE
            if not self.edge.open:
                return DONE
            await self.change()

    def _part(self, limit: int) -> Batch[Any]:
        """Values of the input whose turn it is, of those that have any."""
        at = bisect_left(self._having, self._turn, key=itemgetter(0)) % len(self._having)
        number, each = self._having[at]
        self._turn = number + 1
        part = each.part(limit)
        if not each.left:
            del self._having[at]
            self._empty.append(each)
        return part

    def finished(self) -> bool:
        """Whether nothing will come any more."""
        return not self.going


@overload
def merge(a: Source[A], /) -> Source[A]: ...
@overload
def merge(a: Source[A], b: Source[B], /) -> Source[A | B]: ...
@overload
def merge(a: Source[A], b: Source[B], c: Source[C], /) -> Source[A | B | C]: ...
@overload
def merge(a: Source[A], b: Source[B], c: Source[C], d: Source[D], /) -> Source[A | B | C | D]: ...
@overload
def merge(*sources: Source[T]) -> Source[T]: ...
@source
def merge(*sources: Annotated[Source[Any], checks.sources]) -> Source[Any]:
    """Give the values of several sources as they come.

    >>> import pullstream as ps
    >>> sorted(ps.run(ps.pipe(ps.merge(ps.values([1, 4]), ps.values([2, 3])), ps.collect())))
    [1, 2, 3, 4]

    All are asked at once, and only while there is an ask; those that have something take turns, so that none waits for
    ever. One batch of each is kept at most. Each batch keeps its time, and a time is complete when it is so in every
    source. It ends when all have; one that fails ends the others, after what had come before is delivered (R6, R8).
    """
    return opens(Merge(*sources))
