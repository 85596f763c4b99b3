"""Graphs: nodes with ports, edges between ports, and how time changes inside a node.

A `GraphBuilder` collects the parts. `build()` checks them and returns a `Graph`, which numbers every port (a *place*)
from 0 without gaps. All other code works with those numbers.
"""

import gc
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import attrs

from .antichain import Antichain
from .cycles import Order, order_of_work
from .errors import GraphError
from .location import Location, Source, Target
from .summary import IDENTITY, Summary

Summaries: TypeAlias = Mapping[tuple[int, int], Summary | Iterable[Summary]]
"""For (input, output): the summary or summaries of the paths between them; a pair left out is not connected."""

Transition: TypeAlias = tuple[int, Summary]
"""A step from a place: its destination, and how it changes times."""


@contextmanager
def _collector_paused() -> Generator[None]:
    """Keep the garbage collector from repeatedly walking objects that are being made and will all be kept.

    Otherwise the cost of a large graph grows faster than the graph.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@attrs.frozen
class NodeSpec:
    """A node as declared: its name, its port counts, and its internal connections."""

    name: str
    inputs: int
    outputs: int
    summaries: Mapping[tuple[int, int], tuple[Summary, ...]]


@attrs.frozen(eq=False)
class Graph:
    """A checked graph, made by `GraphBuilder.build`."""

    nodes: tuple[NodeSpec, ...]
    edges: tuple[tuple[Source, Target], ...]
    locations: tuple[Location, ...] = attrs.field(repr=False)
    successors: tuple[tuple[Transition, ...], ...] = attrs.field(repr=False)
    predecessors: tuple[tuple[Transition, ...], ...] = attrs.field(repr=False)
    order: Order = attrs.field(repr=False)
    _places: Mapping[Location, int] = attrs.field(repr=False)

    def place(self, location: Location) -> int:
        """The number of a port.

        Raises:
            GraphError: there is no such port.
        """
        try:
            return self._places[location]
        except KeyError:
            raise GraphError(f"there is no port {location!r}; {_ports_of(self.nodes, location)}") from None

    def location(self, place: int) -> Location:
        """The port with a number; the inverse of `place`."""
        return self.locations[place]

    def name(self, location: Location | int) -> str:
        """A readable name of a port, for messages.

        >>> builder = GraphBuilder()
        >>> node = builder.add_node("parse", inputs=0, outputs=2)
        >>> builder.build().name(Source(node, 1))
        'parse, output 1'
        """
        return port_name(self.nodes, self.locations[location] if isinstance(location, int) else location)

    def above(self, places: Iterable[int], top: Container[int] = ()) -> dict[int, None]:
        """The places from which any of `places` can be reached, these included, nearest first.

        The search stops at the places of `top`.
        """
        above = dict.fromkeys(places)
        agenda = list(above)
        for place in agenda:
            for previous, _ in () if place in top else self.predecessors[place]:
                if previous not in above:
                    above[previous] = None
                    agenda.append(previous)
        return above

    def __len__(self) -> int:
        """The number of places."""
        return len(self.locations)


class GraphBuilder:
    """Collect nodes and edges, and refuse impossible ones.

    A port may have several edges in or out.

    >>> builder = GraphBuilder()
    >>> numbers = builder.add_node("numbers", inputs=0, outputs=1)
    >>> show = builder.add_node("show", inputs=1, outputs=0)
    >>> builder.add_edge(Source(numbers), Target(show))
    >>> len(builder.build())
    2
    """

    def __init__(self) -> None:
        self._nodes: list[NodeSpec] = []
        self._edges: dict[tuple[Source, Target], None] = {}
        self._demanded: set[int] = set()

    def add_node(
        self,
        name: str,
        inputs: int,
        outputs: int,
        summaries: Summaries | None = None,
        *,
        connected: bool = False,
    ) -> int:
        """Add a node and return its index. Without `summaries`, every input leads to every output and times stay as is.

        With `connected`, `build` requires an edge at every port of the node. It is meant for the handle of a loop,
        whose input is connected last and is easily forgotten.

        Raises:
            GraphError: a summary is given for a port the node does not have, or a count is negative.
        """
        if inputs < 0 or outputs < 0:
            raise GraphError(f"node {name!r} cannot have {inputs} inputs and {outputs} outputs")
        if summaries is None:
            summaries = {(i, o): IDENTITY for i in range(inputs) for o in range(outputs)}
        checked: dict[tuple[int, int], tuple[Summary, ...]] = {}
        for (i, o), given in summaries.items():
            if not (0 <= i < inputs and 0 <= o < outputs):
                raise GraphError(f"node {name!r} has no path from input {i} to output {o}: {inputs} in, {outputs} out")
            checked[i, o] = (given,) if isinstance(given, Summary) else Antichain(given).elements
        self._nodes.append(NodeSpec(name, inputs, outputs, checked))
        if connected:
            self._demanded.add(len(self._nodes) - 1)
        return len(self._nodes) - 1

    def add_edge(self, source: Source, target: Target) -> None:
        """Connect an output to an input. Adding the same edge twice is refused.

        Raises:
            GraphError: a port does not exist, or the edge already exists.
        """
        for location, kind in ((source, Source), (target, Target)):
            if type(location) is not kind:
                raise GraphError(f"an edge leads from a Source to a Target, not from {source!r} to {target!r}")
            if not 0 <= location.node < len(self._nodes):
                raise GraphError(f"there is no node {location.node} for {location!r}")
            node = self._nodes[location.node]
            if not 0 <= location.port < (node.outputs if kind is Source else node.inputs):
                raise GraphError(f"there is no port {location!r}; {_ports_of(self._nodes, location)}")
        if (source, target) in self._edges:
            raise GraphError(f"the edge {source!r} -> {target!r} already exists")
        self._edges[source, target] = None

    def build(self) -> Graph:
        """Number the ports and check the whole graph.

        Raises:
            GraphError: loop contexts do not nest, or a port that must be connected is not.
            CycleError: some cycle does not strictly advance time.
        """
        with _collector_paused():
            graph = self._number()
            for place, location in enumerate(graph.locations):
                steps = graph.predecessors[place] if isinstance(location, Target) else graph.successors[place]
                if location.node in self._demanded and not steps:
                    raise GraphError(f"{graph.name(place)} is not connected: a loop that was opened must be closed")
            order = order_of_work(graph.successors, [graph.name(place) for place in range(len(graph))])
            return attrs.evolve(graph, order=order)

    def _number(self) -> Graph:
        """Number the ports and list the steps between them, without any checks."""
        locations: list[Location] = []
        for index, node in enumerate(self._nodes):
            locations += [Target(index, port) for port in range(node.inputs)]
            locations += [Source(index, port) for port in range(node.outputs)]
        places = {location: place for place, location in enumerate(locations)}
        successors: list[list[Transition]] = [[] for _ in locations]
        predecessors: list[list[Transition]] = [[] for _ in locations]

        def connect(start: Location, end: Location, summary: Summary) -> None:
            successors[places[start]].append((places[end], summary))
            predecessors[places[end]].append((places[start], summary))

        for index, node in enumerate(self._nodes):
            for (i, o), summaries in node.summaries.items():
                for summary in summaries:
                    connect(Target(index, i), Source(index, o), summary)
        for source, target in self._edges:
            connect(source, target, IDENTITY)
        return Graph(
            tuple(self._nodes),
            tuple(self._edges),
            tuple(locations),
            tuple(map(tuple, successors)),
            tuple(map(tuple, predecessors)),
            Order((), (), ()),
            places,
        )


def port_name(nodes: Sequence[NodeSpec], location: Location) -> str:
    """A readable name of a port: its node, and the port's number if there are several."""
    node = nodes[location.node]
    kind, ports = ("output", node.outputs) if isinstance(location, Source) else ("input", node.inputs)
    return f"{node.name}, {kind}" + (f" {location.port}" if ports > 1 else "")


def _ports_of(nodes: Iterable[NodeSpec], location: Location) -> str:
    for index, node in enumerate(nodes):
        if index == location.node:
            return f"node {location.node} is {node.name!r} with {node.inputs} inputs and {node.outputs} outputs"
    return f"there is no node {location.node}"
