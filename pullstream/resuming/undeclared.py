"""Answers at times at which a module received nothing: they could be lost when a stream is resumed.

The effects of a time follow from what modules declare. If a module answers at a later time without declaring so, the
earlier time counts as complete before that answer is. The values that led to it are then not read again.
"""

from collections.abc import Hashable
from typing import Any

from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.lane import Lane
from pullstream.engine.sidecar.location import Location, note_arrivals
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.traits import Carries
from pullstream.errors import JournalError
from pullstream.protocol import Batch
from pullstream.resuming.consequences import may_come
from pullstream.resuming.interfaces import Resumable
from pullstream.resuming.resuming import lanes_of, let_pass

FEW = 1_000
"""The number of times to note before removing those that can no longer be answered."""


def refuse_undeclared(sidecar: Sidecar) -> None:
    """Let a user's own modules fail if they answer at a time at which they received nothing."""
    for edge in dict.fromkeys(lane.edge for lane in lanes_of(sidecar)):
        if _unknown(edge.location) and not isinstance(edge.module, Resumable):
            let_pass(edge, ReceivedTimes(edge.location, sidecar).check)


def _unknown(location: Location) -> bool:
    """Whether it is not known at which times a module answers: a user's own module that is not a source."""
    traits, ports = location.traits, location.ports
    known = traits.carries is not Carries.MAYBE or bool(traits.summaries) or not ports
    return not known and all(isinstance(port.claim, Lane) for port in ports)


class ReceivedTimes:
    """The times at which a module has received values, and may still answer."""

    def __init__(self, location: Location, sidecar: Sidecar) -> None:
        self._location, self._sidecar = location, sidecar
        self._times: set[Hashable] = set()
        self._early: set[Hashable] = set()
        """The times that it held before it had received anything there."""
        self._most = FEW
        location.holding = self._held
        note_arrivals(location.ports, self._arrived)

    def _arrived(self, time: Hashable) -> None:
        self._times.add(time)
        if time in self._early and time not in self._location.held:
            # From now on the right to answer there comes from what has arrived.
            self._early.discard(time)
        if len(self._times) > self._most:
            self._most *= 2
            self._sidecar.soon(self._forget)

    def _held(self, time: Hashable) -> None:
        if time not in self._times:
            self._early.add(time)

    def _forget(self) -> None:
        frontier = self._location.frontier
        self._times, self._early = (
            {time for time in times if may_come(frontier, time, unlike=True)} for times in (self._times, self._early)
        )
        self._most = max(FEW, 2 * len(self._times))

    def check(self, batch: Batch[Any], limit: int) -> Batch[Any]:
        """Refuse an answer at a time that was not noted; one that is wrong in any run is refused as there."""
        for time in (batch.time,) if batch.uniform else batch.times:
            if time in self._times and time not in self._early:
                continue
            if not mistake(batch, limit):
                if not self._location.traits.trusted:
                    self._location.edge.check_right(time)
                early = time in self._times
                nothing = "had received nothing when it took a hold of it" if early else "has received nothing"
                raise JournalError(
                    f"{self._location}, answered at {time!r}, a time at which it {nothing}. When a run is "
                    f"resumed from its journal, or a stream is stored until more rows arrive, that answer can be lost. "
                    f"Answer at the times of the values, and move the results with delay() or map_time() after it; "
                    f"a kernel may declare the summaries of its inputs instead, or restore such answers (Resumable)"
                )
        return batch
