"""`concat`: sources one after another."""

from collections.abc import Awaitable
from typing import Annotated, Any, overload

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.fan_in import Meeting
from pullstream.engine.traits import PROMPT
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")


class _Concat(PolledKernel[Any]):
    def __init__(self, *sources: Source[Any]) -> None:
        self.traits = attrs.evolve(PROMPT, sources=sources)
        self._turn = 0

    @override
    def placed(self) -> None:
        self._meeting = Meeting(self)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self._turn == len(self.inputs):
            return DONE
        lane = self.inputs[self._turn]
        answer = lane.poll(limit)
        if answer is DONE:
            self._turn += 1
            return NOT_YET
        if isinstance(answer, Batch):
            self._meeting.meet(answer)
            lane.settle()
        return answer

    @override
    def wait(self) -> Awaitable[None]:
        return self.inputs[self._turn].ready()


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
