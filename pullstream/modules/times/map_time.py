"""`map_time` and `delay`: new times computed from the old ones. `timed`: times as part of the values."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Annotated, Any, Literal, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Sync, Transformer
from pullstream.blueprint.parts import Same, TimedValues
from pullstream.blueprint.variables import A, B, V
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import result_of
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.sidecar.order_advice import NO_ORDER, has_nan
from pullstream.engine.traits import PROMPT
from pullstream.errors import CapabilityError
from pullstream.failures import Failed, caught
from pullstream.modules.values.on_error import Handled, OnError, catches
from pullstream.modules.windows.grid import as_timedelta, in_microseconds, is_cut
from pullstream.protocol import Batch, Done, Unanswered
from pullstream.timely import BEGINNING, Delay, MapTime, SummaryError, less_equal


class Retiming(PassOn):
    """Delivers values at a time computed from their time."""

    @abstractmethod
    def made(self, time: Any) -> Hashable:
        """Compute a new time. Called once for consecutive values at one time."""

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        if batch.uniform:
            return Batch(self.made(batch.time), batch.values)
        times: list[Hashable] = []
        before = later = None
        try:
            for time in batch.times:
                if time is not before and time != before:
                    before, later = time, self.made(time)
                times.append(later)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.fail(exc, times, batch, len(times))
        return Batch.of(times, batch.values[: len(times)])


class Restamping(Retiming):
    """Delivers values at the time that a monotone function computes from their time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        def plain(time: Any) -> Any:
            return result_of(function, function(time))

        self._function = plain
        self._time: Hashable = BEGINNING
        self._made: Hashable = BEGINNING
        self.traits = attrs.evolve(PROMPT, summaries=[MapTime(plain, converts=True)])

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        answer = super().poll(limit)
        # The sidecar calls the function, too, with times that no value has; report its failure here.
        if self.location.summary_failure is not None:
            raise self.location.summary_failure
        return answer

    @override
    def made(self, time: Any) -> Hashable:
        if time == self._time:
            return self._made
        later = self._function(time)
        try:
            hash(later)
        except TypeError:
            raise TypeError(
                f"{self.location}: the function returned {later!r} for the time {time!r}, but times must be hashable, "
                f"like numbers, dates and tuples of them"
            ) from None
        if later is None:
            raise TypeError(
                f"{self.location}: the function returned None for the time {time!r}, and None is not a time"
            )
        if less_equal(self._time, time) and not less_equal(self._made, later):
            advice = "The function must be monotone: a later time must not map to an earlier one"
            if has_nan(self._made) or has_nan(later):
                advice = NO_ORDER
            raise CapabilityError(
                f"{self.location} mapped {self._time!r} to {self._made!r}, but the later time {time!r} to {later!r}. "
                f"{advice}"
            )
        self._time, self._made = time, later
        return later


@transformer
@Emits.AT_OTHER_TIMES
def map_time(function: Annotated[Callable[[Any], Hashable], Sync("a time cannot be awaited", "a time")]) -> Same[V]:
    """Replace the time of every value by `function(time)`: days instead of seconds, a coarser or another clock.

    >>> import pullstream as ps
    >>> seconds = ps.values([3, 59, 61], time=lambda second: second)
    >>> ps.run(ps.pipe(seconds, ps.map_time(lambda second: second // 60), ps.count_by_key(lambda _: "n"), ps.collect()))
    [('n', 2), ('n', 1)]

    The function must be monotone: a later time must not map to an earlier one. It may be called at any moment, and with
    times that no value has. A new time is complete when all times that map to it are complete. There is no `on_error`,
    because the function is called with times, not with values.

    Raises: CapabilityError: the function is not monotone. BaseException: any error that the function raises; it fails
    the stream here, immediately.
    """
    return opens(Restamping(function))


class _Delaying(Retiming):
    def __init__(self, step: Any) -> None:
        self._step = step
        self._delay = Delay(step)
        self.traits = attrs.evolve(PROMPT, summaries=[self._delay])

    @override
    def made(self, time: Any) -> Hashable:
        if is_cut(time, self._step):
            raise SummaryError(
                f"{self.location}: Python adds only whole days to the date {time!r}, and the step is {self._step!r}. "
                f"Put map_time(...) upstream to make datetimes, or delay by a timedelta of whole days"
            )
        try:
            later = self._delay.results_in(time)
        except SummaryError as exc:
            fix = f". {fix}" if (fix := as_timedelta(self._step, time)) else in_microseconds(self._step, time)
            raise SummaryError(f"{self.location}: {exc}{fix}") from exc
        if later is None:
            raise SummaryError(f"{self.location}: there is no time {self._step!r} later than {time!r}")
        return later


def _step(call: Call, step: Any) -> Any:
    try:
        Delay(step)
    except SummaryError as exc:
        raise call.refuse(f"cannot delay by {step!r}: {exc}") from None
    return step


@transformer
@Emits.AT_OTHER_TIMES
def delay(step: Annotated[Any, _step]) -> Same[V]:
    """Add `step` to the time of every value: a number to numbers, a `timedelta` to dates.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, 2], time=lambda n: n), ps.delay(10), ps.collect(timed=True)))
    [(11, 1), (12, 2)]

    This delays values in logical time; none of them waits. Times are added as Python adds them: with floats, several
    delays in a row round after each addition. Only whole days can be added to dates.

    Raises: SummaryError: the step cannot be added to a time, or the result is beyond the last possible time.
    """
    return opens(_Delaying(step))


def _pair(time: Hashable, value: Any) -> tuple[Hashable, Any]:
    return time, value


class _Timed(PassOn):
    def __init__(self, function: Callable[[Any, Any], Any], on_error: object) -> None:
        self._function = function
        self._catches = catches(on_error)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        out: list[Any] = []
        times = batch.times
        try:
            for value, time in zip(batch.values, times, strict=True):
                try:
                    made = self._function(time, value)
                    out.append(made if out else result_of(self._function, made))
                except Exception as exc:
                    if not self._catches:
                        raise
                    out.append(caught(value, exc))
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.fail(exc, out, batch, len(out))
        return Batch(batch.time, out) if batch.uniform else Batch.of(times[: len(out)], out)


@overload
def timed() -> TimedValues[V]: ...
@overload
def timed(function: Callable[[Any, A], B], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def timed(function: Callable[[Any, A], B], *, on_error: Literal["result"]) -> Transformer[A, B | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def timed(
    function: Annotated[
        Callable[[Any, Any], Any],
        Sync("use timed() without a function, then map_async(function, concurrency)", generates=True),
    ] = _pair,
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Replace every value by `function(time, value)`; by default, by the pair `(time, value)`.

    Use it, for example, to write the day into each line of a report:

    >>> import pullstream as ps
    >>> sold = ps.values([(1, "tea"), (1, "rice"), (1, "tea"), (2, "tea")], time=lambda sale: sale[0])
    >>> lines = ps.timed(lambda day, counted: {"day": day, "item": counted[0], "sold": counted[1]})
    >>> for line in ps.run(ps.pipe(sold, ps.count_by_key(lambda sale: sale[1]), lines, ps.collect())):
    ...     print(line)
    {'day': 1, 'item': 'tea', 'sold': 2}
    {'day': 1, 'item': 'rice', 'sold': 1}
    {'day': 2, 'item': 'tea', 'sold': 1}

    Values stay at their times; to change those, use `map_time`. In a stream without times, the time is 0. Errors in the
    function are handled as in `map`.
    """
    return opens(_Timed(function, on_error))
