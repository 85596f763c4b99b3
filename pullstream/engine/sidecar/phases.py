"""The phases of a sidecar: nothing worked out yet, tracked, or untrackable; whoever looks asks each of them alike.

Working out what may still come runs users' code: functions of times in summaries, and the order, the equality and the
hash of times. Somebody may look in the middle of something that must not be left half done, such as the end of an edge.
So no phase raises: what that code raises is told to the sidecar (`report`), and what cannot be known any more counts as
not complete.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from pullstream.timely import BEGINNING, Antichain, Blocker, Graph, Tracker

Stamps = Sequence[Mapping[Any, int]]
"""For each place, which pointstamps are there, and how often."""


class Phase(ABC):
    """The knowledge that a sidecar has of the pointstamps of its run."""

    @abstractmethod
    def update(self, place: int, time: Any, delta: int) -> None:
        """Change how often a pointstamp is there."""

    @abstractmethod
    def propagate(self) -> Sequence[int]:
        """Bring what is observed up to date; gives the observed places whose frontier has moved."""

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
    """The phase in which nobody has looked yet: nothing is added up.

    A frontier is worked out when it is asked for, as long as no path changes a time. Whoever needs more, or goes on
    looking, has a tracker made; most runs, and nearly all streams inside modules, end before anybody does.
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
        """Do nothing: what is held and in flight is counted when somebody looks."""

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
        except BaseException as exc:  # noqa: BLE001 - told to whom it concerns
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
    """A tracker that tells what is raised in it, instead of raising it."""

    def __init__(self, graph: Graph, report: Callable[[BaseException], None]) -> None:
        super().__init__(graph)
        self._report = report

    @override
    def propagate(self) -> list[int]:
        try:
            return super().propagate()
        except BaseException as exc:  # noqa: BLE001 - told to whom it concerns
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
        # It comes with an update, too, if many have come before.
        try:
            super()._compact()
        except BaseException as exc:  # noqa: BLE001 - as above
            self._report(exc)
            self._buffer.clear()


class Untrackable(Phase):
    """The phase after times without a common order have met, or one of them has raised: anything may still come.

    The module where they met fails. Until that is everywhere, and ever after, whatever is held or in flight may be
    looked at, and holds up every time.
    """

    def __init__(self, graph: Graph, tally: Callable[[], Stamps]) -> None:
        self._graph = graph
        self._tally = tally

    @override
    def update(self, place: int, time: Any, delta: int) -> None:
        """Do nothing: what is held and in flight is counted when somebody looks."""

    @override
    def propagate(self) -> Sequence[int]:
        """Do nothing: nothing changes any more."""
        return ()

    @override
    def observe(self, place: int) -> None:
        """Do nothing: every place looks alike."""

    @override
    def frontier(self, place: int) -> Antichain[Any]:
        return Antichain([BEGINNING])

    @override
    def explain(self, place: int, time: Any) -> list[Blocker]:
        """The pointstamps held or in flight above, with no path: where they may lead cannot be told."""
        stamps, graph = self.stamps, self._graph
        return [Blocker(graph.location(above), held, ()) for above in graph.above([place]) for held in stamps[above]]

    @property
    @override
    def stamps(self) -> Stamps:
        return self._tally()
