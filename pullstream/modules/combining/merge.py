"""`merge` and `concat`: several sources, all at once or one after another."""

from collections.abc import Awaitable
from typing import Annotated, Any, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Source, checks
from pullstream.blueprint.variables import A, B, C, D, T
from pullstream.decorators import alike, opens, source
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.fan_in import ManyInputs, Meeting
from pullstream.engine.traits import PROMPT, Traits
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered


class Merge(ManyInputs):
    """Gives the values that are ready, from one input after another."""

    traits = Traits(trusted=True, reorders=True)
    _turn = 0

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        asked = self.ask_inputs(limit, self.empty)
        if self.having:
            return self._part(limit)
        if self.failure_above is not None:
            raise self.failure_above
        return DONE if self.finished() else asked

    def _part(self, limit: int) -> Batch[Any]:
        """Give values of the next input in turn that has any."""
        at = self.at(self._turn) % len(self.having)
        each = self.having[at]
        self._turn = each.number + 1
        part = each.take(limit)
        if not each:
            del self.having[at]
            self.empty.append(each)
        return part

    def finished(self) -> bool:
        """Whether no more values will arrive."""
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
    """Give the values of several sources as they arrive.

    >>> import pullstream as ps
    >>> sorted(ps.run(ps.pipe(ps.merge(ps.values([1, 4]), ps.values([2, 3])), ps.collect())))
    [1, 2, 3, 4]

    All sources are asked at the same time, and only while there is an ask. Sources with values take turns, so none
    waits forever. At most one batch of each is kept. Each batch keeps its time, and a time is complete when it is
    complete in every source. The stream ends when all sources have ended. If one fails, the others are ended after all
    earlier values have been delivered (R6, R8).
    """
    return opens(Merge(*sources))


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


@alike(merge)
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
