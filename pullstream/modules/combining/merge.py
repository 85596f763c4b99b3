"""`merge`, `concat` and `merge_sorted`: several sources as one stream, by arrival, one after another, or sorted."""

from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from typing import Annotated, Any, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Key, Source, checks, shortened
from pullstream.blueprint.variables import A, B, C, D, T
from pullstream.decorators import alike, opens, source
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.fan_in import FanIn, Input, ManyInputs, Meeting
from pullstream.engine.sidecar.location import NOTHING
from pullstream.engine.traits import PROMPT, Traits
from pullstream.errors import PullstreamError
from pullstream.failures import Caught
from pullstream.modules.values.on_error import OnError, catches, guarded
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered


class Merge(ManyInputs):
    """Emits the values that are ready; the inputs take turns."""

    traits = Traits(trusted=True, reorders=True)
    _turn = 0

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        asked = self.ask_inputs(limit)
        if self.having:
            return self._part(limit)
        if self.failure_above is not None:
            raise self.failure_above
        return DONE if self.finished() else asked

    def _part(self, limit: int) -> Batch[Any]:
        """Return values of the next input in turn that has any."""
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
    """Emit the values of several sources as they arrive.

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
    def __next_input__(self) -> Lane[Any]:
        return self.inputs[self._turn]


@alike(merge)
@source
def concat(*sources: Annotated[Source[Any], checks.sources]) -> Source[Any]:
    """Emit the values of one source after another.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.concat(ps.values("ab"), ps.once("c")), ps.collect()))
    ['a', 'b', 'c']

    A source is opened only when the one before it has ended. Each batch keeps its time. While an earlier source runs,
    the times that a later source may still emit are not complete. An abort or a failure ends all of them (R6).
    """
    return opens(_Concat(*sources))


class _MergeSorted(FanIn):
    def __init__(self, *sources: Source[Any], key: Callable[[Any], Any] | None, on_error: object) -> None:
        super().__init__(*sources)
        self._catches = key is not None and catches(on_error)
        self._key = guarded(key) if key is not None and self._catches else key
        self._marks = Backlog(self)
        """The values that are left out because their key failed, then a failure of this module."""
        self._heads: list[tuple[Any, int]] = []
        self._latest: list[Any] = [NOTHING] * len(sources)
        """The key of the latest value of each input so far."""
        self._at: Hashable = None
        self._used: set[Input] = set()
        """The inputs with a partly used multi-time batch that is not yet acknowledged."""
        # Inputs whose next value is not among the heads. Keys are computed one by one, as they are needed.
        self._missing = list(range(len(sources)))

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        values: list[Any] = []
        times: list[Hashable] = []
        if not self._marks.known:
            try:
                self._gather(values, times, limit)
            except BaseException as exc:  # noqa: BLE001 - raised after the values before it
                self._marks.end(exc)
            else:
                if values or self._marks:
                    # Even with thousands of inputs, there is often only one whose next value is unknown.
                    self.settle((*self._used, *[self.all[number] for number in self._missing]))
                    self._used.clear()
        if values:
            return Batch.of(times, values) if times else Batch(self._at, values)
        if (answer := self._marks.answer(limit)) is not None:
            return answer
        if self.failure_above is not None:
            raise self.failure_above
        return self.ask_inputs(limit) if self._heads or self._missing else DONE

    def _gather(self, values: list[Any], times: list[Hashable], limit: int) -> None:
        """Take values in order while the next one of every input is known. `times` stays empty if all are at `_at`."""
        heads, missing, inputs, take_run = self._heads, self._missing, self.all, self._take_run
        time: Hashable = None
        try:
            while len(values) < limit and (not missing or self._look()) and heads:
                each = inputs[heappop(heads)[1]]
                if (every := each.times) is not None:
                    times += [time] * (len(values) - len(times))
                    self._used.add(each)
                    used = each.used
                    try:
                        take_run(each, values, limit)
                    finally:
                        times += every[used : each.used]
                    continue
                if each.first is not time:
                    if values and each.first != time:
                        times += [time] * (len(values) - len(times))
                    time = each.first
                take_run(each, values, limit)
        finally:
            self._at = time
            if times:
                times += [time] * (len(values) - len(times))

    def _take_run(self, each: Input, values: list[Any], limit: int) -> None:
        """Take the head of an input, and the values after it that come before every other head."""
        key, heads, source, used, number = self._key, self._heads, each.head.values, each.used, each.number
        end = min(len(source), used + limit - len(values))
        latest = self._latest[number]
        other = heads[0] if heads else None
        value = source[used]
        try:
            while True:
                values.append(value)
                used += 1
                if used == end:
                    self._missing.append(number)
                    break
                value = source[used]
                order = value if key is None else key(value)
                if self._catches and order.__class__ is Caught:
                    value = order
                    continue
                if order < latest:
                    raise self._disorder(number, value, latest, order)
                latest = order
                if other is not None and other < (head := (order, number)):
                    heappush(heads, head)
                    break
        finally:
            each.used, self._latest[number] = used, latest
            if not each:
                self.empty.append(each)

    def _disorder(self, number: int, value: Any, latest: Any, order: Any) -> PullstreamError:
        got, latest = f"gave {shortened(repr(value), 60)}", shortened(repr(latest), 60)
        if self._key is None:
            got, instead = f"{got} after {latest}", "or pass key=, the function that they are sorted by"
        else:
            got = f"{got} with the key {shortened(repr(order), 60)} after one with the key {latest}"
            instead = "or pass the key that they are sorted by"
        return PullstreamError(
            f"{self.location}, needs the values of each source in order, and source {number + 1} {got}. Sort them "
            f"first, for example values(sorted(...)), {instead}"
        )

    def _look(self) -> bool:
        """Read the next value of every open input; False if one is not available yet."""
        key, missing = self._key, self._missing
        while missing:
            each = self.all[missing[0]]
            if each:
                value = each.head.values[each.used]
                head = value if key is None else key(value)
                if self._catches and head.__class__ is Caught:
                    self._marks.put(Batch(each.first, (head,)))
                    each.used += 1
                    if not each:
                        self.empty.append(each)
                    self._used.add(each)
                    continue
                number = missing[0]
                if self._latest[number] is not NOTHING and head < self._latest[number]:
                    raise self._disorder(number, value, self._latest[number], head)
                self._latest[number] = head
                heappush(self._heads, (head, number))
            elif not each.done:
                return False
            del missing[0]
        return True


@source
def merge_sorted(
    *sources: Annotated[Source[T], checks.sources], key: Key[T, Any] | None = None, on_error: OnError[T] = "fail"
) -> Source[T]:
    """Merge sorted sources into one sorted stream.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.merge_sorted(ps.values([1, 4, 4]), ps.values([2, 4, 5])), ps.collect()))
    [1, 2, 4, 4, 4, 5]

    With `key`, the sources are sorted by it. Equal values are all kept, in the order of the sources:

    >>> ps.run(ps.pipe(ps.merge_sorted(ps.values(["b", "D"]), ps.values(["B", "c"]), key=str.lower), ps.collect()))
    ['b', 'B', 'c', 'D']

    A value waits until the next one of every source is known. At most one batch of each source is kept, and each value
    keeps its time. If a source fails, the failure is raised when its next value would be needed, and the others are
    ended (R6, R8). Errors in `key` are handled as in `map`, except that there is no `on_error="result"`.

    Raises:
        PullstreamError: the values of a source are not in order.
    """
    return opens(_MergeSorted(*sources, key=key, on_error=on_error))
