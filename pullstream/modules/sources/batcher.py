"""Batches of the values of an iterator: each value at its time, and nothing before a failure is lost (R8)."""

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from types import CoroutineType, NoneType
from typing import Any, Final

from pullstream.engine.sidecar.order_advice import order_advice
from pullstream.errors import CapabilityError
from pullstream.failures import Unawaited
from pullstream.protocol import Batch
from pullstream.timely import less_equal
from pullstream.timely.order import Ascending

_NO_TIMES: Final = frozenset((NoneType, CoroutineType))


class Batcher:
    """Makes batches of values, each at the time that `time_of` gives it, or all at 0.

    A value whose time goes back is kept for the next batch, where it is refused; a failure is kept, too.
    """

    def __init__(self, time_of: Callable[[Any], Hashable] | None) -> None:
        self._time_of = time_of
        self._failed: BaseException | None = None
        self._kept: list[tuple[Any, Hashable]] = []

    @property
    def pending(self) -> bool:
        """Whether something is kept for the next batch."""
        return bool(self._kept) or self._failed is not None

    def batch(self, values: Iterator[Any], limit: int, slow: Callable[[], bool] | None = None) -> Batch[Any] | None:
        """At most `limit` of the next values, or only one if `slow` returns true after it; None at the end.

        Raises: BaseException: what the iterator, `time_of` or a time raised, once the values before it have been given.
        """
        if self._failed is not None:
            raise self._failed
        taken: list[Any] = []
        times: list[Hashable] = []
        try:
            self._take(values, 1 if slow else limit, taken, times)
            if slow and not slow():
                self._take(values, limit, taken, times)
        except BaseException as exc:
            if not taken:
                raise
            # The values before the failure are delivered; it comes with the next ask.
            self._failed = exc
        if not taken:
            return None
        return Batch(0, taken) if self._time_of is None else Batch.of(Ascending(times), taken)

    def _take(self, values: Iterator[Any], limit: int, taken: list[Any], times: list[Hashable]) -> None:
        """Take further values, until there are `limit`."""
        time_of = self._time_of
        if time_of is None:
            taken.extend(islice(values, limit - len(taken)))
            return
        # Before the first value there is no time, and no value has the time None.
        time: Hashable = times[-1] if times else None
        if self._kept:
            value, time = self._kept.pop()
            taken.append(value)
            times.append(time)
        for value in islice(values, limit - len(taken)):
            value_time = time_of(value)
            if value_time is None or value_time != time:
                if value_time != value_time or value_time.__class__ in _NO_TIMES:  # noqa: PLR0124 - NaN
                    known(value_time, value)
                try:
                    goes_back = times and not time <= value_time  # type: ignore[operator]  # the domain's own order
                except TypeError:
                    goes_back = not less_equal(time, value_time)
                if goes_back:
                    self._kept.append((value, value_time))
                    break
                time = value_time
            taken.append(value)
            times.append(time)


def stamped(value: Any, time_of: Callable[[Any], Hashable] | None) -> Hashable:
    """The time of a value: 0, or what `time_of` says."""
    if time_of is None:
        return 0
    time = time_of(value)
    known(time, value)
    return time


def known(time: Hashable, value: Any) -> None:
    """Refuse a value whose time is None or a coroutine (TypeError), or NaN (CapabilityError)."""
    if time is None:
        raise TypeError(f"{value!r} has no time: the function that computes times returned None")
    if isinstance(time, CoroutineType):
        time.close()
        raise Unawaited(
            f"{value!r} has no time: the function that computes times returned a coroutine, which is not awaited here; "
            f"use map_async first"
        )
    if time != time:  # noqa: PLR0124 - only NaN is not equal to itself
        raise CapabilityError(f"{value!r} is at {time!r}. {order_advice(time)} (R12)", time)
