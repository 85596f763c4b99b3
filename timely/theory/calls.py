"""Stacks of calls as times (000, section 3.4), for trackers; `model.recursion` has the relation between them."""

from typing import Any

import attrs

from ..errors import CycleError, GraphError
from ..order import unlike
from .model.recursion import Body, Point, Stack, first_difference


@attrs.frozen(order=False, repr=False)
class CallTime:
    """A stack of calls at a node of a body. Times at different nodes are incomparable (a tagged union).

    Raises:
        CycleError: the body has a cycle, so `first_difference` cannot compare its stacks.
        GraphError: the node or a call does not belong to the body.

    >>> from pullstream.timely.theory.model import Body
    >>> body = Body((), ("c",), (("in", "c"), ("c", "out"), ("in", "out")))
    >>> CallTime(body, "out", ("c",)) <= CallTime(body, "out", ()), CallTime(body, "in") <= CallTime(body, "out")
    (True, False)
    """

    body: Body
    node: str
    stack: Stack = ()

    def __attrs_post_init__(self) -> None:
        if not self.body.is_acyclic:
            raise CycleError(
                "the body of a recursion must be acyclic, or its stacks cannot be compared", self.body.places
            )
        if self.node not in ("in", "out", *self.body.ordinary):
            raise GraphError(f"{self.node!r} is not an ordinary node of this body")
        if unknown := {*self.stack} - {*self.body.calls}:
            raise GraphError(f"{sorted(unknown)!r} are not call nodes of this body")

    def __le__(self, other: Any) -> bool:
        if not isinstance(other, CallTime):
            return NotImplemented
        if other.body != self.body:
            raise unlike(self, other)
        here, there = Point(self.node, self.stack), Point(other.node, other.stack)
        return self.node == other.node and first_difference(self.body, here, there)

    def __lt__(self, other: Any) -> bool:
        return self != other and self <= other

    def __repr__(self) -> str:
        return f"CallTime({self.node!r}, {self.stack!r})"
