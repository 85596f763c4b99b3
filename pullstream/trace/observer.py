"""The observer of a run that is traced."""

from collections.abc import Hashable
from typing import Any, Literal, Protocol

from pullstream.checker.rules import Violation
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar


class Observer(Protocol):
    """Hears of everything that happens in a run."""

    def passed(self, kind: str, edge: Any, lane: int, number: int, about: object = None) -> None:
        """A request was sent on an edge, or answered."""

    def violated(self, violation: Violation, edge: Any, lane: int, number: int) -> None:
        """Hear of a broken rule that was found in an ask: what was answered is the last of its events."""

    def change(self, place: int, time: Hashable, delta: int) -> None:
        """Pointstamps have come to a place, or gone: a part of what happens as one."""

    def changed(self) -> None:
        """Take what has changed until now as one change: everything is in order, and may be looked at."""

    def began(self, sidecar: Sidecar) -> None:
        """The run begins; all that it consists of has its place."""

    def wait(self, kind: Literal["awaited", "completed", "dismissed"], place: int, time: Hashable) -> None:
        """Hear of a wait for a time: that it begins, is told that the time is complete, or is given up."""

    def untracked(self) -> None:
        """Hear that times cannot be compared any more: nothing is complete from now on."""

    def ended(self, location: Location) -> None:
        """A module's part of the run is over."""
