"""`stamp`: times for values, from the values; and the kernel of what gives times.

Nothing follows from the times above about those below: in the sidecar's graph no path leads through such a module. It
holds what it may still answer at, from the start of the run, and lets go of it as its clock moves on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import islice
from operator import le
from typing import Annotated, Any, Literal, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Call, Module, Sink, Sync
from pullstream.blueprint.parts import Function, Same
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import OnError, catches
from pullstream.engine.nested.side_branch import SideBranch
from pullstream.engine.parts.outbox import timed
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.sidecar.consequences import LAST
from pullstream.engine.sidecar.location import Location, no_place_in_an_order
from pullstream.engine.traits import PROMPT
from pullstream.errors import CapabilityError
from pullstream.failures import caught
from pullstream.modules.windows.grid import in_microseconds, not_negative
from pullstream.protocol import Batch
from pullstream.timely import BEGINNING, TimelyError, less_equal
from pullstream.timely.order import Ascending, in_one_order

A = TypeVar("A", default=Any)


@attrs.frozen
class _Late:
    """The private mark of a value that goes to the sink for what is late."""

    value: Any


class Clock(ABC):
    """Gives times to values, one after another."""

    hold: Any = BEGINNING
    """The time before which nothing will come any more."""

    ascends: bool = False
    """Whether no time that it gives is before, or beside, the one before."""

    @abstractmethod
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        """Add the values that are answered, and the time of each.

        Raises:
            BaseException: what a user's function raised, once the values before it have been added.
        """


class _InOrder(Clock):
    """A clock that goes by what a function says of each value; with an `on_error` it marks those it fails for.

    A mark is at the least time that may still come.
    """

    ascends = True

    def __init__(self, time_of: Callable[[Any], Hashable], on_error: object, location: Location) -> None:
        self._time_of = time_of
        self._catches = catches(on_error)
        self.location = location

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        if not self._catches:
            self._give_all(values, out, times)
            return
        for value in values:
            try:
                time = self._time_of(value)
                if time is None:
                    raise _no_time(value)  # noqa: TRY301 - a failure like what the function raises
            except Exception as exc:  # noqa: BLE001 - the policy's business
                times.append(self.hold)
                out.append(caught(value, exc))
                continue
            if time != self.hold:
                self.go_on(value, time)
            times.append(time)
            out.append(value)

    def _give_all(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        found: list[Any] = []
        failure: BaseException | None = None
        try:
            found += map(self._time_of, values)
        except BaseException as exc:  # noqa: BLE001 - raised when the values before it have been given
            failure = exc
        in_order = in_one_order(found) and all(map(le, found, islice(found, 1, None)))
        if in_order and less_equal(self.hold, found[0]):
            times += found
            out += values if failure is None else values[: len(found)]
            self.hold = found[-1]
        else:
            for value, time in zip(values, found, strict=False):
                if time is None:
                    raise _no_time(value)
                if time != self.hold:
                    self.go_on(value, time)
                times.append(time)
                out.append(value)
        if failure is not None:
            # Where it is no function of Python's, an error shows what has this name here.
            value = values[len(found)]
            raise failure

    def go_on(self, value: Any, time: Hashable) -> None:
        """Take another time than the one before."""
        if not less_equal(self.hold, time):
            raise CapabilityError(
                f"{self.location}, went back in time: {value!r} is at {time!r}, and {self.hold!r} came before. "
                + (
                    no_place_in_an_order(self.hold, time)
                    or "Sort the values, or say by how much they may be out of order: stamp(..., lateness=...)"
                )
            )
        self.hold = time


class _WithLateness(Clock):
    def __init__(
        self, time_of: Callable[[Any], Hashable], on_error: object, lateness: Any, late: object, location: Location
    ) -> None:
        self._time_of = time_of
        self._catches = catches(on_error)
        self._location = location
        self._lateness = lateness
        self._late = late
        self._latest: Any = BEGINNING

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        time_of, hold, latest = self._time_of, self.hold, self._latest
        for value in values:
            try:
                time: Any = time_of(value)
                if time is None:
                    raise _no_time(value)  # noqa: TRY301 - a failure like what the function raises
            except Exception as exc:
                if not self._catches:
                    raise
                times.append(hold)
                out.append(caught(value, exc))
                continue
            try:
                early, newer = hold <= time, not time <= latest
            except TypeError:
                early, newer = less_equal(hold, time), not less_equal(time, latest)
            if not early:
                self._too_late(value, time, out, times)
                continue
            if newer:
                self._latest = latest = time
                self.hold = hold = self._before(time)
            times.append(time)
            out.append(value)

    def _before(self, time: Any) -> Any:
        """The time before which nothing comes any more when `time` has come."""
        try:
            return time - self._lateness
        except TypeError as exc:
            raise TypeError(
                f"{self._location}: lateness={self._lateness!r} cannot be subtracted from the time {time!r}: "
                f"{exc}. Give numbers, or dates and a timedelta{in_microseconds(self._lateness, time)}"
            ) from None

    def _too_late(self, value: Any, time: Hashable, out: list[Any], times: list[Hashable]) -> None:
        if self._late == "error":
            raise CapabilityError(
                f"{self._location}, got a value that is too late: {value!r} is at {time!r}, after {self._latest!r} had "
                f"come, and may be at most {self._lateness!r} behind. "
                + (
                    no_place_in_an_order(time)
                    or 'Allow for more lateness, or say where such values go: late="drop", or late= a sink'
                )
            )
        if self._late == "drop":
            self._location.meter.skipped += 1
            return
        times.append(self.hold)
        out.append(_Late(value))


def _no_time(value: Any) -> TypeError:
    return TypeError(f"{value!r} has no time: the function that gives times returned None")


class Stamping(PassOn):
    """Answers the values at the times of a clock; with `nest`, of one clock for each time above."""

    traits = attrs.evolve(PROMPT, summaries=((),))

    def __init__(
        self, clock: Callable[[Location], Clock], *, nest: bool = False, drops: bool = False, counts: bool = False
    ) -> None:
        self._new = clock
        self._nest = nest
        # A clock is kept for as long as its time is open above, and looked at whenever another one comes.
        self.takes_many = not nest
        self.traits = attrs.evolve(self.traits, prompt=not drops, counts=counts, lasting=_within if nest else None)
        self._clocks: dict[Hashable, Clock] = {}
        self._outer: Hashable = BEGINNING
        self._held: Hashable = BEGINNING

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
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        outer = batch.time
        if outer != self._outer:
            self._enter(outer)
        clock = self._clocks[outer]
        times: list[Hashable] = []
        out: list[Any] = []
        try:
            clock.give(batch.values, out, times)
        except BaseException as exc:
            self.failed = exc
            if not out:
                raise
        # In the step in which the values are counted below, of which some may be before it.
        if not self._nest and clock.hold != self._held:
            self.location.hold(clock.hold)
            self.location.drop(self._held)
            self._held = clock.hold
        if self._nest:
            times = [(outer, time) for time in times]
        if not out:
            return None
        return timed(Ascending(times) if clock.ascends else times, out)

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
            raise call.refuse(
                f"got late={late!r}, and no lateness= to judge it by: lateness=0 (of dates, timedelta(0)) has all that "
                f"is behind the latest time be late"
            )
        if late not in ("error", "drop") and not isinstance(late, Sink):
            raise call.refuse(f"got late={late!r}: it is 'error', 'drop' or a sink")
        return cast("Any", late)

    def below(self, module: Module, late: Any) -> tuple[Module, ...]:
        """The module that gives the sink its values."""
        return () if late == "drop" else (Module("late", _aside, (late,), site=module.site, follows=True),)


@transformer
def stamp(
    time: Annotated[Function[A, Hashable], Sync("a value's time is known at once, from the value")],
    *,
    lateness: Annotated[Any, not_negative] = None,
    late: Annotated[Literal["error", "drop"] | Sink[A, Any], _LateOption()] = "error",
    nest: bool = False,
    on_error: OnError[A] = "fail",
) -> Same[A]:
    """Give every value the time that a function says, of the value: event time.

    >>> import pullstream as ps
    >>> readings = ps.pipe(ps.values([10, 12, 21]), ps.stamp(lambda n: n // 10))
    >>> ps.run(ps.pipe(readings, ps.collect(timed=True)))
    [(1, 10), (1, 12), (2, 21)]

    Datetimes of one time zone are in the order of its wall clock, as Python compares them, which goes back once a year
    where clocks change: make them times of UTC, `time.astimezone(UTC)`.

    Times must not go back, unless `lateness` says by how much they may: a time is then complete when one has come that
    is more than `lateness` later (times are numbers, or dates, from which it is subtracted). A value that comes later
    still is an error, is left out and counted (`late="drop"`), or goes to a sink of its own:

    >>> late = []
    >>> stamped = ps.stamp(lambda n: n, lateness=2, late=ps.drain(late.append))
    >>> ps.run(ps.pipe(ps.values([1, 5, 3, 2, 6]), stamped, ps.collect())), late
    ([1, 5, 3, 6], [2])

    Values travel on together, whatever their times; a module below that works per time has its work once for each.
    `lateness` makes hardly a difference to what that costs. A sink for what is late does, though nothing may be: every
    value is looked at once more, and the way to two sinks costs about as much again as the times do; a value that is
    late costs several times as much as one that is not. To drop it costs nothing.

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
    return SideBranch(sink, _Late, _value_of)


def _value_of(late: _Late) -> Any:
    return late.value
