"""A tracker that whoever looks can rely on: it raises nothing, whatever functions and comparisons of times do.

A look runs users' code: functions of times in summaries, and the order, the equality and the hash of times. A look may
also come in the middle of something that must not be left half done, such as the end of an edge. So what that code
raises is raised somewhere else (`struck`), and what cannot be known any more counts as not complete.
"""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from timely import BEGINNING, Antichain, Blocker, Graph, Tracker
from timely.explain import ancestors


class Tracking(Tracker):
    """A tracker that tells what is raised in it, and from then on knows nothing."""

    def __init__(self, graph: Graph, struck: Callable[[BaseException], None]) -> None:
        super().__init__(graph)
        self._struck = struck

    @override
    def propagate(self) -> list[int]:
        try:
            return super().propagate()
        except BaseException as exc:  # noqa: BLE001 - told to whom it concerns
            self._struck(exc)
            return []

    @override
    def frontier(self, place: int) -> Antichain[Any]:
        try:
            return super().frontier(place)
        except BaseException as exc:  # noqa: BLE001 - as above
            self._struck(exc)
            return Antichain([BEGINNING])

    @override
    def explain(self, place: int, time: Any, *, roots: bool = False) -> list[Blocker]:
        try:
            return super().explain(place, time, roots=roots)
        except BaseException as exc:  # noqa: BLE001 - as above
            self._struck(exc)
            return []

    @override
    def _compact(self) -> None:
        # It comes with an update, too, if many have come before.
        try:
            super()._compact()
        except BaseException as exc:  # noqa: BLE001 - as above
            self._struck(exc)
            self._buffer.clear()


Counts = Sequence[dict[Any, int]]
"""For each place, which pointstamps are there, and how often."""


class Confused(Tracker):
    """The tracker once times without a common order have met, or one of them has raised: anything may still come.

    The module where they met fails. Until that is everywhere, and ever after, whatever is held or in flight may be
    looked at, and holds up every time.
    """

    def __init__(self, graph: Graph, tally: Callable[[], Counts]) -> None:
        super().__init__(graph)
        self._tally = tally

    @override
    def update(self, place: int, time: Any, delta: int) -> None:
        """Nothing is added up any more."""

    @override
    def propagate(self) -> list[int]:
        """Nothing changes any more."""
        return []

    @override
    def observe(self, place: int) -> None:
        """Every place looks alike."""

    @override
    def unobserve(self, place: int) -> None:
        """Every place looks alike."""

    @override
    def frontier(self, place: int) -> Antichain[Any]:
        """Everything."""
        return Antichain([BEGINNING])

    @override
    def counts(self, place: int) -> dict[Any, int]:
        return self._tally()[place]

    @property
    @override
    def stamps(self) -> Counts:
        return self._tally()

    @override
    def explain(self, place: int, time: Any, *, roots: bool = False) -> list[Blocker]:
        """Whatever is held or in flight above, with no path: where it may lead cannot be told."""
        counts, graph = self._tally(), self.graph
        return [Blocker(graph.location(above), held, ()) for above in ancestors(graph, place) for held in counts[above]]
