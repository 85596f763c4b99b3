"""`combine_latest`: the latest value of every source, whenever one changes."""

from collections.abc import Hashable
from functools import reduce
from typing import Annotated, Any, Final, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, checks
from pullstream.decorators import opens, source
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.fan_in import Input, ManyInputs
from pullstream.engine.traits import Carries, Traits
from pullstream.protocol import DONE, Batch, Done, Unanswered
from pullstream.timely import join, less_equal

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

_NONE: Final[Any] = object()


class _CombineLatest(ManyInputs):
    traits = Traits(trusted=True, carries=Carries.LOST, reorders=True)

    def __init__(self, *sources: Source[Any]) -> None:
        super().__init__(*sources)
        self._latest = [_NONE] * len(sources)
        self._times: list[Hashable] = [None] * len(sources)
        self._joined: Hashable = None
        self._lacking = len(sources)
        self._hopeless = False
        """Whether a source has ended without a value, so there will never be a row."""
        self._turn = 0
        self._used: dict[Input, None] = {}
        """The inputs whose values were used since the last answer."""

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        rows: list[tuple[Any, ...]] = []
        times: list[Hashable] = []
        try:
            self._gather(rows, times, limit)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.edge.fail_next(exc, rows)
        if rows:
            self.settle(self._used)
            self._used.clear()
            if not times:
                return Batch(self._joined, rows)
            times += [self._joined] * (len(rows) - len(times))
            return Batch.of(times, rows)
        if self.failure_above is not None:
            raise self.failure_above
        return DONE if not self.going or self._hopeless else self.ask_inputs(limit, self.empty)

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        super().arrived(lane, answer)
        if answer is DONE and self._latest[self._inputs[lane].number] is _NONE:
            self._hopeless = True

    def _gather(self, rows: list[tuple[Any, ...]], times: list[Hashable], limit: int) -> None:
        """Take one value from each input in turn, so that batch sizes make no difference.

        Rows without an entry in `times` are at the last joined time.
        """
        latest, known, having = self._latest, self._times, self.having
        at = self.at(self._turn)
        while having and len(rows) < limit:
            if at >= len(having):
                at = 0
            each = having[at]
            number = self._turn = each.number
            used = each.used
            head = each.head
            time = head.time if head.uniform else head.times[used]
            if known[number] is not time:
                joined = self._join(number, time)
                if rows and joined is not self._joined and joined != self._joined:
                    times += [self._joined] * (len(rows) - len(times))
                self._joined = joined
                known[number] = time
            if self._lacking and latest[number] is _NONE:
                self._lacking -= 1
            latest[number] = head.values[used]
            self._used[each] = None
            each.used = used = used + 1
            self._turn = number + 1
            if used < len(head.values):
                at += 1
            else:
                del having[at]
                self.empty.append(each)
            if not self._lacking:
                rows.append(tuple(latest))

    def _join(self, number: int, at: Hashable) -> Hashable:
        before = self._times[number]
        if self._joined is not None and (before is None or less_equal(before, at)):
            # The times joined so far are part of the new one.
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
    """Give the tuple of every source's latest value each time one of them has a new one.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.combine_latest(ps.once("a"), ps.once(1)), ps.collect()))
    [('a', 1)]

    The result begins once every source has given a value. It ends when all sources have ended, or when one ends without
    a value. Values are used in order of arrival, in turn if several are ready. The time of a tuple is the least upper
    bound of its values' times. If a source fails, the others are ended after all earlier values have been delivered
    (R6, R8).
    """
    return opens(_CombineLatest(*sources))
