"""`concat`: sources one after another."""

from typing import Annotated, Any, overload

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.fan_in import Meeting
from pullstream.engine.traits import PROMPT
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")


class _Concat(Kernel[Any]):
    def __init__(self, *sources: Source[Any]) -> None:
        self.traits = attrs.evolve(PROMPT, sources=sources)
        self._turn = 0

    @override
    async def acquire(self) -> None:
        self._meeting = Meeting(self)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        # A closed edge has already ended all inputs, so the next one must not be asked (R9).
        while self._turn < len(self.inputs) and self.edge.open:
            batch = await self.inputs[self._turn].ask_many(limit)
            if batch is not DONE:
                self._meeting.meet(batch)
                self.inputs[self._turn].settle()
                return batch
            self._turn += 1
            await self.breathe()
        return DONE


@overload
def concat(a: Source[A], /) -> Source[A]: ...
@overload
def concat(a: Source[A], b: Source[B], /) -> Source[A | B]: ...
@overload
def concat(a: Source[A], b: Source[B], c: Source[C], /) -> Source[A | B | C]: ...
@overload
def concat(a: Source[A], b: Source[B], c: Source[C], d: Source[D], /) -> Source[A | B | C | D]: ...
@overload
def concat(*sources: Source[T]) -> Source[T]: ...
@source
def concat(*sources: Annotated[Source[Any], checks.sources]) -> Source[Any]:
    """Give the values of one source after another.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.concat(ps.values("ab"), ps.once("c")), ps.collect()))
    ['a', 'b', 'c']

    A source is opened only when the one before it has ended. Each batch keeps its time. While an earlier source runs,
    the times that a later source may still give are not complete. An abort or a failure ends all of them (R6).
    """
    return opens(_Concat(*sources))
