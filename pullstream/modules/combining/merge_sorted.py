"""`merge_sorted`: sources that are in order, merged in order."""

from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from typing import Annotated, Any

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, Sync, checks
from pullstream.blueprint.parts import Function
from pullstream.decorators import opens, source
from pullstream.engine.nested.on_error import OnError, catches, guarded
from pullstream.engine.parts.fan_in import FanIn, Input
from pullstream.engine.parts.outbox import Outbox, timed
from pullstream.failures import Caught
from pullstream.protocol import DONE, Batch, Done

T = TypeVar("T")


class _MergeSorted(FanIn):
    takes_many = True

    def __init__(self, *sources: Source[Any], key: Callable[[Any], Any] | None, on_error: object) -> None:
        super().__init__(*sources)
        self._catches = key is not None and catches(on_error)
        self._key = guarded(key) if key is not None and self._catches else key
        self._marks = Outbox(self)
        self._heads: list[tuple[Any, int]] = []
        self._failed: BaseException | None = None
        self._at: Hashable = None
        self._used: set[Input] = set()
        """The inputs of which part of a batch of many times is used, and not acknowledged."""
        # Inputs whose next value is not among the heads: keys are made one by one, and none before it is needed.
        self._missing = list(range(len(sources)))

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            values: list[Any] = []
            times: list[Hashable] = []
            if self._failed is None:
                try:
                    self._gather(values, times, limit)
                except BaseException as exc:  # noqa: BLE001 - raised when what comes before it has been answered
                    self._failed = exc
                else:
                    if values or self._marks:
                        self.settle((*self._used, *self._lacking()))
                        self._used.clear()
            if values:
                return timed(times, values) if times else Batch(self._at, values)
            if self._marks:
                return self._marks.take(limit)
            if self._failed is not None:
                raise self._failed
            if self.failure_above is not None:
                raise self.failure_above
            if not self._heads and not self._missing:
                return DONE
            self.ask_inputs(limit, self._lacking())
            await self.change()

    def _lacking(self) -> list[Input]:
        """The inputs whose next value is not known: of thousands, often one."""
        return [self.all[number] for number in self._missing]

    def _gather(self, values: list[Any], times: list[Hashable], limit: int) -> None:
        """Take values in order, as long as the next one of every input is known; no times if all are at `_at`."""
        heads, missing, inputs, take_run = self._heads, self._missing, self.all, self._take_run
        time: Hashable = None
        try:
            while len(values) < limit and (not missing or self._look()) and heads:
                number = heappop(heads)[1]
                each = inputs[number]
                if each.times is not None:
                    times += [time] * (len(values) - len(times))
                    self._used.add(each)
                    used = each.used
                    try:
                        take_run(each, number, values, limit)
                    finally:
                        times += each.times[used : each.used]
                    continue
                if each.time is not time:
                    if values and each.time != time:
                        times += [time] * (len(values) - len(times))
                    time = each.time
                take_run(each, number, values, limit)
        finally:
            self._at = time
            if times:
                times += [time] * (len(values) - len(times))

    def _take_run(self, each: Input, number: int, values: list[Any], limit: int) -> None:
        """Take the head of an input, and what follows it there and comes before every other head."""
        key, heads, source, used = self._key, self._heads, each.values, each.used
        end = min(len(source), used + limit - len(values))
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
                head = (value if key is None else key(value), number)
                if self._catches and head[0].__class__ is Caught:
                    value = head[0]
                    continue
                if other is not None and other < head:
                    heappush(heads, head)
                    break
        finally:
            each.used = used

    def _look(self) -> bool:
        """Look at the next value of every input that has not ended; False if one is not there yet."""
        key, missing = self._key, self._missing
        while missing:
            each = self.all[missing[0]]
            if each.left:
                value = each.values[each.used]
                head = value if key is None else key(value)
                if self._catches and head.__class__ is Caught:
                    each.used += 1
                    self._used.add(each)
                    self._marks.put(each.time if each.times is None else each.times[each.used - 1], (head,))
                    continue
                heappush(self._heads, (head, missing[0]))
            elif not each.done:
                return False
            del missing[0]
        return True


@source
def merge_sorted(
    *sources: Annotated[Source[T], checks.sources],
    key: Annotated[Function[T, Any] | None, Sync("what has to be awaited goes into map_async, above")] = None,
    on_error: OnError[T] = "fail",
) -> Source[T]:
    """Merge sources whose values are in order into one that is.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.merge_sorted(ps.values([1, 4, 4]), ps.values([2, 4, 5])), ps.collect()))
    [1, 2, 4, 4, 4, 5]

    With `key`, they are in order by it; what is equal is all kept, in the order of the sources:

    >>> ps.run(ps.pipe(ps.merge_sorted(ps.values(["b", "D"]), ps.values(["B", "c"]), key=str.lower), ps.collect()))
    ['b', 'B', 'c', 'D']

    A value waits until the next one of every source is known; one batch of each is kept at most, and each value keeps
    its time. A source that fails ends the others, when its next value would be needed (R6, R8).
    If `key` raises, see `map`; there is no "result" here.
    """
    return opens(_MergeSorted(*sources, key=key, on_error=on_error))
