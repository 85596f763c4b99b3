"""`stamp`: assigns times computed from the values. Also the base of other modules that assign times.

The times downstream of such a module do not follow from those upstream: in the sidecar's graph, no path leads through
it. It holds the times that it may still assign, from the start of the run, and releases them as its clock advances.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import islice
from operator import le
from typing import Annotated, Any, Final, Literal

import attrs
from typing_extensions import override

from pullstream.blueprint import Emits, Sink, Sync
from pullstream.blueprint.parts import Function, Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.order_advice import order_advice
from pullstream.engine.traits import PROMPT
from pullstream.errors import CapabilityError, no_end
from pullstream.failures import Caught, caught
from pullstream.modules.sources.batcher import known
from pullstream.modules.values.on_error import OnError, catches
from pullstream.modules.values.side_branch import Late, LateOption
from pullstream.modules.windows.grid import LOOP_TIMES, in_microseconds, not_negative
from pullstream.protocol import Batch, listed
from pullstream.resuming.consequences import LAST
from pullstream.timely import BEGINNING, LoopTime, TimelyError, less_equal
from pullstream.timely.order import Ascending, in_one_order


class Clock(ABC):
    """Assigns times to values, one after another."""

    hold: Any = BEGINNING
    """The least time that may still be assigned."""

    ascends: bool = False
    """Whether every assigned time is at or after the one before it."""

    location: Location
    """The location of its module, for errors and counts."""

    @abstractmethod
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        """Append the values to emit, and the time of each, even if a user's function fails for a later value."""


BELOW_MERGE: Final = ". Downstream of merge, put a stamp into each source instead"
"""The advice for a value that goes back in time or is late: each source may be in order by itself."""


class _ByFunction(Clock):
    """A clock that follows a function of the values; with an `on_error`, it marks values for which the function fails.

    A mark is at the least time that may still be assigned.
    """

    def __init__(self, time_of: Callable[[Any], Hashable], on_error: object) -> None:
        self._function = time_of
        self._catches = catches(on_error)
        self._time_of = self._time_or_mark if self._catches else time_of

    def _time_or_mark(self, value: Any) -> Hashable:
        try:
            time = self._function(value)
            known(time, value)
        except Exception as exc:  # noqa: BLE001 - handled by the policy
            return caught(value, exc)
        return time

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        values = listed(values)
        found: list[Any] = []
        failure: BaseException | None = None
        try:
            found += map(self._time_of, values)
            if len(found) < len(values):
                raise no_end()  # noqa: TRY301 - handled like an error of the function
        except BaseException as exc:  # noqa: BLE001 - raised after the values before it have been given
            failure = exc
        begin = 0
        for mark in [place for place, time in enumerate(found) if time.__class__ is Caught] if self._catches else ():
            self.place(values[begin:mark], found[begin:mark], out, times)
            times.append(self.hold)
            out.append(found[mark])
            begin = mark + 1
        self.place(values[begin : len(found)], found[begin:], out, times)
        if failure is not None:
            # For a function not written in Python, the error report shows the local with this name.
            value = values[len(found)]  # noqa: F841 # pyright: ignore[reportUnusedVariable]
            raise failure

    @abstractmethod
    def place(self, values: Sequence[Any], found: list[Any], out: list[Any], times: list[Hashable]) -> None:
        """Append the values to emit, for which the function has found these times, as `give` does."""


class _InOrder(_ByFunction):
    ascends = True

    @override
    def place(self, values: Sequence[Any], found: list[Any], out: list[Any], times: list[Hashable]) -> None:
        if in_one_order(found) and all(map(le, found, islice(found, 1, None))) and less_equal(self.hold, found[0]):
            times += found
            out += values
            self.hold = found[-1]
            return
        for value, time in zip(values, found, strict=True):
            if time != self.hold:
                known(time, value)
                self._advance(value, time)
            times.append(time)
            out.append(value)

    def _advance(self, value: Any, time: Hashable) -> None:
        """Advance to another time."""
        if not less_equal(self.hold, time):
            raise CapabilityError(
                f"{self.location}, went back in time: {value!r} is at {time!r}, but {self.hold!r} came before. "
                + (
                    order_advice(self.hold, time)
                    or "Sort the values, or allow them to be out of order with stamp(..., lateness=...)" + BELOW_MERGE
                )
            )
        self.hold = time


class _WithLateness(_ByFunction):
    def __init__(self, time_of: Callable[[Any], Hashable], on_error: object, lateness: Any, late: object) -> None:
        super().__init__(time_of, on_error)
        self._lateness = lateness
        self._late = late
        self._latest: Any = BEGINNING

    @override
    def place(self, values: Sequence[Any], found: list[Any], out: list[Any], times: list[Hashable]) -> None:
        hold, latest = self.hold, self._latest
        late: dict[int, Any] = {}
        place = 0
        try:
            for place, time in enumerate(found):
                # Most values are neither late nor the latest, and need two comparisons.
                try:
                    if not hold <= time:
                        newer = False
                    elif time <= latest:
                        continue
                    else:
                        newer = True
                except TypeError:
                    known(time, values[place])
                    newer = less_equal(hold, time)
                    if newer and less_equal(time, latest):
                        continue
                if time != time:  # noqa: PLR0124 - NaN
                    known(time, values[place])
                if newer:
                    self._latest = latest = time
                    self.hold = hold = self._before(time, values[place])
                else:
                    self._refuse_if_error(values[place], time)
                    late[place] = hold
            place = len(found)
        finally:
            if late:
                self._separate(values[:place], found, late, out, times)
            else:
                times += found[:place]
                out += values[:place]

    def _separate(
        self, values: Sequence[Any], found: list[Any], late: dict[int, Any], out: list[Any], times: list[Hashable]
    ) -> None:
        """Append values; late ones are dropped, or marked at the hold of their moment."""
        for place, value in enumerate(values):
            if place not in late:
                times.append(found[place])
                out.append(value)
            elif self._late == "drop":
                self.location.leave_out()
            else:
                times.append(late[place])
                out.append(Late(value))

    def _before(self, time: Any, value: Any) -> Any:
        """Compute the least time that may still be assigned after this value, at `time`, has arrived."""
        try:
            before = time - self._lateness
            if before <= time:
                return before
        except OverflowError:
            pass
        except TypeError as exc:
            known(time, value)
            raise TypeError(
                f"{self.location}: lateness={self._lateness!r} cannot be subtracted from the time {time!r}: "
                f"{exc}. Use numbers, or dates and a timedelta{in_microseconds(self._lateness, time)}"
            ) from None
        # There is no time that early: dates raise an exception, and NumPy's numbers wrap around to a later one.
        return self.hold

    def _refuse_if_error(self, value: Any, time: Hashable) -> None:
        if self._late == "error":
            raise CapabilityError(
                f"{self.location}, got a value that is too late: {value!r} is at {time!r}, but {self._latest!r} has "
                f"already arrived, and lateness={self._lateness!r}. "
                + (
                    order_advice(self._latest, time)
                    or 'Allow more lateness, or pass late="drop" or a sink as late=' + BELOW_MERGE
                )
            )


class Stamping(PassOn):
    """Delivers values at the times of a clock; with `nest`, of one clock for each outer time."""

    traits = attrs.evolve(PROMPT, summaries=((),))

    def __init__(self, clock: Callable[[], Clock], *, nest: bool = False, counts: bool = False) -> None:
        self._new = clock
        self._nest = nest
        self.traits = attrs.evolve(self.traits, counts=counts, lasting=_within if nest else None)
        self._clocks: dict[Hashable, Clock] = {}
        self._open = 0
        """The number of clocks when those of complete outer times were last dropped."""
        self._outer: Hashable = BEGINNING
        self._held: Hashable = BEGINNING

    @override
    def placed(self) -> None:
        if self._nest:
            self.location.mirror([BEGINNING])
            self.edge.mirror(self.mirrored)
        else:
            self.location.hold(BEGINNING)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return self.run_by_run(batch, self._stamped)

    def _stamped(self, batch: Batch[Any]) -> Batch[Any] | None:
        outer = batch.time
        if outer != self._outer:
            self._enter(outer)
        clock = self._clocks[outer]
        times: list[Hashable] = []
        out: list[Any] = []
        try:
            clock.give(batch.values, out, times)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.edge.fail_next(exc, out)
        # Advance the hold in the scheduler step in which the values, some of them earlier, are counted downstream.
        if not self._nest and clock.hold != self._held:
            self.location.hold(clock.hold)
            self.location.drop(self._held)
            self._held = clock.hold
        if self._nest:
            times = [(outer, time) for time in times]
        if not out:
            return None
        return Batch.of(Ascending(times) if clock.ascends else times, out)

    def _enter(self, outer: Hashable) -> None:
        if self._clocks and not self._nest:
            raise several_times(self.location, self._outer, outer)
        if outer not in self._clocks:
            if len(self._clocks) > 2 * self._open:
                # Drop the clocks of outer times that are complete.
                self.mirrored()
                self._open = len(self._clocks)
            self._clocks[outer] = clock = self._new()
            clock.location = self.location
        self._outer = outer

    def mirrored(self) -> list[Hashable]:
        """Return the times that may still be assigned: for every outer time, those that its clock has not passed."""
        try:
            frontier = self.upstream.arriving()
        except TimelyError:
            # The module upstream reports the error.
            return [BEGINNING]
        for outer in [outer for outer in self._clocks if not frontier.less_equal(outer)]:
            del self._clocks[outer]
        times: list[Hashable] = [(outer, clock.hold) for outer, clock in self._clocks.items()]
        times += [(outer, BEGINNING) for outer in frontier if outer not in self._clocks and outer is not BEGINNING]
        return [BEGINNING, *times] if BEGINNING in frontier.elements else times


def _within(number: int, outer: Hashable) -> list[Hashable]:
    """Return the last time at which values of an outer time can matter: the last inner one."""
    del number
    return [outer if outer is BEGINNING else (outer, LAST)]


def several_times(location: Location, first: Hashable, second: Hashable) -> CapabilityError:
    """Make the error for an input that already has several times."""
    if isinstance(first, LoopTime):
        return CapabilityError(f"{location} assigns times, but its input is at {first!r}, and {LOOP_TIMES}")
    return CapabilityError(
        f"{location} assigns times, but its input already has several: {first!r} and {second!r}. To nest the new times "
        f"in them, pass nest=True: times become pairs (outer, inner). To compute times from them, use map_time(f). To "
        f"discard them, put map_time(lambda _: 0) in front"
    )


@transformer
@Emits.AT_OTHER_TIMES
def stamp(
    time: Annotated[Function[V, Hashable], Sync("a time cannot be awaited; use map_async first", "a time")],
    *,
    lateness: Annotated[Any, not_negative] = None,
    late: Annotated[Literal["error", "drop"] | Sink[V, Any], LateOption()] = "error",
    nest: bool = False,
    on_error: OnError[V] = "fail",
) -> Same[V]:
    """Assign each value the time that a function computes from it: event time.

    >>> import pullstream as ps
    >>> readings = ps.pipe(ps.values([10, 12, 21]), ps.stamp(lambda n: n // 10))
    >>> ps.run(ps.pipe(readings, ps.collect(timed=True)))
    [(1, 10), (1, 12), (2, 21)]

    Python compares datetimes of one time zone by wall-clock time, which goes back once a year where clocks change.
    Convert them to UTC first: `time.astimezone(UTC)`.

    Times must not go back, unless `lateness` allows it: then a time is complete once a value more than
    `lateness` later has arrived. Times are then numbers or dates, from which `lateness` is subtracted. A value at a
    complete time is late: an error, dropped and counted (`late="drop"`), or sent to a sink of its own:

    >>> late = []
    >>> stamped = ps.stamp(lambda n: n, lateness=2, late=ps.drain(late.append))
    >>> ps.run(ps.pipe(ps.values([1, 5, 3, 2, 6]), stamped, ps.collect())), late
    ([1, 5, 3, 6], [2])

    Values stay in one batch even if their times differ; a per-time module downstream does its work once for each time.
    `lateness` adds almost no cost. A sink for late values does, even if none is late: every value is checked once more,
    and routing to two sinks costs about as much again as assigning times. A late value costs several times as much as
    one in time; dropping it costs nothing.

    The times of the input are replaced, so it may have only one, such as the 0 of a source without times, or the result
    of `ps.map_time(lambda _: 0)`. With `nest=True`, it may have several: times become pairs (outer, inner), values are
    in order within each outer time, and a time that is complete upstream is complete downstream. If `time` raises or
    returns None, the error is handled as in `map`, except that there is no `on_error="result"`; a sink gets the value
    at the least time that may still be assigned.

    Raises: CapabilityError: a value goes back in time or is too late, or the input has a second time.
    """
    marks = catches(on_error)
    if lateness is None:
        return opens(Stamping(partial(_InOrder, time, on_error), nest=nest, counts=marks))
    clock = partial(_WithLateness, time, on_error, lateness, late)
    return opens(Stamping(clock, nest=nest, counts=marks or late != "error"))
