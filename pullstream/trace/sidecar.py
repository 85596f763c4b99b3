"""Observing a run's progress: a sidecar that reports what modules hold, and its own announcements."""

from collections import Counter
from collections.abc import Hashable

from typing_extensions import override

from pullstream.engine.runtime.deadlock import DeadlockDetector
from pullstream.engine.sidecar.frontiers import Update
from pullstream.engine.sidecar.location import Ending, Location, Port
from pullstream.engine.sidecar.sidecar import Sidecar, Spawn
from pullstream.engine.sidecar.waiting import Watch
from pullstream.trace.observer import Observer


class SeenSidecar(Sidecar):
    """A sidecar that reports what modules hold, and what it announces to waiters."""

    def __init__(self, observer: Observer, spawn: Spawn, detector: DeadlockDetector, outer: Sidecar | None) -> None:
        super().__init__(spawn, detector, outer)
        self._observer = observer
        self._awaited: Counter[tuple[int, Hashable]] = Counter()
        self._over: set[Location] = set()

    @override
    def start(self) -> None:
        super().start()
        self._observer.began(self)
        self._listen()

    @override
    def switched(self, update: Update) -> None:
        super().switched(update)
        if self.started:
            if self.frontiers.lost:
                self._observer.untracked()
            self._listen()

    def _listen(self) -> None:
        """Subscribe to every change of what modules hold; lanes report values in flight."""
        kept = self.update

        def update(place: int, time: Hashable, delta: int) -> None:
            if self.update is update and isinstance(self.frontiers.places[place], Location):
                self._observer.change(place, time, delta)
            kept(place, time, delta)

        self.update = update

    @override
    def propagate(self, but: Location | None = None) -> None:
        super().propagate(but)
        self._observer.changed()

    @override
    def attend(self, waiter: Watch) -> None:
        if waiter.time is not None:
            self._observer.changed()
            for place in waiter.places:
                self._awaited[place, waiter.time] += 1
                self._observer.wait("awaited", place, waiter.time)
        super().attend(waiter)

    @override
    def leave(self, waiter: Watch) -> None:
        if waiter.time is not None:
            self._observer.changed()
            for place in waiter.places:
                count = self._awaited.pop((place, waiter.time), 0)
                if count:
                    self._observer.wait("dismissed", place, waiter.time)
                if count > 1:
                    self._awaited[place, waiter.time] = count - 1
        super().leave(waiter)

    @override
    def answered(self, waiter: Watch) -> bool:
        answered = super().answered(waiter)
        if answered and waiter.time is not None:
            self._observer.changed()
            for place in waiter.places:
                if not self.frontiers.frontier(place).less_equal(waiter.time):
                    del self._awaited[place, waiter.time]
                    self._observer.wait("completed", place, waiter.time)
        return answered

    @override
    def activate(self, at: Location | Port | None = None) -> None:
        if isinstance(at, Location) and at.ending is not Ending.RUNNING and at not in self._over:
            self._over.add(at)
            self._observer.ended(at)
        super().activate(at)
