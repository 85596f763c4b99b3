"""The phases of a sidecar: not tracked yet, tracked, or untrackable. All answer the same questions.

Computing a frontier runs user code: functions of times in summaries, and the order, the equality and the hash of times.
A frontier may be read during a change that must not be interrupted halfway, such as the end of an edge. So no phase
raises: an exception in user code is reported to the sidecar (`report`), and what cannot be known any more counts as not
complete.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from pullstream.timely import BEGINNING, Antichain, Blocker, Graph, Tracker

Stamps = Sequence[Mapping[Any, int]]
"""The pointstamps at each place, with their counts."""


class Phase(ABC):
    """The knowledge that a sidecar has of the pointstamps of its run."""

    @abstractmethod
    def update(self, place: int, time: Any, delta: int) -> None:
        """Change the count of a pointstamp."""

    @abstractmethod
    def propagate(self) -> Sequence[int]:
        """Bring observed places up to date; returns those whose frontier has moved."""

    @abstractmethod
    def observe(self, place: int) -> None:
        """Keep the frontier of a place up to date from now on."""

    @abstractmethod
    def frontier(self, place: int) -> Antichain[Any]:
        """The times that may still arrive at a place, or leave it."""

    @abstractmethod
    def explain(self, place: int, time: Any) -> list[Blocker]:
        """The pointstamps that may still lead to `time` at a place."""

    @property
    @abstractmethod
    def stamps(self) -> Stamps:
        """The pointstamps at every place."""


class Untracked(Phase):
    """The phase before a tracker is needed: nothing is counted.

    A frontier is computed when it is read, as long as no path changes a time. Any other question, or an observed place,
    starts a tracker. Most runs, and nearly all streams inside modules, end before that.
    """

    def __init__(
        self,
        above: Callable[[int], set[Any] | None],
        tally: Callable[[], Stamps],
        track: Callable[[], Phase],
        report: Callable[[BaseException], None],
    ) -> None:
        self._above = above
        self._tally = tally
        self._track = track
        self._report = report

    @override
    def update(self, place: int, time: Any, delta: int) -> None:
        """Do nothing: holds and batches in flight are counted when they are read."""

    @override
    def propagate(self) -> Sequence[int]:
        """Do nothing: no frontier is kept up to date."""
        return ()

    @override
    def observe(self, place: int) -> None:
        self._track().observe(place)

    @override
    def frontier(self, place: int) -> Antichain[Any]:
        try:
            times = self._above(place)
            if times is not None:
                return Antichain(times) if len(times) > 1 else Antichain.of_minimal(tuple(times))
        except BaseException as exc:  # noqa: BLE001 - reported to the sidecar
            self._report(exc)
        return self._track().frontier(place)

    @override
    def explain(self, place: int, time: Any) -> list[Blocker]:
        return self._track().explain(place, time)

    @property
    @override
    def stamps(self) -> Stamps:
        return self._tally()


class Tracked(Tracker, Phase):
    """A tracker that reports exceptions instead of raising them."""

    def __init__(self, graph: Graph, report: Callable[[BaseException], None]) -> None:
        super().__init__(graph)
        self._report = report

    @override
    def propagate(self) -> list[int]:
        try:
            return super().propagate()
        except BaseException as exc:  # noqa: BLE001 - reported to the sidecar
            self._report(exc)
            return []

    @override
    def frontier(self, place: int) -> Antichain[Any]:
        try:
            return super().frontier(place)
        except BaseException as exc:  # noqa: BLE001 - as above
            self._report(exc)
            return Antichain([BEGINNING])

    @override
    def explain(self, place: int, time: Any, *, roots: bool = False) -> list[Blocker]:
        try:
            return super().explain(place, time, roots=roots)
        except BaseException as exc:  # noqa: BLE001 - as above
            self._report(exc)
            return []

    @override
    def _compact(self) -> None:
        # Called by an update too, if many have come before.
        try:
            super()._compact()
        except BaseException as exc:  # noqa: BLE001 - as above
            self._report(exc)
            self._buffer.clear()


class Untrackable(Phase):
    """The phase after times without a common order have met, or one of them has raised: anything may still come.

    The module where they met fails. From then on, holds and batches in flight can still be listed, and keep every time
    from being complete.
    """

    def __init__(self, graph: Graph, tally: Callable[[], Stamps]) -> None:
        self._graph = graph
        self._tally = tally

    @override
    def update(self, place: int, time: Any, delta: int) -> None:
        """Do nothing: holds and batches in flight are counted when they are read."""

    @override
    def propagate(self) -> Sequence[int]:
        """Do nothing: nothing changes any more."""
        return ()

    @override
    def observe(self, place: int) -> None:
        """Do nothing: every place has the same frontier."""

    @override
    def frontier(self, place: int) -> Antichain[Any]:
        return Antichain([BEGINNING])

    @override
    def explain(self, place: int, time: Any) -> list[Blocker]:
        """The pointstamps held or in flight upstream, without paths: where they may lead is unknown."""
        stamps, graph = self.stamps, self._graph
        return [Blocker(graph.location(above), held, ()) for above in graph.above([place]) for held in stamps[above]]

    @property
    @override
    def stamps(self) -> Stamps:
        return self._tally()
