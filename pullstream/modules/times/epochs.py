"""`epochs`: times 0, 1, 2, ..., by count, by what the values say, or by the clock."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Annotated, Any, Final, overload

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Positive, Seconds, Sync, Transformer, together
from pullstream.blueprint.parts import Function, Same
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import OnError, catches
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Carries, Traits
from pullstream.failures import caught
from pullstream.modules.times.stamp import Clock, Stamping, several_times
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING

A = TypeVar("A", default=Any)

_AT_ONCE: Final = Sync("what begins an epoch is known at once, from the value")
_NOTHING: Final = object()


class _Counted(Clock):
    hold: Any = 0

    def __init__(self, count: int, location: Location) -> None:
        del location
        self._count = count
        self._left = count

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        out += values
        left = len(values)
        while left >= self._left:
            times += [self.hold] * self._left
            left -= self._left
            self.hold += 1
            self._left = self._count
        times += [self.hold] * left
        self._left -= left


class _Begun(Clock):
    """A new epoch with every value that passes a test, but the first."""

    hold: Any = 0

    def __init__(self, function: Callable[[Any], object], on_error: object, location: Location) -> None:
        del location
        self._function = function
        self._catches = catches(on_error)
        self._before: object = _NOTHING

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        function = self._function
        for value in values:
            given = value
            try:
                said = function(value)
                if self._before is not _NOTHING and self.begins(said):
                    self.hold += 1
                self._before = said
            except Exception as exc:
                if not self._catches:
                    raise
                given = caught(value, exc)
            times.append(self.hold)
            out.append(given)

    def begins(self, said: object) -> object:
        """Whether a value begins a new epoch, of which the function has said so."""
        return said


class _Changed(_Begun):
    """A new epoch with every value whose key is not that of the value before."""

    @override
    def begins(self, said: object) -> object:
        return said != self._before


class _Ticking(TaskKernel[Any]):
    """Values at the number of the period in which they arrive; a period ends whether any arrive or not."""

    traits = Traits(trusted=True, summaries=((),), carries=Carries.LOST)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: Hashable = BEGINNING
        self._epoch: Any = BEGINNING

    @override
    def placed(self) -> None:
        self.location.hold(BEGINNING)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._start = trio.current_time()
        self._go_on(0)
        self.start(self._tick)

    async def _tick(self) -> None:
        while True:
            await trio.sleep_until(self._start + (self._epoch + 1) * self._seconds)
            passed = int((trio.current_time() - self._start) // self._seconds)
            # The clock's rounding must not make it tick without end.
            self._go_on(max(passed, self._epoch + 1))

    def _go_on(self, epoch: int) -> None:
        self.location.hold(epoch)
        self.location.drop(self._epoch)
        self._epoch = epoch

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self.upstream.ask(limit)
        if batch is DONE:
            return DONE
        if batch.time != self._first:
            if self._first is not BEGINNING:
                raise several_times(self.location, self._first, batch.time)
            self._first = batch.time
        self.upstream.settle()
        return Batch(self._epoch, batch.values)


def _one_of_four(call: Call) -> None:
    named = {name: value for name in ("count", "begin", "key", "seconds") if (value := call[name]) is not None}
    if len(named) != 1:
        raise call.refuse(f"needs one of count, begin, key, seconds, and got {named or 'none'}")
    if "seconds" in named and call["nest"]:
        raise call.refuse("got nest=, and periods of the clock do not nest in the input's times")


@overload
def epochs(count: int, *, nest: bool = False) -> Same[A]: ...
@overload
def epochs(*, begin: Function[A, object], nest: bool = False, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def epochs(*, key: Function[A, object], nest: bool = False, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def epochs(*, seconds: float) -> Same[A]: ...
@transformer
@together(_one_of_four)
def epochs(
    count: Positive | None = None,
    *,
    begin: Annotated[Callable[[Any], object] | None, _AT_ONCE] = None,
    key: Annotated[Callable[[Any], object] | None, _AT_ONCE] = None,
    seconds: Seconds | None = None,
    nest: bool = False,
    on_error: OnError[Any] = "fail",
) -> Transformer[Any, Any]:
    """Give the values times 0, 1, 2, ...: epochs of `count` values, or whatever else begins a new one.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.epochs(2), ps.collect(timed=True)))
    [(0, 'a'), (0, 'b'), (1, 'c'), (1, 'd'), (2, 'e')]

    With `begin` it is a value that passes a test; with `key`, one whose key is not that of the value before:

    >>> lines = ps.values(["# tea", "3", "4", "# rice", "5"])
    >>> by_title = ps.epochs(begin=lambda line: line.startswith("#"))
    >>> ps.run(ps.pipe(lines, by_title, ps.count_by_key(lambda _: "lines"), ps.collect(timed=True)))
    [(0, ('lines', 3)), (1, ('lines', 2))]

    With `seconds` an epoch is what arrives in so many seconds, on trio's clock, from the first ask on; it is complete
    when they are over, whether anything arrives or not. An epoch of `count` values is complete with its last one, any
    other with the first value of the next.

    The input's own times are given up, and it may have one only; or see `nest` of `stamp`. If `begin` or `key` raises,
    see `map`; there is no "result" here.

    Raises:
        CapabilityError: the input has a second time.
    """
    if count is not None:
        return opens(Stamping(partial(_Counted, count), nest=nest, counts=True))
    if begin is not None:
        return opens(Stamping(partial(_Begun, begin, on_error), nest=nest, counts=True))
    if key is not None:
        return opens(Stamping(partial(_Changed, key, on_error), nest=nest, counts=True))
    assert seconds is not None, "one of the four is given"
    return opens(_Ticking(seconds))
