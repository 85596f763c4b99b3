"""Errors and advice about times that cannot be ordered, or whose order misleads."""

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import Any, Final, cast

from pullstream.errors import CapabilityError
from pullstream.timely import Lexicographic, Product, less_equal


def order_advice(*times: Hashable) -> str:
    """The advice for times of which neither is before the other, or for times in a misleading order.

    The latter are strings, and the hour that a zone's clock shows twice. For other times the advice is empty.
    """
    if all(isinstance(time, str) for time in times):
        return (
            "Sort the values. Strings are compared letter by letter, so '9:00' comes after '10:00': to avoid this, "
            "convert them to times, for example with datetime.fromisoformat"
        )
    before, after = times[0], times[-1]
    if (
        isinstance(before, datetime)
        and isinstance(after, datetime)
        and None is not before.tzinfo is after.tzinfo
        and before.timestamp() < after.timestamp()
    ):
        return (
            "When summer time ends, a zone's clock shows an hour twice, and Python compares datetimes of one zone by "
            "its clock: convert them with time.astimezone(UTC)"
        )
    if any(map(has_nan, times)):
        return NO_ORDER
    if less_equal(before, after) or less_equal(after, before):
        return ""
    return (
        "Neither time is before the other, and a source emits times in order: split the values into several sources, "
        "each of them in order, and merge these"
    )


NO_ORDER: Final = "NaN cannot be ordered: give its value another time, or leave the value out"


def has_nan(time: Any) -> bool:
    """Whether a time is NaN, the only value that does not equal itself, or has it as one of its parts."""
    if isinstance(time, (tuple, Product, Lexicographic)):
        return any(map(has_nan, cast("Iterable[Any]", time)))
    return time != time  # noqa: PLR0124 - as above


def check_time(time: Any) -> None:
    """Refuse an object that cannot be a time. The first time of a stream has no earlier one to be compared with."""
    try:
        hash(time)
    except TypeError:
        raise TypeError(
            f"{time!r} cannot be a time: times must be hashable, as numbers, dates and tuples of them are"
        ) from None
    if time is None:
        raise TypeError("None cannot be a time: it has no order. Give a number, a date, or a tuple of them")
    if has_nan(time):
        raise CapabilityError(f"{time!r} cannot be a time. {NO_ORDER} (R12)", time)
