"""`zip` and `combine_latest`: tuples of the values of several sources."""

import builtins
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import repeat
from typing import Annotated, Any, Literal, get_args, overload

from typing_extensions import override

from pullstream.blueprint import Call, OneOf, Source, checks
from pullstream.blueprint.variables import A, B, C, D
from pullstream.decorators import opens, source
from pullstream.engine.parts.fan_in import Input, ManyInputs
from pullstream.engine.sidecar.location import NOTHING
from pullstream.engine.traits import Carries, Traits
from pullstream.errors import JournalError, LengthError
from pullstream.protocol import DONE, Batch, Done, Unanswered
from pullstream.timely import join, less_equal

Mode = Literal["shortest", "strict", "padded"]


class _Zip(ManyInputs):
    def __init__(self, *sources: Source[Any], mode: Mode = "shortest", fill: Any = None) -> None:
        super().__init__(*sources)
        self._mode = mode
        self._fill = fill
        self._rows = 0

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        asked = self.ask_inputs(limit)
        there = self.having
        # A failed source has not ended, so its missing values are not padded.
        padded = self._mode == "padded" and self.failure_above is None
        ended = len(self.all) - self.going if padded else 0
        if there and len(there) + ended == len(self.all):
            return self._batch(there, min(limit, *(each.left for each in there)))
        return DONE if self._over() else asked

    def _batch(self, there: Sequence[Input], count: int) -> Batch[Any]:
        if self.scope.keeping.saves:
            # Values of different times are refused, after the values before them.
            count = min(each.run(count) for each in there)
        joined: Any = reduce(join, (each.first for each in there))
        if self.scope.keeping.saves and any(each.first != joined for each in there):
            raise JournalError(
                f"{self.location} pairs values of different times, {', '.join(repr(each.first) for each in there)}. "
                f"Which values meet depends on everything before them, so a run with a journal could not resume here. "
                f"Pair values by key instead: join(..., on=...)"
            )
        times = None
        if any(each.times is not None for each in there):
            # Join before acknowledging: if joining fails, the values from there on are not handled.
            times = self._join(there, count)
            count = len(times)
        parts = [each.take(count) if each else None for each in self.all]
        self.empty += [each for each in there if not each]
        self.having = [each for each in there if each]
        columns = [repeat(self._fill, count) if part is None else part.values for part in parts]
        rows = list(builtins.zip(*columns, strict=True))
        self._rows += count
        return Batch(joined, rows) if times is None else Batch.of(times, rows)

    def _join(self, there: Sequence[Input], count: int) -> list[Hashable]:
        """Join the times of the next rows; stop before a failure, which the next ask raises (R8)."""
        columns = [
            repeat(each.first, count) if each.times is None else each.times[each.used : each.used + count]
            for each in there
        ]
        times: list[Hashable] = []
        try:
            times.extend(reduce(join, row) for row in builtins.zip(*columns, strict=True))
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.edge.fail_next(exc, times)
        return times

    def _over(self) -> bool:
        padded = self._mode == "padded"
        if not self.all or (padded and self.failure_above is None):
            return not self.going
        # As with the builtin, the first source without a next value decides, whatever the later ones have. An ended
        # source decides nothing if it is padded, or in "strict" mode if it is source 1: then the others must end, too.
        there = self.having
        if padded or (self._mode == "strict" and self.all[0].done):
            first = next((each for each in self.all if not (each.done or (padded and each))), None)
        else:
            # All sources before it have a value, so their numbers are their positions.
            first = self.all[bisect_left(range(len(there)), 1, key=lambda place: there[place].number - place)]
        if first is None:
            return True
        if not first and first.reached() is None:
            if self.failure_above is not None and not self.asked(first):
                raise self.failure_above
            return False
        # A run that is being finished ends the sources where they are.
        if self._mode == "strict" and not self.run.finishing:
            ended = next(each.number for each in self.all if each.done)
            raise LengthError(
                f"{self.location}: source {ended + 1} has ended after {self._rows} values, but source "
                f"{there[0].number + 1} has more. Use mode='shortest' to end with the shortest source, or "
                f"mode='padded' to pad with fill="
            )
        return True


def _padding(call: Call, fill: Any) -> Any:
    if call["mode"] != "padded":
        raise call.refuse(f"got fill= with mode={call['mode']!r}: fill= needs mode='padded'")
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
    mode: Annotated[Mode, OneOf(*get_args(Mode))] = "shortest",
    fill: Annotated[Any, _padding] = None,
) -> Source[tuple[Any, ...]]:
    """Emit tuples: the first value of every source, then the second of every source, and so on.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.zip(ps.values("ab"), ps.integers(1)), ps.collect()))
    [('a', 1), ('b', 2)]

    `mode` decides what happens when a source ends. "shortest": the result ends, and the other sources are aborted (R7).
    "strict": it fails unless all sources end together, or are ended by `running.finish()`. "padded": `fill` takes the
    place of missing values until all sources have ended:

    >>> ps.run(ps.pipe(ps.zip(ps.values("ab"), ps.once(1), mode="padded", fill=0), ps.collect()))
    [('a', 1), ('b', 0)]

    The time of a tuple is the least upper bound of its values' times. All sources are asked at the same time, and at
    most one batch of each is kept. If a source fails, the failure is raised when its next value would be needed, and
    the others are ended (R6, R8). As with the builtin, the first source without a next value decides: an earlier source
    that has ended, or has failed, comes before a later failure.

    Raises: LengthError: in "strict" mode, one source has ended and another has more.
    """
    return opens(_Zip(*sources, mode=mode, fill=fill))


class _CombineLatest(ManyInputs):
    traits = Traits(trusted=True, carries=Carries.LOST, reorders=True)

    def __init__(self, *sources: Source[Any]) -> None:
        super().__init__(*sources)
        self._latest: list[Any] = [NOTHING] * len(sources)
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
        self.ask_due()
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
        return DONE if not self.going or self._hopeless else self.ask_inputs(limit)

    @override
    def input_answered(self, each: Input) -> None:
        super().input_answered(each)
        if each.done and self._latest[each.number] is NOTHING:
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
            if self._lacking and latest[number] is NOTHING:
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
    """Emit the tuple of every source's latest value each time one of them has a new one.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.combine_latest(ps.once("a"), ps.once(1)), ps.collect()))
    [('a', 1)]

    The result begins once every source has emitted a value. It ends when all sources have ended, or when one ends
    without a value. Values are used in order of arrival, in turn if several are ready. The time of a tuple is the least
    upper bound of its values' times. If a source fails, the others are ended after all earlier values have been
    delivered (R6, R8).
    """
    return opens(_CombineLatest(*sources))
