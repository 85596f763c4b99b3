"""Cutting what an iterator gives into batches: at one time each, and nothing before a failure is lost (R8)."""

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Any, Final

from pullstream.protocol import Batch

_END: Final = object()


class Batcher:
    """Makes batches of values, each at the time that `time_of` gives it, or all at 0.

    A value whose time is not that of the batch before is kept for the next one; so is a failure.
    """

    def __init__(self, time_of: Callable[[Any], Hashable] | None) -> None:
        self._time_of = time_of
        self._failed: BaseException | None = None
        self._kept: list[tuple[Any, Hashable]] = []

    @property
    def pending(self) -> bool:
        """Whether something is kept for the next batch."""
        return bool(self._kept) or self._failed is not None

    def batch(self, values: Iterator[Any], limit: int) -> Batch[Any] | None:
        """At most `limit` of the next values; None when the iterator has ended.

        Raises:
            BaseException: what the iterator or `time_of` raised, once the values before it have been given.
        """
        if self._failed is not None:
            raise self._failed
        return self._untimed(values, limit) if self._time_of is None else self._timed(values, limit, self._time_of)

    def _untimed(self, values: Iterator[Any], limit: int) -> Batch[Any] | None:
        taken: list[Any] = []
        try:
            taken.extend(islice(values, limit))
        except BaseException as exc:  # noqa: BLE001 - raised with the next ask, if anything came before
            self._fail(exc, taken)
        return Batch(0, taken) if taken else None

    def _timed(self, values: Iterator[Any], limit: int, time_of: Callable[[Any], Hashable]) -> Batch[Any] | None:
        taken: list[Any] = []
        time: Hashable = None
        try:
            while len(taken) < limit:
                if self._kept:
                    value, value_time = self._kept.pop()
                else:
                    value = next(values, _END)
                    if value is _END:
                        break
                    value_time = stamped(value, time_of)
                if taken and value_time != time:
                    self._kept.append((value, value_time))
                    break
                time = value_time
                taken.append(value)
        except BaseException as exc:  # noqa: BLE001 - raised with the next ask, if anything came before
            self._fail(exc, taken)
        return Batch(time, taken) if taken else None

    def _fail(self, exc: BaseException, taken: list[Any]) -> None:
        """Deliver what came before; the failure comes with the next ask."""
        if not taken:
            raise exc
        self._failed = exc


def stamped(value: Any, time_of: Callable[[Any], Hashable] | None) -> Hashable:
    """The time of a value: 0, or what `time_of` says."""
    if time_of is None:
        return 0
    time = time_of(value)
    if time is None:
        raise TypeError(f"{value!r} has no time: what was given as time= returned None")
    return time
