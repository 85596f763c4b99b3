"""Partners at an edge, and those who hear of what happens there."""

from typing import TYPE_CHECKING, Protocol

import attrs

from pullstream.blueprint import Site
from pullstream.checker.rules import Violation
from pullstream.protocol import Event

if TYPE_CHECKING:
    from pullstream.checker.edge import Edge


@attrs.frozen
class Partner:
    """A module at an end of an edge."""

    name: str
    site: Site | None = None


class Watching(Protocol):
    """The listener that an edge reports to; at a single edge, there is none."""

    def broken(self, violation: Violation) -> None:
        """A rule was broken; it is about to be raised."""

    def began(self, edge: "Edge") -> None:
        """The edge has its first request."""

    def ended(self, edge: "Edge", how: Event) -> None:
        """The edge is over: an answer said so, or a termination was confirmed."""
