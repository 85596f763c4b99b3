"""The instruments of a meter, and the figures that each one gets."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final

import trio

import pullstream as ps
from pullstream.timely import BEGINNING, Antichain

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

COUNTED: Final = {
    "values_in": ("pullstream.values.in", "{value}", "values that a module has received"),
    "values_out": ("pullstream.values.out", "{value}", "values that a module has emitted"),
    "batches_in": ("pullstream.batches.in", "{batch}", "batches that a module has received"),
    "batches_out": ("pullstream.batches.out", "{batch}", "batches that a module has emitted"),
    "skipped": ("pullstream.values.skipped", "{value}", "values skipped by a failure policy"),
    "busy": ("pullstream.busy", "s", "seconds in which a module was asked and did not wait for upstream"),
    "waiting_for_upstream": ("pullstream.waiting.upstream", "s", "seconds in which a module waited for upstream"),
    "waiting_for_downstream": ("pullstream.waiting.downstream", "s", "seconds in which a module was not asked"),
}
"""The counters by their field in `Counters`: name, unit, description."""


class Instruments:
    """The figures of one run; each look reports the changes since the last one.

    The counters are synchronous. Observable ones would be called in the collector's thread, and even after the run has
    ended, because callbacks cannot be unregistered.
    """

    def __init__(
        self,
        meter: "Meter",
        running: ps.types.Running[Any],
        behind: Callable[[Any], float] | None,
        attributes: Mapping[str, str],
    ) -> None:
        self._running = running
        self._behind = behind
        self._attributes = attributes
        self._counters = {
            field: meter.create_counter(name, unit, description) for field, (name, unit, description) in COUNTED.items()
        }
        self._done = meter.create_counter("pullstream.times.done", "{time}", "times complete at the sinks")
        self._open = meter.create_gauge("pullstream.times.open", "{time}", "times not yet complete at a module")
        self._still = meter.create_gauge("pullstream.frontier.still", "s", "seconds since a module's frontier moved")
        self._lag = meter.create_gauge("pullstream.frontier.lag", "1", "lag of a module's frontier")
        self._told: dict[tuple[int, str], float] = {}
        self._told_done = 0
        self._holders: set[str] = set()
        self._moved: dict[int, tuple[list[Hashable], float]] = {}

    def look(self) -> None:
        """Report the current state of the run."""
        rows = self._running.counters()
        for place, row in enumerate(rows):
            about = self._about(row.module, place)
            for field, counter in self._counters.items():
                now: float = getattr(row, field)
                if now > (before := self._told.get((place, field), 0)):
                    counter.add(now - before, about)
                    self._told[place, field] = now
        progress = self._running.progress
        done = progress.times_done()
        self._done.add(done - self._told_done, dict(self._attributes))
        self._told_done = done
        self._tell_open()
        names = [row.module.split(" -> ")[-1] for row in rows]
        for place, name in enumerate(names):
            if names.count(name) == 1:
                try:
                    self._tell_frontier(place, rows[place].module, progress.frontier(at=name))
                except LookupError:
                    continue  # it is also part of a fused row

    def _tell_open(self) -> None:
        """Report all modules that have, or had, open times."""
        times: defaultdict[str, set[Hashable]] = defaultdict(set)
        for stamp in self._running.progress.pointstamps():
            times[stamp.holder].add(stamp.time)
        self._holders |= times.keys()
        for holder in self._holders:
            self._open.set(len(times[holder]), {**self._attributes, "pullstream.module": holder})

    def _tell_frontier(self, place: int, module: str, frontier: Antichain[Any]) -> None:
        now, times = trio.current_time(), list(frontier)
        before, since = self._moved.get(place, ([], now))
        if set(times) != set(before):
            since = now
        self._moved[place] = times, since
        about = self._about(module, place)
        self._still.set(now - since if times else 0, about)
        if self._behind is not None:
            far = [self._behind(time) for time in times if time is not BEGINNING]
            if far or not times:
                self._lag.set(max(far, default=0), about)

    def _about(self, module: str, place: int) -> dict[str, str | int]:
        return {**self._attributes, "pullstream.module": module, "pullstream.place": place}
