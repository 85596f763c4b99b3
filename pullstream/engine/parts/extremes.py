"""The least and the greatest of changing numbers, for modules with many branches or groups."""


class Extremes:
    """The least and the greatest of many numbers that change one at a time; cheap if most of them are equal.

    >>> extremes = Extremes()
    >>> extremes.change(None, 3)
    >>> extremes.change(None, 5)
    >>> extremes.change(3, 4)
    >>> extremes.least, extremes.greatest
    (4, 5)
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def change(self, before: int | None, now: int | None) -> None:
        """Replace a number by another; None as `before` adds a number, None as `now` removes one."""
        counts = self._counts
        if before == now:
            return
        if now is not None:
            counts[now] = counts.get(now, 0) + 1
        if before is not None:
            if counts[before] == 1:
                del counts[before]
            else:
                counts[before] -= 1

    @property
    def least(self) -> int:
        """The least of the numbers."""
        return min(self._counts)

    @property
    def greatest(self) -> int:
        """The greatest of the numbers."""
        return max(self._counts)
