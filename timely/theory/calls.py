"""Recursion: call stacks as times (000, section 3.4).

A graph (the *body*) may contain call nodes, each of which stands for the whole body again. A time at a node is the
stack of active calls. One stack comes before another at a node when a message could get from the first to the second:
into calls, out of calls and along edges. 000 decides this by the first call in which the two stacks differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from ..cycles import components
from ..errors import CycleError, GraphError
from ..order import unlike

Stack = tuple[str, ...]


class CallBody:
    """A body with its call nodes.

    Args:
        edges: pairs of node names.
        calls: the names of the nodes that call the body.
        start: the node where a call enters; it has no predecessors.
        end: the node where a call returns; it has no successors.

    Raises:
        CycleError: the body has a cycle. 000 does not state this condition, but the decision by the first difference
            needs it: with in -> a, a -> c, c -> a, a -> out and c the call, (in, cc) leads to (in, c), although the
            test says no.
        GraphError: a node lies outside the body (not reachable from `start`, or without a path to `end`), or every path
            through the body calls again, so that no call ever returns.

    >>> body = CallBody([("in", "c"), ("c", "out"), ("in", "out")], calls={"c"})
    >>> body.leads(("in", ()), ("in", ("c",))), body.leads(("in", ("c",)), ("in", ()))
    (True, False)
    """

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        calls: Iterable[str],
        start: str = "in",
        end: str = "out",
    ) -> None:
        self.start, self.end = start, end
        self.calls = frozenset(calls)
        self.successors: dict[str, list[str]] = {start: [], end: []}
        for a, b in edges:
            self.successors.setdefault(a, []).append(b)
            self.successors.setdefault(b, [])
        self.nodes = tuple(self.successors)
        self._check()
        split = self._split()
        self._reach = {node: _reachable(split, node) for node in split}

    def leads(self, earlier: tuple[str, Stack], later: tuple[str, Stack]) -> bool:
        """Whether a message at (node, stack) `earlier` may lead to one at `later`, by the first differing call.

        Raises:
            GraphError: a node or a call does not belong to this body.
        """
        (node, stack), (other, target) = earlier, later
        for name in (node, other):
            if name not in self.successors or name in self.calls:
                raise GraphError(f"{name!r} is not an ordinary node of this body")
        if unknown := {*stack, *target} - self.calls:
            raise GraphError(f"{sorted(unknown)!r} are not call nodes of this body")
        common = 0
        while common < min(len(stack), len(target)) and stack[common] == target[common]:
            common += 1
        start = f"ret-{stack[common]}" if common < len(stack) else node
        end = f"call-{target[common]}" if common < len(target) else other
        return end in self._reach[start]

    def _check(self) -> None:
        indexes = {name: index for index, name in enumerate(self.nodes)}
        steps = {indexes[a]: [indexes[b] for b in out] for a, out in self.successors.items()}
        for component in components(list(steps), steps):
            if len(component) > 1 or component[0] in steps[component[0]]:
                cycle = tuple(self.nodes[index] for index in component)
                raise CycleError(
                    f"the body of a recursion must be acyclic, but has a cycle through {', '.join(cycle)}", cycle
                )
        if {self.start, self.end} & self.calls or self.calls - set(self.nodes):
            raise GraphError(
                f"calls must be nodes of the body other than {self.start!r} and {self.end!r}: {self.calls!r}"
            )
        inside = _reachable(self.successors, self.start)
        for name in self.nodes:
            if name not in inside or self.end not in _reachable(self.successors, name):
                raise GraphError(f"{name!r} does not lie on a path from {self.start!r} to {self.end!r}")
        plain = {
            a: [b for b in out if b not in self.calls] for a, out in self.successors.items() if a not in self.calls
        }
        if self.end not in _reachable(plain, self.start):
            raise GraphError("every path through the body calls again: no call would ever return")

    def _split(self) -> Mapping[str, list[str]]:
        """The graph with each call node split in two, joined by a forward step: as if a call took no time."""

        def leaving(name: str) -> str:
            return f"ret-{name}" if name in self.calls else name

        def entering(name: str) -> str:
            return f"call-{name}" if name in self.calls else name

        split = {leaving(a): [entering(b) for b in out] for a, out in self.successors.items()}
        for call in self.calls:
            split[f"call-{call}"] = [f"ret-{call}"]
        return split


def _reachable(successors: Mapping[str, list[str]], start: str) -> frozenset[str]:
    points = {start: None}
    agenda = [start]
    for node in agenda:
        for following in successors[node]:
            if following not in points:
                points[following] = None
                agenda.append(following)
    return frozenset(points)


@attrs.frozen(order=False, repr=False)
class CallTime:
    """A stack of calls at a node of a body. Times at different nodes are incomparable (a tagged union).

    >>> body = CallBody([("in", "c"), ("c", "out"), ("in", "out")], calls={"c"})
    >>> CallTime(body, "out", ("c",)) <= CallTime(body, "out", ()), CallTime(body, "in") <= CallTime(body, "out")
    (True, False)
    """

    body: CallBody
    node: str
    stack: Stack = ()

    def __le__(self, other: Any) -> bool:
        if not isinstance(other, CallTime):
            return NotImplemented
        if other.body is not self.body:
            raise unlike(self, other)
        return self.node == other.node and self.body.leads((self.node, self.stack), (other.node, other.stack))

    def __lt__(self, other: Any) -> bool:
        return self != other and self <= other

    def __repr__(self) -> str:
        return f"CallTime({self.node!r}, {self.stack!r})"
