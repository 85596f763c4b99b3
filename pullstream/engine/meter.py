"""Counters: what every module of a run did, and what it waited for."""

from time import perf_counter
from typing import Any

import attrs


@attrs.frozen
class Counters:
    """What one module (or a row of fused ones) has done so far; times are in seconds of the wall clock.

    From its first ask to its end a module is, at every moment, in one of three states: nobody asks it
    (`waiting_for_downstream`); or it is asked, and an ask of its own is outstanding (`waiting_for_upstream`); or it
    is asked and asks nobody (`busy`: it computes, or waits for user code or the outside world). A sink counts as asked
    all the time. `skipped` are the values that `on_error="skip"` left out.
    """

    module: str
    values_in: int
    values_out: int
    skipped: int
    busy: float
    waiting_for_upstream: float
    waiting_for_downstream: float

    def as_dict(self) -> dict[str, Any]:
        """The same as a plain dict, for JSON, a DataFrame or a metrics system."""
        return attrs.asdict(self)


ENDED = -1.0


class Meter:
    """The running counters of a module; its lanes keep it."""

    __slots__ = ("_asked", "_asking", "_buckets", "_since", "skipped", "values_in", "values_out")

    def __init__(self) -> None:
        self.values_in = 0
        self.values_out = 0
        self.skipped = 0
        self._asked = 0
        self._asking = 0
        self._since = 0.0
        self._buckets = [0.0, 0.0, 0.0]

    def always_asked(self) -> None:
        """For a sink: it works from here on whenever it does not ask."""
        self._asked = 1
        self._since = perf_counter()

    def step(self, now: float, asked: int, asking: int) -> None:
        """Book the time until `now`, and change how many asks come in and go out."""
        since = self._since
        if since > 0:
            self._buckets[2 if not self._asked else 1 if self._asking else 0] += now - since
        if since >= 0:
            self._since = now
        self._asked += asked
        self._asking += asking

    def stop(self) -> None:
        """The module has ended: no time is booked any more."""
        if self._since > 0:
            self.step(perf_counter(), 0, 0)
        self._since = ENDED

    def counters(self, module: str) -> Counters:
        """The figures, as of now."""
        if self._since > 0:
            self.step(perf_counter(), 0, 0)
        busy, upstream, downstream = self._buckets
        return Counters(module, self.values_in, self.values_out, self.skipped, busy, upstream, downstream)
