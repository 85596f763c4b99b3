"""What the figures share: where a day stands, and which colour a delay has."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, timedelta

import attrs

BOUNDS = (-10, -5, 0, 5, 10, 20, 35, 60)
"""Minutes; a mean delay of class n lies below ``BOUNDS[n]``, and the last class is open."""

LEFT, RIGHT, FIELD = 176, 176, 53 * 16
WIDTH = LEFT + FIELD + RIGHT
DAILY_UP_TO = 42
"""Up to this many days a column is a day; beyond, a week, Sunday at the top."""


def colour_class(mean: float | None) -> str:
    """Name the colour of a mean delay.

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
        """How far apart columns are."""
        return min(FIELD / self.columns, 60 if self.weekly else 280)

    @property
    def cell(self) -> float:
        """How wide a column's mark is."""
        return self.pitch - (2 if self.pitch < 30 else 3)

    @property
    def height(self) -> float:
        """How high a day's mark is: square in a full year, and never too high for the eye to take in at once."""
        return min(self.cell, 24.0 if self.weekly else 52.0)

    @property
    def end(self) -> float:
        """Where the last column ends."""
        return LEFT + self.columns * self.pitch

    def column(self, day: date) -> int:
        """Say which column a day stands in."""
        return (day - self.first).days // (7 if self.weekly else 1)

    def x(self, day: date) -> float:
        """Say where a day's column begins."""
        return LEFT + self.column(day) * self.pitch

    def slot(self, day: date) -> tuple[float, float]:
        """Say where a day's own bar begins, and how wide it is: a week's column has room for seven."""
        if not self.weekly:
            return self.x(day), self.cell
        width = self.pitch / 7
        return LEFT + (day - self.first).days * width, max(width - 0.5, 0.8)
