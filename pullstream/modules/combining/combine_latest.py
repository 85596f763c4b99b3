"""`combine_latest`: the latest value of every source, whenever one changes."""

from collections.abc import Hashable
from functools import reduce
from typing import Annotated, Any, Final, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.parts.fan_in import FanIn
from pullstream.engine.traits import Carries, Traits
from pullstream.protocol import DONE, Batch, Done, TimedBatch
from pullstream.timely import join, less_equal

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

_NONE: Final[Any] = object()


class _CombineLatest(FanIn):
    traits = Traits(trusted=True, carries=Carries.LOST, reorders=True)
    takes_many = True

    def __init__(self, *sources: Source[Any]) -> None:
        super().__init__(*sources)
        self._latest = [_NONE] * len(sources)
        self._times: list[Hashable] = [None] * len(sources)
        self._joined: Hashable = None
        self._lacking = len(sources)
        self._turn = 0
        self._failed: BaseException | None = None
        """The failure to join the times of the next row, when rows came before it."""

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._failed is not None:
            raise self._failed
        while True:
            rows: list[tuple[Any, ...]] = []
            times: list[Hashable] = []
            try:
                self._gather(rows, times, limit)
            except BaseException as exc:
                if not rows:
                    raise
                self._failed = exc
            if rows:
                self.settle()
                if not times:
                    return Batch(self._joined, rows)
                times += [self._joined] * (len(rows) - len(times))
                return TimedBatch(times, rows)
            if self.failure_above is not None:
                raise self.failure_above
            if all(each.done for each in self.all) or self._hopeless():
                return DONE
            self.ask_inputs(limit)
            await self.change()

    def _hopeless(self) -> bool:
        return any(each.done and value is _NONE for each, value in zip(self.all, self._latest, strict=True))

    def _gather(self, rows: list[tuple[Any, ...]], times: list[Hashable], limit: int) -> None:
        """Take values one from each input in turn, so that it makes no difference how many came at once.

        The rows for which there is no time here are at the time that was joined last.
        """
        latest, known, inputs, turn, idle = self._latest, self._times, self.all, self._turn, 0
        total = len(inputs)
        try:
            while len(rows) < limit and idle < total:
                each = inputs[turn]
                used = each.used
                if used < len(each.values):
                    time = each.time if each.times is None else each.times[used]
                    if known[turn] is not time:
                        joined = self._join(turn, time)
                        if rows and joined is not self._joined and joined != self._joined:
                            times += [self._joined] * (len(rows) - len(times))
                        self._joined = joined
                        known[turn] = time
                    if self._lacking and latest[turn] is _NONE:
                        self._lacking -= 1
                    latest[turn] = each.values[used]
                    each.used = used + 1
                    idle = -1
                    if not self._lacking:
                        rows.append(tuple(latest))
                idle += 1
                turn = (turn + 1) % total
        finally:
            self._turn = turn

    def _join(self, number: int, at: Hashable) -> Hashable:
        before = self._times[number]
        if self._joined is not None and (before is None or less_equal(before, at)):
            # What was joined before is part of it.
            return join(self._joined, at)
        others = (time for other, time in enumerate(self._times) if other != number and time is not None)
        return reduce(join, others, at)


@overload
def combine_latest(a: Source[A], /) -> Source[tuple[A]]: ...
@overload
def combine_latest(a: Source[A], b: Source[B], /) -> Source[tuple[A, B]]: ...
@overload
def combine_latest(a: Source[A], b: Source[B], c: Source[C], /) -> Source[tuple[A, B, C]]: ...
@overload
def combine_latest(a: Source[A], b: Source[B], c: Source[C], d: Source[D], /) -> Source[tuple[A, B, C, D]]: ...
@overload
def combine_latest(*sources: Source[A]) -> Source[tuple[A, ...]]: ...
@source
def combine_latest(*sources: Annotated[Source[Any], checks.sources]) -> Source[tuple[Any, ...]]:
    """Give the tuple of every source's latest value, each time one of them has a new one.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.combine_latest(ps.once("a"), ps.once(1)), ps.collect()))
    [('a', 1)]

    It begins when each has given one, and ends when all have ended, or one without a value. Values count as they come,
    in turn where several are there. A tuple's time is the least upper bound of its values' times. A source that fails
    ends the others, after what had come before is delivered (R6, R8).
    """
    return opens(_CombineLatest(*sources))
