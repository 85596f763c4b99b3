"""Readable formats for times, durations and numbers."""

import datetime as dt
from collections.abc import Callable, Hashable, Iterable
from typing import cast

from pullstream.timely import BEGINNING, Lexicographic, Product

MOST = 40
"""The maximum length of a time."""

LEAST_TIMES = 3
"""The maximum number of times shown of a frontier."""


def of_time(time: Hashable) -> str:
    """Format a time.

    >>> of_time(dt.date(2013, 7, 31)), of_time(dt.datetime(2013, 7, 31, 14)), of_time(Product(3, dt.date(2013, 7, 31)))
    ('2013-07-31', '2013-07-31 14:00', '(3, 2013-07-31)')
    """
    if time is BEGINNING:
        return "the beginning"
    if isinstance(time, dt.datetime):
        text = time.isoformat(" ", "seconds" if time.second else "minutes")
    elif isinstance(time, (tuple, Product, Lexicographic)):
        text = f"({', '.join(of_time(part) for part in cast('Iterable[Hashable]', time))})"
    else:
        text = str(time)
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


def of_frontier(frontier: Iterable[Hashable], shown: Callable[[Hashable], str]) -> str:
    """Format the earliest times of a frontier.

    >>> of_frontier([3], of_time), of_frontier([(1, 4), (2, 2), (3, 1), (5, 0)], of_time)
    ('3', '(1, 4), (2, 2), (3, 1) and 1 more')
    """
    times = [shown(time) for time in frontier]
    rest = len(times) - LEAST_TIMES
    return ", ".join(times[:LEAST_TIMES]) + (f" and {rest:,} more" if rest > 0 else "")


def of_seconds(seconds: float) -> str:
    """Format a duration.

    >>> of_seconds(5.4), of_seconds(3725), of_seconds(200_000)
    ('0:00:05', '1:02:05', '2 days, 7:33:20')
    """
    return str(dt.timedelta(seconds=int(seconds)))


def of_rate(per_second: float) -> str:
    """Format a rate per second.

    >>> of_rate(84_112.4), of_rate(0.25), of_rate(0)
    ('84,112', '0.2', '0')
    """
    return f"{per_second:.1f}" if 0 < per_second < 10 else f"{per_second:,.0f}"
