"""A grid of windows over times that durations are added to: which windows a time is in, and which ends first."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, Final

from pullstream.blueprint import Call
from pullstream.timely import TimeDomainError

NUMBERS: Final = (int, float, Fraction, Decimal)


class Grid:
    """Windows of one size that start at equal steps from an origin; the origin of numbers is 0, of dates 1970."""

    def __init__(self, module: str, size: Any, every: Any, origin: Any) -> None:
        self._module = module
        self._size = size
        self._every = every
        self._origin = origin

    def first_end(self, time: Any) -> Any:
        """The least end of a window after a time."""
        return self._end(self._first(time))

    def around(self, time: Any) -> list[tuple[Any, Any]]:
        """The start and end of every window that a time is in, the first one first."""
        number = self._first(time)
        windows: list[tuple[Any, Any]] = []
        while (start := self._start(number)) <= time:
            windows.append((start, self._end(number)))
            number += 1
        return windows

    def cell(self, time: Any) -> tuple[Any, Any, list[tuple[Any, Any]]]:
        """The times around one that are in the same windows as it, from the first on and before the last, and these."""
        number = self._first(time)
        windows = self.around(time)
        low, high = self._end(number - 1), self._start(number + len(windows))
        if windows:
            low, high = max(low, windows[-1][0]), min(high, windows[0][1])
        return low, high, windows

    def _start(self, number: Any) -> Any:
        return self._origin + number * self._every

    def _end(self, number: Any) -> Any:
        # Of windows side by side one's end is the next one's start, to the last bit.
        return self._start(number + 1) if self._every == self._size else self._start(number) + self._size

    def _first(self, time: Any) -> Any:
        """The number of the first window that ends after a time."""
        try:
            if self._origin is None:
                self._origin = _origin(time)
            number = (time - self._origin - self._size) // self._every + 1
            # Division rounds, towards zero or to the next float.
            if self._end(number - 1) > time:
                number -= 1
            elif self._end(number) <= time:
                number += 1
            if self._end(number) > time:
                return number
        except (TypeError, ValueError, OverflowError) as exc:
            raise self.refusal(time) from exc
        raise self.refusal(time)

    def refusal(self, time: Any) -> TimeDomainError:
        """The error for a time that has no place on the grid."""
        return refusal(self._module, time, self._size)


def refusal(module: str, time: object, size: object) -> TimeDomainError:
    """The error for a time to which a duration cannot be added."""
    return TimeDomainError(
        f"{module} cannot tell how much later {size!r} is than the time {time!r} ({type(time).__name__}): it needs "
        f"times in one order that durations are added to, numbers for numbers, a timedelta for datetimes, or one of "
        f"whole days for dates; restamp(...) above it makes such times of others{in_microseconds(size, time)}"
    )


def in_microseconds(duration: object, time: object) -> str:
    """A hint for whoever gave a timedelta where times are whole numbers, whose unit nobody but him knows."""
    if isinstance(duration, timedelta) and isinstance(time, int):
        if time == 0:
            return (
                "; 0 is the time of a source that says nothing of time: give the values times, with time= in the "
                "source or stamp(...) below it"
            )
        number = duration // timedelta(microseconds=1)
        return f"; the times of a TIMESTAMP column are microseconds, of which it is {number:_}"
    return ""


def _origin(time: object) -> Any:
    if isinstance(time, NUMBERS):
        return 0
    if isinstance(time, datetime):
        return datetime(1970, 1, 1, tzinfo=None if time.tzinfo is None else UTC)
    if isinstance(time, date):
        return date(1970, 1, 1)
    raise TypeError("neither a number nor a date")


def not_negative(call: Call, value: Any) -> Any:
    """A number or a timedelta that is not negative, or whatever else may be subtracted from times."""
    zero: Any = timedelta() if isinstance(value, timedelta) else 0
    if isinstance(value, (timedelta, *NUMBERS)) and not zero <= value:
        raise call.refuse(f"needs a {call.name} that is not negative, and got {value!r}")
    return value


def of_one_kind(call: Call) -> None:
    """Refuse a number beside a timedelta."""
    size, every = call["size"], call["every"]
    if isinstance(size, timedelta) != isinstance(every, timedelta):
        raise call.refuse(f"needs two numbers, or two timedeltas, and got size={size!r} and every={every!r}")


def duration(call: Call, value: Any) -> Any:
    """A positive number, or a positive timedelta."""
    if isinstance(value, timedelta):
        positive = value > timedelta()
    else:
        positive = isinstance(value, NUMBERS) and not isinstance(value, bool) and isfinite(value) and value > 0
    if not positive:
        raise call.refuse(f"needs a positive number, or a positive timedelta, as its {call.name}, and got {value!r}")
    return value
