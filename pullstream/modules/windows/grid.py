"""A grid of windows over times to which durations can be added: which windows contain a time, and which ends first."""

from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, Final

from pullstream.blueprint import Call, checks
from pullstream.timely import LoopTime, TimeDomainError

NUMBERS: Final = (int, float, Fraction, Decimal)


class Grid:
    """Windows of one size that start at equal steps from an origin: 0 for numbers, 1970 for dates."""

    def __init__(self, module: str, size: Any, every: Any, origin: Any) -> None:
        self._module = module
        self._size = size
        self._every = every
        self._origin = self._given = origin

    def first_end(self, time: Any) -> Any:
        """Find the earliest end of a window after a time."""
        return self._end(self._first(time))

    def around(self, time: Any) -> list[tuple[Any, Any]]:
        """Return the start and end of every window that contains a time, earliest first."""
        number = self._first(time)
        windows: list[tuple[Any, Any]] = []
        while (start := self._start(number)) <= time:
            windows.append((start, self._end(number)))
            number += 1
        return windows

    def cell(self, time: Any) -> tuple[Any, Any, list[tuple[Any, Any]]]:
        """Return the range of times (end excluded) in the same windows as `time`, and those windows."""
        number = self._first(time)
        windows = self.around(time)
        low, high = self._end(number - 1), self._start(number + len(windows))
        if windows:
            low, high = max(low, windows[-1][0]), min(high, windows[0][1])
        return low, high, windows

    def _start(self, number: Any) -> Any:
        return self._origin + number * self._every

    def _end(self, number: Any) -> Any:
        # Adjacent windows: the end must equal the next start exactly, to the last bit.
        return self._start(number + 1) if self._every == self._size else self._start(number) + self._size

    def _first(self, time: Any) -> Any:
        """Find the number of the first window that ends after a time."""
        for step in (self._size, self._every):
            if is_cut(time, step):
                raise refusal(self._module, time, step)
        try:
            # NumPy's integers wrap around.
            time = checks.as_int(time)
            if self._origin is None:
                self._origin = _origin(time)
            number = (time - self._origin - self._size) // self._every + 1
            # Division rounds, so correct the result by one.
            if self._end(number - 1) > time:
                number -= 1
            elif self._end(number) <= time:
                number += 1
            if self._end(number) > time:
                return number
        except (TypeError, ValueError, OverflowError):
            raise refusal(self._module, time, self._size, self._given) from None
        raise refusal(self._module, time, self._size, self._given)


def is_cut(time: object, duration: object) -> bool:
    """Whether Python cuts a duration to whole days when it is added to a time: windows would differ in length."""
    is_date = isinstance(time, date) and not isinstance(time, datetime)
    return is_date and isinstance(duration, timedelta) and duration % timedelta(days=1) != timedelta()


LOOP_TIMES: Final = "times inside a loop belong to the loop: assign times before or after it, not in its body"
"""The advice for a module that changes times in a loop."""


def refusal(module: str, time: object, size: object, origin: object = None) -> TimeDomainError:
    """Make the error for a time to which a duration cannot be added, or that has no distance from an `origin`."""
    if isinstance(time, LoopTime):
        return TimeDomainError(f"{module} cannot add {size!r} to the time {time!r}, because {LOOP_TIMES}")
    if origin is None and (result := _beyond(size, time)):
        return TimeDomainError(
            f"{module} cannot add {size!r} to the time {time!r}, or subtract it: the result would be {result}. Leave "
            "out values at such times, for example with filter(...) in front, or give them another time"
        )
    return TimeDomainError(
        f"{module} cannot add {size!r} to the time {time!r} ({type(time).__name__}). It needs ordered times to which "
        f"the duration can be added: numbers with a number, datetimes with a timedelta, or dates with a timedelta of "
        f"whole days. {_instead(size, time)}{in_microseconds(size, time)}{_from(origin)}"
    )


def _beyond(size: object, time: object) -> str:
    """Return what is wrong with a sum if the time and the duration are of kinds that can be added."""
    if isinstance(time, date) and isinstance(size, timedelta) and not is_cut(time, size):
        return "outside the range of Python's dates"
    if isinstance(time, float) and isinstance(size, (int, float)):
        return "infinite, or rounded"
    return ""


def _instead(size: object, time: object) -> str:
    """Return the fix."""
    numpy = "lambda time: time.item()" if hasattr(time, "item") else "..."
    example = "datetime.fromisoformat" if isinstance(time, str) else numpy
    return as_timedelta(size, time) or f"Put map_time({example}) upstream to make such times"


def as_timedelta(size: object, time: object) -> str:
    """Return the fix for a number that is added to a date."""
    if not isinstance(time, date) or not isinstance(size, NUMBERS):
        return ""
    unit = "seconds" if isinstance(time, datetime) else "days"
    return f"Pass a timedelta: timedelta({unit}={size!r}), if {size!r} is in {unit}"


def _from(origin: object) -> str:
    if origin is None:
        return ""
    return f". Times must be of the type of origin={origin!r}; for datetimes, both or neither must have a time zone"


TIMELESS: Final = (
    "Values without an assigned time are at 0: assign times with time= in the source or with stamp(...), or correct "
    "the function that gave 0"
)


def timeless(count: int, times: AbstractSet[object]) -> bool:
    """Whether several values have arrived, all at the int 0, the time of a source without times."""
    return count > 1 and len(times) == 1 and all(type(time) is int and time == 0 for time in times)


def in_microseconds(duration: object, time: object) -> str:
    """Return a hint for a timedelta with integer times, whose unit is unknown here."""
    if isinstance(duration, timedelta) and isinstance(time, int):
        if time == 0:
            return f". {TIMELESS}"
        number = duration // timedelta(microseconds=1)
        return f". If these are the microseconds of a TIMESTAMP column, the duration is {number:_}"
    return ""


def _origin(time: object) -> Any:
    if isinstance(time, NUMBERS):
        return 0
    if isinstance(time, datetime):
        return datetime(1970, 1, 1, tzinfo=None if time.tzinfo is None else UTC)
    if isinstance(time, date):
        return date(1970, 1, 1)
    raise TypeError("neither a number nor a date")


def starting(call: Call, origin: Any) -> Any:
    """Check for an origin to which the size can be added."""
    origin = checks.as_int(origin)
    try:
        _ = origin is None or origin + call["size"]
    except TypeError as exc:
        raise call.refuse(
            f"got size={call['size']!r} and origin={origin!r}, which cannot be added: {exc}. With a number, the origin "
            f"is a number; with a timedelta, a date or datetime"
        ) from None
    return origin


def not_negative(call: Call, value: Any) -> Any:
    """Check for a number or timedelta that is not negative; anything else that may be subtracted from times passes."""
    value = checks.as_int(value)
    zero: Any = timedelta() if isinstance(value, timedelta) else 0
    if isinstance(value, str):
        raise call.refuse(f"needs a number or a timedelta for its argument {call.name!r}, but got {value!r}")
    if isinstance(value, (timedelta, *NUMBERS)) and not zero <= value:
        raise call.refuse(f"needs a {call.name} that is not negative, but got {value!r}")
    return value


def of_one_kind(call: Call) -> None:
    """Refuse a number together with a timedelta."""
    size, every = call["size"], call["every"]
    if isinstance(size, timedelta) != isinstance(every, timedelta):
        raise call.refuse(f"needs two numbers or two timedeltas, but got size={size!r} and every={every!r}")


def duration(call: Call, value: Any) -> Any:
    """Check for a positive number or a positive timedelta."""
    value = checks.as_int(value)
    if isinstance(value, timedelta):
        positive = value > timedelta()
    else:
        positive = isinstance(value, NUMBERS) and not isinstance(value, bool) and isfinite(value) and value > 0
    if not positive:
        hint = "" if call.name != "within" else ". Without within=, it pairs values at equal times"
        raise call.refuse(
            f"needs a positive number or a positive timedelta for its argument {call.name!r}, but got {value!r}{hint}"
        )
    return value
