"""`stamp`: times for values, from the values; and the kernel of what gives times.

Nothing follows from the times above about those below: in the sidecar's graph no path leads through such a module. It
holds what it may still answer at, from the start of the run, and lets go of it as its clock moves on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Call, Module, Sink, Sync, Transformer
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Stepwise
from pullstream.engine.nested.on_error import OnError, catches
from pullstream.engine.nested.side_branch import SideBranch
from pullstream.engine.sidecar.consequences import LAST
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Traits
from pullstream.errors import CapabilityError
from pullstream.failures import caught
from pullstream.modules.windows.grid import in_microseconds
from pullstream.protocol import DONE, Batch, Done
from timely import BEGINNING, TimelyError, less_equal

A = TypeVar("A")

_NOTHING: Final = object()


@attrs.frozen
class _Late:
    """The private mark of a value that goes to the sink for what is late."""

    value: Any


class Clock(ABC):
    """Gives times to values, one after another."""

    hold: Any = BEGINNING
    """The time before which nothing will come any more."""

    time: Hashable = BEGINNING
    """The time of the values that were cut last."""

    @abstractmethod
    def cut(self, values: Sequence[Any], start: int, limit: int) -> tuple[Sequence[Any], int]:
        """The next values that are at one time, which is then `time`, at most `limit`; and how far that is.

        Raises:
            BaseException: what a user's function raised, once the values before it have been given.
        """


class ValueClock(Clock):
    """A clock that goes by what a user's function says of each value; with an `on_error` it marks those it fails for.

    A mark is at the least time that may still come.
    """

    def __init__(self, function: Callable[[Any], Any], on_error: object) -> None:
        self._function = function
        self._catches = catches(on_error)
        self._ahead: Any = _NOTHING
        self._failed: BaseException | None = None

    @abstractmethod
    def read(self, value: Any, said: Any) -> tuple[Hashable, Any]:
        """The time of the next value, and what is answered of it; None for nothing."""

    @override
    def cut(self, values: Sequence[Any], start: int, limit: int) -> tuple[Sequence[Any], int]:
        if self._failed is not None:
            raise self._failed
        taken: list[Any] = []
        position = start
        try:
            while position < len(values) and len(taken) < limit:
                if self._ahead is _NOTHING:
                    value = values[position]
                    try:
                        said = self._function(value)
                    except Exception as exc:
                        if not self._catches:
                            raise
                        time, given = self.hold, (caught(value, exc),)
                    else:
                        time, given = self.read(value, said)
                else:
                    (time, given), self._ahead = self._ahead, _NOTHING
                if given is None:
                    position += 1
                    continue
                if taken and time != self.time:
                    self._ahead = time, given
                    break
                self.time = time
                taken.append(given[0])
                position += 1
        except BaseException as exc:
            if not taken:
                raise
            self._failed = exc
        return taken, position


class _InOrder(ValueClock):
    def __init__(self, time_of: Callable[[Any], Hashable], on_error: object, location: Location) -> None:
        super().__init__(partial(event_time, time_of), on_error)
        self._location = location

    @override
    def read(self, value: Any, said: Any) -> tuple[Hashable, Any]:
        time: Hashable = said
        if time != self.hold:
            if not less_equal(self.hold, time):
                raise CapabilityError(
                    f"{self._location}, went back in time: {value!r} is at {time!r}, and {self.hold!r} came before. "
                    f"Sort the values, or say by how much they may be out of order: stamp(..., lateness=...)"
                )
            self.hold = time
        return time, (value,)


class _WithLateness(ValueClock):
    def __init__(
        self, time_of: Callable[[Any], Hashable], on_error: object, lateness: Any, late: object, location: Location
    ) -> None:
        super().__init__(partial(event_time, time_of), on_error)
        self._location = location
        self._lateness = lateness
        self._late = late
        self._latest: Any = BEGINNING

    @override
    def read(self, value: Any, said: Any) -> tuple[Hashable, Any]:
        time: Any = said
        if not less_equal(self.hold, time):
            return self._too_late(value, time)
        if not less_equal(time, self._latest):
            self._latest = time
            try:
                self.hold = time - self._lateness
            except TypeError as exc:
                raise TypeError(
                    f"{self._location}: lateness={self._lateness!r} cannot be subtracted from the time {time!r}: "
                    f"{exc}. Give numbers, or dates and a timedelta{in_microseconds(self._lateness, time)}"
                ) from None
        return time, (value,)

    def _too_late(self, value: Any, time: Hashable) -> tuple[Hashable, Any]:
        if self._late == "error":
            raise CapabilityError(
                f"{self._location}, got a value that is too late: {value!r} is at {time!r}, after {self._latest!r} had "
                f"come, and may be at most {self._lateness!r} behind. Allow for more lateness, or say "
                f'where such values go: late="drop", or late= a sink'
            )
        if self._late == "drop":
            self._location.meter.skipped += 1
            return self.hold, None
        return self.hold, (_Late(value),)


def event_time(time_of: Callable[[Any], Hashable], value: Any) -> Hashable:
    """The time that a function gives a value."""
    time = time_of(value)
    if time is None:
        raise TypeError(f"{value!r} has no time: the function that gives times returned None")
    return time


class Stamping(Kernel[Any], Stepwise):
    """Answers the values at the times of a clock; with `nest`, of one clock for each time above."""

    traits = Traits(waits=False, prompt=True, trusted=True, summaries=((),))

    def __init__(
        self, clock: Callable[[Location], Clock], *, nest: bool = False, drops: bool = False, counts: bool = False
    ) -> None:
        self._new = clock
        self._nest = nest
        self.traits = attrs.evolve(self.traits, prompt=not drops, counts=counts, lasting=_within if nest else None)
        self._clocks: dict[Hashable, Clock] = {}
        self._outer: Hashable = BEGINNING
        self._held: Hashable = BEGINNING
        self._values: Sequence[Any] = ()
        self._at = 0

    @override
    def placed(self) -> None:
        if self._nest:
            self.location.mirror([BEGINNING])
            self.scope.sidecar.nesting.mirror(self.location, self.mirrored)
        else:
            self.location.hold(BEGINNING)

    @override
    async def acquire(self) -> None:
        if self._nest:
            self.scope.sidecar.phase.observe(self.upstream.port.place)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._at == len(self._values):
                batch = await self.upstream.ask(limit)
                if batch is DONE:
                    return DONE
                self._take(batch)
            answer = self._cut(limit)
            if answer is not None:
                return answer
            if not await self.breathe():
                return DONE

    @override
    def stepwise(self) -> bool:
        return self.upstream.edge.stepwise()

    @override
    async def step(self, limit: int) -> Batch[Any] | Done | None:
        if self._at == len(self._values):
            batch = await self.upstream.ask(limit, stepping=True)
            if batch is None or batch is DONE:
                return batch
            self._take(batch)
        answer = self._cut(limit)
        if answer is None:
            await self.breathe()
        return answer

    def _take(self, batch: Batch[Any]) -> None:
        if batch.time != self._outer:
            self._enter(batch.time)
        self._values, self._at = batch.values, 0

    def _cut(self, limit: int) -> Batch[Any] | None:
        """The next values that are at one time; none, if all were left out."""
        clock = self._clocks[self._outer]
        taken, self._at = clock.cut(self._values, self._at, limit)
        if not self._nest and clock.hold != self._held:
            self.location.hold(clock.hold)
            self.location.drop(self._held)
            self._held = clock.hold
        if not taken:
            return None
        if self._at == len(self._values):
            self.upstream.settle()
        return Batch((self._outer, clock.time) if self._nest else clock.time, taken)

    def _enter(self, outer: Hashable) -> None:
        if self._nest:
            # For what is over above there is a clock no longer.
            self.scope.sidecar.propagate()
        elif self._clocks:
            raise several_times(self.location, self._outer, outer)
        if outer not in self._clocks:
            self._clocks[outer] = self._new(self.location)
        self._outer = outer

    def mirrored(self) -> list[Hashable]:
        """The times that may still be answered: from every time above, what its clock has not yet left behind."""
        try:
            frontier = self.scope.sidecar.phase.frontier(self.location.ports[0].place)
        except TimelyError:
            # What is wrong above will be said there.
            return [BEGINNING]
        for outer in [outer for outer in self._clocks if not frontier.less_equal(outer)]:
            del self._clocks[outer]
        times: list[Hashable] = [(outer, clock.hold) for outer, clock in self._clocks.items()]
        times += [(outer, BEGINNING) for outer in frontier if outer not in self._clocks and outer is not BEGINNING]
        return [BEGINNING, *times] if BEGINNING in frontier.elements else times


def _within(number: int, outer: Hashable) -> list[Hashable]:
    """The last time that what comes at an outer time matters at: the last inner one."""
    del number
    return [outer if outer is BEGINNING else (outer, LAST)]


def several_times(location: Location, first: Hashable, second: Hashable) -> CapabilityError:
    """The error for an input that has times already."""
    return CapabilityError(
        f"{location} gives times, and its input has several already: {first!r} and {second!r}. Times within times are "
        f"nest=True, which makes each a pair (outer, inner); a function of the times there are is restamp(f); to give "
        f"them up for new ones, have restamp(lambda _: 0) in front"
    )


class _LateOption:
    """The check of `late=`; a sink stands right below, and is given what is late."""

    def __call__(self, call: Call, late: Any) -> Any:
        if call["lateness"] is None:
            raise call.refuse(f"got late={late!r}, and no lateness= to judge it by")
        if late not in ("error", "drop") and not isinstance(late, Sink):
            raise call.refuse(f"got late={late!r}: it is 'error', 'drop' or a sink")
        return cast("Any", late)

    def below(self, module: Module, late: Any) -> tuple[Module, ...]:
        """The module that gives the sink its values."""
        return () if late == "drop" else (Module("late", _aside, (late,), site=module.site, follows=True),)


@transformer
def stamp(
    time: Annotated[Callable[[A], Hashable], Sync("a value's time is known at once, from the value")],
    *,
    lateness: Any = None,
    late: Annotated[Literal["error", "drop"] | Sink[A, Any], _LateOption()] = "error",
    nest: bool = False,
    on_error: OnError[A] = "fail",
) -> Transformer[A, A]:
    """Give every value the time that a function says, of the value: event time.

    >>> import pullstream as ps
    >>> readings = ps.pipe(ps.values([10, 12, 21]), ps.stamp(lambda n: n // 10))
    >>> ps.run(ps.pipe(readings, ps.collect(timed=True)))
    [(1, 10), (1, 12), (2, 21)]

    Times must not go back, unless `lateness` says by how much they may: a time is then complete when one has come that
    is more than `lateness` later (times are numbers, or dates, from which it is subtracted). A value that comes later
    still is an error, is left out and counted (`late="drop"`), or goes to a sink of its own:

    >>> late = []
    >>> stamped = ps.stamp(lambda n: n, lateness=2, late=ps.drain(late.append))
    >>> ps.run(ps.pipe(ps.values([1, 5, 3, 2, 6]), stamped, ps.collect())), late
    ([1, 5, 3, 6], [2])

    Each value with a time of its own is handled by itself, which costs some ten times as much as values that share
    one; what is late costs as much again where a sink takes it, which is told of every time.

    The input's own times are given up; it may have one only, such as the 0 of a source that says nothing, or what
    `ps.restamp(lambda _: 0)` makes of any. With `nest=True` it may have several: times are then pairs (outer, inner),
    values are in order within each outer time, and what is complete above is complete below. If `time` raises, or gives
    None, see `map`; there is no "result" here, and a sink has the value at the least time that may still come.

    Raises:
        CapabilityError: a value goes back in time, is too late, or is at a second time of the input.
    """
    marks = catches(on_error)
    if lateness is None:
        return opens(Stamping(partial(_InOrder, time, on_error), nest=nest, counts=marks))
    clock = partial(_WithLateness, time, on_error, lateness, late)
    return opens(Stamping(clock, nest=nest, drops=late == "drop", counts=marks or late != "error"))


def _aside(sink: Blueprint) -> SideBranch:
    return SideBranch(sink, _is_late, _value_of)


def _is_late(value: object) -> bool:
    return value.__class__ is _Late


def _value_of(late: _Late) -> Any:
    return late.value
