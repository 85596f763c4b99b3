"""The interface of the observer of a traced run."""

from collections.abc import Hashable
from typing import Any, Literal, Protocol

from pullstream.checker.rules import Violation
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar


class Observer(Protocol):
    """Receives every event of a run."""

    def passed(self, kind: str, edge: Any, lane: int, number: int, about: object = None) -> None:
        """Receive a request that was sent on an edge, or its answer."""

    def violated(self, violation: Violation, edge: Any, lane: int, number: int) -> None:
        """Receive a violation found in an ask; the offending answer is the last of its events."""

    def change(self, place: int, time: Hashable, delta: int) -> None:
        """Receive pointstamps added to a place or removed: a part of an atomic change."""

    def changed(self) -> None:
        """Close an atomic change: everything is consistent and may be examined."""

    def began(self, sidecar: Sidecar) -> None:
        """Receive the start of the run; all its parts have their places."""

    def wait(self, kind: Literal["awaited", "completed", "dismissed"], place: int, time: Hashable) -> None:
        """Receive a step of a wait for a time: it begins, is notified of the completion, or is given up."""

    def untracked(self) -> None:
        """Note that times cannot be compared any more: from now on nothing is complete."""

    def ended(self, location: Location) -> None:
        """Note that a module's part of the run is over."""
