"""`take`, `take_times`: a stream's beginning."""

from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, Final, Literal, overload

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Count, Natural, Positive, Sync, Transformer
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.interfaces import Resumable
from pullstream.engine.nested.on_error import Handled, OnError, catches, guarded
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.per_batch import PassOn, PerBatch
from pullstream.engine.traits import PROMPT, Carries, Traits
from pullstream.failures import Caught, Failed
from pullstream.protocol import Batch, TimedBatch

A = TypeVar("A", default=Any)


class _Take(PassOn, Resumable):
    traits = attrs.evolve(PROMPT, carries=Carries.COUNT)

    def __init__(self, count: int) -> None:
        self.most = count
        if count == 0:
            self.traits = attrs.evolve(self.traits, carries=Carries.NOTHING)

    @override
    def restore(self) -> None:
        self.most = self.memory.get("left", self.most)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        self.most -= len(batch.values)
        self.memory.at(batch.time)["left"] = self.most
        return batch

    @override
    def answer_many(self, batch: TimedBatch[Any]) -> Batch[Any] | None:
        if self.memory.saves:
            return super().answer_many(batch)
        self.most -= len(batch.values)
        return batch


class _TakeWhile(PerBatch):
    def __init__(
        self, test: Callable[[Any], object], *, last: bool = False, ahead: int = 1, on_error: object = "fail"
    ) -> None:
        self._test = guarded(test) if catches(on_error) else test
        self._last = last
        self.most = ahead

    @override
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        for value in values:
            holds = self._test(value)
            if not holds:
                self.most = 0
                if self._last:
                    out.append(value)
                return
            out.append(holds if type(holds) is Caught else value)


_AT_ONCE: Final = Sync("a test answers at once; map_async the values first, and take by the results")


def _count_or_test(call: Call, what: Any) -> Any:
    if callable(what):
        return _AT_ONCE(call.about("test"), what)
    if call["last"] or call["ahead"] != 1 or call["on_error"] != "fail":
        raise call.refuse("got last=, ahead= or on_error=, which go with a test: take(lambda value: ..., last=True)")
    return Count()(call.about("count"), what)


@overload
def take(what: int, /) -> Same[A]: ...
@overload
def take(
    what: Function[A, object], /, *, last: bool = False, ahead: int = 1, on_error: OnError[A] = "fail"
) -> Same[A]: ...
@overload
def take(
    what: Function[A, object], /, *, last: bool = False, ahead: int = 1, on_error: Literal["result"]
) -> SameOrFailed[A, A | Failed[A]]: ...
@transformer
def take(
    what: Annotated[int | Callable[[Any], object], _count_or_test],
    /,
    *,
    last: bool = False,
    ahead: Positive = 1,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Give the first values, so many or while a test holds, then abort what is upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(), ps.take(3), ps.collect()))
    [0, 1, 2]

    It never asks for more than it gives, and aborts with the ask after the last value (R7). It may end in the middle
    of a time, which is then complete with a part of its values: `take_times` takes whole times.

    With a test it gives the values before the first that fails it, and with `last` that one too:

    >>> ps.run(ps.pipe(ps.count(), ps.take(lambda n: n < 3), ps.collect()))
    [0, 1, 2]
    >>> ps.run(ps.pipe(ps.count(), ps.take(lambda n: n < 3, last=True), ps.collect()))
    [0, 1, 2, 3]

    It then asks for one value at a time, so that nothing past the last is produced; `ahead` allows it to ask for so
    many at a time, which is faster, and may have values produced that nobody gets. If the test raises, see `map`; a
    value whose test raised is not the last.
    """
    if callable(what):
        return opens(_TakeWhile(what, last=last, ahead=ahead, on_error=on_error))
    return opens(_Take(what))


class _TakeTimes(Notified, Resumable):
    # Its last time is complete when a later one has come: it is not to ask again before it is told so.
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
        # Those in the memory were complete, and come no more.
        self._taken = set(self.memory)
        self._pending -= len(self._taken)
        if self._pending == 0:
            self.stop()

    @override
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        if time not in self._taken and len(self._taken) < self._count:
            self._taken.add(time)
            self.memory.at(time, ordered=False)[time] = None
            self.remind(time)
        if time in self._taken:
            self.give(time, values)

    @override
    def complete(self, time: Hashable) -> None:
        self._pending -= 1
        if self._pending == 0:
            self.stop()


@transformer
def take_times(count: Natural) -> Same[A]:
    """Give all values of the first `count` times that come, then abort what is upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 11, 20, 21, 30], time=lambda n: n // 10), ps.take_times(2), ps.collect()))
    [10, 11, 20, 21]

    It ends as soon as those times are complete at its input: for a source in time order, when the next time comes,
    or sooner if the source knows sooner. Batches at other times that come before are dropped.
    """
    return opens(_TakeTimes(count))
