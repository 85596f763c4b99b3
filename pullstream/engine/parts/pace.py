"""The number of values that a module takes at a time where each of them may have to be waited for."""

import trio

from pullstream.engine.edge.edge import BREATH


class Pace:
    """The number of values to take next, so that what was taken is dealt with in a few milliseconds.

    Whoever reads a queue or a poll must not find that hundreds of values were taken and none was worked on: so `least`
    are taken at first, and whenever dealing with them takes long; twice as many each time while it takes a moment, for
    then it is asking that costs. Waiting counts, by the run's clock; only what is below can say what a value costs.
    """

    __slots__ = ("_least", "_since", "_size", "_taken")

    def __init__(self, least: int = 1) -> None:
        self._least = least
        self._size = least
        self._taken = 0
        self._since = 0.0

    def next(self) -> int:
        """The number to have under way at a time, as far as can be told by what was taken since that last changed."""
        if self._taken:
            spent = trio.current_time() - self._since
            if spent > BREATH:
                self._size = max(self._least, int(self._taken * BREATH / (2 * spent)))
                self._taken = 0
            elif self._taken >= self._size:
                if spent < BREATH / 2:
                    self._size *= 2
                self._taken = 0
        return self._size

    def took(self, count: int) -> None:
        """Note that so many have come, to be dealt with from now on."""
        if not self._taken:
            self._since = trio.current_time()
        self._taken += count
