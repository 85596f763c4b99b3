"""The common scales of the figures: the place of a day, and the colour of a delay."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, timedelta

import attrs

BOUNDS = (-10, -5, 0, 5, 10, 20, 35, 60)
"""Bounds in minutes: a mean delay of class n is below ``BOUNDS[n]``; the last class is open."""

LEFT, RIGHT, FIELD = 176, 176, 53 * 16
WIDTH = LEFT + FIELD + RIGHT
DAILY_UP_TO = 42
"""Up to this many days, a column is a day; beyond, a week with Sunday at the top."""


def colour_class(mean: float | None) -> str:
    """Return the class of a mean delay's colour.

    >>> colour_class(-12.0), colour_class(0.0), colour_class(99.0), colour_class(None)
    ('d0', 'd3', 'd8', 'none')
    """
    return "none" if mean is None else f"d{bisect_right(BOUNDS, mean)}"


@attrs.frozen
class Axis:
    """The horizontal axis that all figures share: columns of days or of weeks."""

    first: date
    weekly: bool
    columns: int

    @classmethod
    def of(cls, days: Sequence[date]) -> "Axis":
        """Make the axis from the first day to the last."""
        span = (days[-1] - days[0]).days + 1
        if span <= DAILY_UP_TO:
            return cls(days[0], weekly=False, columns=span)
        sunday = days[0] - timedelta(days=days[0].isoweekday() % 7)
        return cls(sunday, weekly=True, columns=(days[-1] - sunday).days // 7 + 1)

    @property
    def pitch(self) -> float:
        """The distance between columns."""
        return min(FIELD / self.columns, 60 if self.weekly else 280)

    @property
    def cell(self) -> float:
        """The width of a column's mark."""
        return self.pitch - (2 if self.pitch < 30 else 3)

    @property
    def height(self) -> float:
        """The height of a day's mark: square in a full year, and limited for few days."""
        return min(self.cell, 24.0 if self.weekly else 52.0)

    @property
    def end(self) -> float:
        """The end of the last column."""
        return LEFT + self.columns * self.pitch

    def column(self, day: date) -> int:
        """Return the column of a day."""
        return (day - self.first).days // (7 if self.weekly else 1)

    def x(self, day: date) -> float:
        """Return the start of a day's column."""
        return LEFT + self.column(day) * self.pitch

    def slot(self, day: date) -> tuple[float, float]:
        """Return the start and width of a day's own bar: a week's column has room for seven."""
        if not self.weekly:
            return self.x(day), self.cell
        width = self.pitch / 7
        return LEFT + (day - self.first).days * width, max(width - 0.5, 0.8)
