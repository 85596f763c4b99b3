"""`take`, `take_times` and `skip`: the beginning of a stream, and the stream without it."""

from collections.abc import Callable, Hashable, Sequence
from types import CoroutineType
from typing import Annotated, Any, Final, Literal, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Count, Emits, Natural, Positive, Sync, Transformer
from pullstream.blueprint.checks import TRUTH
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.interfaces import Inline
from pullstream.engine.parts.fused import result_of
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.per_batch import PassOn, PerBatch
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.traits import PROMPT, Carries, Traits
from pullstream.failures import Caught, Failed
from pullstream.modules.values.on_error import Handled, OnError, catches, guarded
from pullstream.protocol import DONE, Batch, Done, Unanswered
from pullstream.resuming.interfaces import Resumable


class _Take(PassOn, Inline, Resumable):
    traits = attrs.evolve(PROMPT, carries=Carries.COUNT)

    def __init__(self, count: int) -> None:
        self.most = count
        if count == 0:
            self.traits = attrs.evolve(self.traits, carries=Carries.NOTHING)

    @override
    def restore(self) -> None:
        self.most = self.memory.get("left", self.most)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return self.run_by_run(batch, self._take) if self.memory.saves else self._take(batch)

    def _take(self, batch: Batch[Any]) -> Batch[Any]:
        self.most -= len(batch.values)
        if self.memory.saves:
            self.memory.at(batch.time)["left"] = self.most
        return batch


class _TakeWhile(PerBatch, Inline, Resumable):
    """Asks for at most `most` values at a time, and answers with several if they arrive quickly.

    One answer per value would cost the modules downstream more than all else. But a value must not wait for a slow one,
    and nothing tells in advance which one is slow. So the number of values in an answer begins at one, doubles while
    that many arrive quickly, and returns to one after a slow value.
    """

    traits = attrs.evolve(PROMPT, carries=Carries.COUNT)

    def __init__(
        self, test: Callable[[Any], object], *, last: bool = False, ahead: int = 1, on_error: object = "fail"
    ) -> None:
        self._test = guarded(test) if catches(on_error) else test
        self._last = last
        self.most = ahead
        self._together = 1

    @override
    def restore(self) -> None:
        self.most = self.memory.get("left", self.most)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        until = clocks.monotonic() + BREATH
        answer = super().poll(limit)
        if isinstance(answer, Batch):
            count = min(limit, self._together)
            if len(answer.values) < count:
                answer = self._with_more(answer, count, until)
            if clocks.monotonic() > until + BREATH:
                self._together = 1
            elif len(answer.values) >= self._together:
                self._together *= 2
        return answer

    def _with_more(self, first: Batch[Any], limit: int, until: float) -> Batch[Any]:
        """Add all values available now to an answer. All are held here until they are in flight downstream."""
        values, times = [*first.values], [*first.times]
        held: dict[Hashable, None] = {}
        edge, batch = self.edge, first
        while self.most and edge.fails_next is None and len(values) < limit and clocks.monotonic() <= until:
            for time in batch.times:
                if time not in held:
                    self.location.hold(time)
                    held[time] = None
            try:
                more = super().poll(min(self.most, limit - len(values)))
            except BaseException as exc:  # noqa: BLE001 - raised at the next ask
                edge.fail_next(exc, values)
                break
            if not isinstance(more, Batch):
                if more is DONE:
                    # The next ask is answered with DONE, and upstream is not asked again (R9).
                    self.most = 0
                break
            batch = more
            values += batch.values
            times += batch.times
        for time in held:
            self.location.drop(time)
        return Batch.of(times, values)

    @override
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        for value in values:
            holds = self._test(value)
            if holds.__class__ is CoroutineType:
                result_of(self._test, holds)
            if not holds:
                self.most = self.memory.at(time)["left"] = 0
                if self._last:
                    out.append(value)
                return
            out.append(holds if type(holds) is Caught else value)


_AT_ONCE: Final = Sync("a test cannot await; use map_async first, then use its results", TRUTH)


def _count_or_test(call: Call, what: Any) -> Any:
    if callable(what):
        return _AT_ONCE(call.about("test"), what)
    takes = call.module == "take"
    if call["on_error"] != "fail" or (takes and (call["last"] or call["ahead"] != 1)):
        options = "last=, ahead= or on_error=" if takes else "on_error="
        raise call.refuse(f"got {options}, which need a test: {call.module}(lambda value: ...)")
    return Count()(call.about("count"), what)


@overload
def take(what: int, /) -> Same[V]: ...
@overload
def take(
    what: Function[V, object], /, *, last: bool = False, ahead: int = 1, on_error: OnError[V] = "fail"
) -> Same[V]: ...
@overload
def take(
    what: Function[V, object], /, *, last: bool = False, ahead: int = 1, on_error: Literal["result"]
) -> SameOrFailed[V, V | Failed[V]]: ...
@transformer
def take(
    what: Annotated[int | Callable[[Any], object], _count_or_test],
    /,
    *,
    last: bool = False,
    ahead: Positive = 1,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Emit the first values, either a number of them or while a test is true, then abort upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.integers(), ps.take(3), ps.collect()))
    [0, 1, 2]

    `take` never asks for more than it emits, and aborts upstream at the next ask after the last value (R7). It may end
    in the middle of a time, which is then complete with only some of its values; `take_times` takes whole times.

    With a test, it emits the values before the first one for which the test is false. With `last`, it emits that one,
    too:

    >>> ps.run(ps.pipe(ps.integers(), ps.take(lambda n: n < 3), ps.collect()))
    [0, 1, 2]
    >>> ps.run(ps.pipe(ps.integers(), ps.take(lambda n: n < 3, last=True), ps.collect()))
    [0, 1, 2, 3]

    It then asks for one value at a time, so nothing past the last one is produced. `ahead` lets it ask for that many at
    a time, which is faster, but may produce values that nobody receives. Errors in the test are handled as in `map`; a
    value whose test raised does not end the stream.
    """
    if callable(what):
        return opens(_TakeWhile(what, last=last, ahead=ahead, on_error=on_error))
    return opens(_Take(what))


class _TakeTimes(Notified, Resumable):
    own_pace = False
    # A later time can complete the last one, so it must not ask again before the notification.
    traits = Traits(trusted=True, carries=Carries.COUNT)

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._taken: set[Hashable] = set()
        self._pending = count
        if count == 0:
            self.traits = attrs.evolve(self.traits, carries=Carries.NOTHING)
            self.stop()

    @override
    def restore(self) -> None:
        # Times in the memory were complete: no more values can arrive at them.
        self._taken = set(self.memory)
        self._pending -= len(self._taken)
        if self._pending == 0:
            self.stop()

    @override
    def receive(self, batch: Batch[Any]) -> None:
        # If times are out of order, a time that was not taken may complete before one that was, and a later run must
        # take the same ones.
        decided = self.memory.ledger
        for run in self.apart(batch):
            time = run.time
            if time not in self._taken and (len(decided) < self._count or time in decided):
                self._taken.add(time)
                decided[time] = self.memory.at(time, ordered=False)[time] = None
                self.remind(time)
            if time in self._taken:
                self.give(time, run.values)

    @override
    def complete(self, time: Hashable) -> None:
        self._pending -= 1
        if self._pending == 0:
            self.stop()


@transformer
def take_times(count: Natural) -> Same[V]:
    """Emit all values of the first `count` times to arrive, then abort upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 11, 20, 21, 30], time=lambda n: n // 10), ps.take_times(2), ps.collect()))
    [10, 11, 20, 21]

    The stream ends as soon as those times are complete at the input. For a source in time order, that is when the next
    time arrives, or sooner if the source announces it sooner. Values at other times that arrive before the end are
    dropped.
    """
    return opens(_TakeTimes(count))


class _Skip(PassOn, Inline, Resumable):
    traits = Traits(waits=False, trusted=True, carries=Carries.MEMORY)

    def __init__(self, count: int) -> None:
        self.left_out = count

    @override
    def restore(self) -> None:
        self.left_out = self.memory.get("left", self.left_out)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return self.run_by_run(batch, self._skip) if self.left_out else batch

    def _skip(self, run: Batch[Any]) -> Batch[Any] | None:
        rest = run.values[self.left_out :]
        self.left_out -= len(run.values) - len(rest)
        self.memory.at(run.time)["left"] = self.left_out
        return Batch(run.time, rest) if rest else None


class _SkipWhile(PerBatch, Inline, Resumable):
    traits = Traits(waits=False, trusted=True, carries=Carries.MEMORY)

    def __init__(self, test: Callable[[Any], object], on_error: object = "fail") -> None:
        self._test = guarded(test) if catches(on_error) else test
        self._skipping = True

    @override
    def restore(self) -> None:
        self._skipping = self.memory.get("skipping", True)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return super().answer(batch) if self._skipping else batch

    @override
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        if not self._skipping:
            out += values
            return
        for position, value in enumerate(values):
            holds = self._test(value)
            if holds.__class__ is CoroutineType:
                result_of(self._test, holds)
            if not holds:
                self._skipping = False
                out += values[position:]
                break
            if type(holds) is Caught:
                out.append(holds)
        self.memory.at(time)["skipping"] = self._skipping


@overload
def skip(what: int, /) -> Same[V]: ...
@overload
def skip(what: Function[V, object], /, *, on_error: OnError[V] = "fail") -> Same[V]: ...
@overload
def skip(what: Function[V, object], /, *, on_error: Literal["result"]) -> SameOrFailed[V, V | Failed[V]]: ...
@transformer
@Emits.AT_ONCE
def skip(
    what: Annotated[int | Callable[[Any], object], _count_or_test], /, *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Drop the first values, either a number of them or while a test is true, and emit the rest.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcd"), ps.skip(2), ps.collect()))
    ['c', 'd']
    >>> ps.run(ps.pipe(ps.values([1, 2, 9, 1]), ps.skip(lambda n: n < 5), ps.collect()))
    [9, 1]

    Values keep their times. Errors in the test are handled as in `map`; a value whose test raised does not end the
    skipping.
    """
    return opens(_SkipWhile(what, on_error) if callable(what) else _Skip(what))
