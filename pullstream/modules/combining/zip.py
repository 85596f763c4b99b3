"""`zip`: the values of several sources, side by side."""

import builtins
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import repeat
from typing import Annotated, Any, Final, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, OneOf, Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.parts.fan_in import FanIn, Input
from pullstream.errors import JournalError, LengthError
from pullstream.protocol import DONE, Batch, Done, TimedBatch
from pullstream.timely import join

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
Mode = Literal["shortest", "strict", "padded"]

MODES: Final = ("shortest", "strict", "padded")


class _Zip(FanIn):
    def __init__(self, *sources: Source[Any], mode: Mode = "shortest", fill: Any = None) -> None:
        super().__init__(*sources)
        self._mode = mode
        self._fill = fill
        self._rows = 0
        self._failed: BaseException | None = None
        """The failure to join the times of the next row, when rows came before it."""

    @override
    async def acquire(self) -> None:
        # With a journal values of different times are refused, after what comes before them.
        self.takes_many = self.scope.sidecar.keeper is None
        await super().acquire()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._failed is not None:
            raise self._failed
        while True:
            there = [each for each in self.all if each.left]
            count = min((each.left for each in there), default=0)
            if there and all(each.left or (self._mode == "padded" and each.done) for each in self.all):
                return self._batch(there, min(count, limit))
            if self.failure_above is not None:
                raise self.failure_above
            if self._over(there):
                return DONE
            self.ask_inputs(limit)
            await self.change()

    def _batch(self, there: Sequence[Input], count: int) -> Batch[Any]:
        joined: Any = reduce(join, (each.time for each in there))
        if self.scope.sidecar.keeper is not None and any(each.time != joined for each in there):
            raise JournalError(
                f"{self.location} pairs values of different times, {', '.join(repr(each.time) for each in there)}: "
                f"which ones follows from all that came before, so a run with a journal cannot go on in its middle. "
                f"Pair values by what they say: join(..., on=...)"
            )
        times = None
        if any(each.times is not None for each in there):
            # Before anything is acknowledged: if it fails, what is from there on has not been dealt with.
            times = self._join(there, count)
            count = len(times)
        parts = [each.part(count) if each.left else None for each in self.all]
        columns = [repeat(self._fill, count) if part is None else part.values for part in parts]
        rows = list(builtins.zip(*columns, strict=True))
        self._rows += count
        return Batch(joined, rows) if times is None else TimedBatch(times, rows)

    def _join(self, there: Sequence[Input], count: int) -> list[Hashable]:
        """The times of the next rows, up to where they have none; the next ask hears of that (R8)."""
        columns = [
            repeat(each.time, count) if each.times is None else each.times[each.used : each.used + count]
            for each in there
        ]
        times: list[Hashable] = []
        try:
            times.extend(reduce(join, row) for row in builtins.zip(*columns, strict=True))
        except BaseException as exc:
            if not times:
                raise
            self._failed = exc
        return times

    def _over(self, there: Sequence[Input]) -> bool:
        if self._mode == "shortest" and self.all:
            # As with the builtin, the first that has no next value decides; the later ones need not be known.
            return next(each for each in self.all if not each.left).done
        ended = [number for number, each in enumerate(self.all) if each.done]
        if self._mode == "strict" and ended and there:
            more = next(number for number, each in enumerate(self.all) if each.left)
            raise LengthError(
                f"{self.location}: source {ended[0] + 1} has ended after {self._rows} values, and source {more + 1} "
                f"has more; mode='shortest' ends with the first, and mode='padded' fills up with fill=",
            )
        return len(ended) == len(self.all)


def _padding(call: Call, fill: Any) -> Any:
    if call["mode"] != "padded":
        raise call.refuse(f"fills up with fill= in mode='padded' only, not {call['mode']!r}")
    return fill


@overload
def zip(a: Source[A], /, *, mode: Mode = "shortest", fill: Any = None) -> Source[tuple[A]]: ...
@overload
def zip(a: Source[A], b: Source[B], /, *, mode: Mode = "shortest", fill: Any = None) -> Source[tuple[A, B]]: ...
@overload
def zip(
    a: Source[A], b: Source[B], c: Source[C], /, *, mode: Mode = "shortest", fill: Any = None
) -> Source[tuple[A, B, C]]: ...
@overload
def zip(
    a: Source[A], b: Source[B], c: Source[C], d: Source[D], /, *, mode: Mode = "shortest", fill: Any = None
) -> Source[tuple[A, B, C, D]]: ...
@overload
def zip(*sources: Source[A], mode: Mode = "shortest", fill: Any = None) -> Source[tuple[A, ...]]: ...
@source
def zip(
    *sources: Annotated[Source[Any], checks.sources],
    mode: Annotated[Mode, OneOf(*MODES)] = "shortest",
    fill: Annotated[Any, _padding] = None,
) -> Source[tuple[Any, ...]]:
    """Give tuples: the first value of every source, then the second of every source, and so on.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.zip(ps.values("ab"), ps.count(1)), ps.collect()))
    [('a', 1), ('b', 2)]

    The `mode` says what happens when one source has ended. "shortest": so has the result, and the others are aborted
    (R7). "strict": they must all have, or it fails. "padded": `fill` stands for what is missing, until all have ended:

    >>> ps.run(ps.pipe(ps.zip(ps.values("ab"), ps.once(1), mode="padded", fill=0), ps.collect()))
    [('a', 1), ('b', 0)]

    A tuple's time is the least upper bound of its values' times. All sources are asked at once, and one batch of each
    is kept at most. One that fails ends the others, when its next value would be needed (R6, R8).

    Raises:
        LengthError: in "strict" mode, when one source has ended and another has more.
    """
    return opens(_Zip(*sources, mode=mode, fill=fill))
