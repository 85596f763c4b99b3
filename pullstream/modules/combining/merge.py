"""`merge`: several sources, values as they arrive."""

from typing import Annotated, Any, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.parts.fan_in import ManyInputs
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done, Unanswered

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")


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
