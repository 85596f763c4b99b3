"""`merge`: several sources, values as they come."""

from typing import Any, ClassVar

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Source
from pullstream.combining.fan_in import FanIn, sources_argument
from pullstream.protocol import DONE, Batch, Done, State

T = TypeVar("T")


class Merge(FanIn):
    """Gives what is there, from one input after another."""

    reorders: ClassVar[bool] = True
    prompt: ClassVar[bool] = True
    _turn = 0

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            await self.ask_prompt_inputs(limit)
            self.ask_inputs(limit)
            for each in (*self.all[self._turn :], *self.all[: self._turn]):
                if each.left:
                    self._turn = self.all.index(each) + 1
                    return each.part(limit)
            if self.failure_above is not None:
                raise self.failure_above
            if self.finished():
                return DONE
            if self.state is not State.OPEN:
                return DONE
            await self.change()

    def finished(self) -> bool:
        """Whether nothing will come any more."""
        return all(each.done for each in self.all)


def merge(*sources: Source[T]) -> Source[T]:
    """Give the values of several sources as they come.

    >>> import pullstream as ps
    >>> sorted(ps.run(ps.pipe(ps.merge(ps.values([1, 4]), ps.values([2, 3])), ps.collect())))
    [1, 2, 3, 4]

    All are asked at once, and only while there is an ask; those that have something take turns, so that none waits for
    ever. One batch of each is kept at most. Each batch keeps its time, and a time is complete when it is so in every
    source. It ends when all have; one that fails ends the others, after what had come before is delivered (R6, R8).
    """
    sources_argument("merge", sources)
    return Source((Module("merge", Merge, sources),))
