"""Dataflow graphs with input, internal and output edges (000, section 2.1)."""

from attrs import field, frozen


class ModelError(ValueError):
    """A graph, node, program or body that the model's definitions exclude."""


@frozen
class Edge:
    """A channel: input edges have no source, output edges no destination, internal edges both (000, section 2.1).

    Raises:
        ModelError: if it has neither end, or both ends are the same node (a node that sends to itself needs a buffer
            node in between, see `buffer`).

    >>> Edge("e", "p", "q").is_internal
    True
    """

    name: str
    source: str | None = None
    destination: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.source is None and self.destination is None:
            raise ModelError(f"edge {self.name!r} has neither a source nor a destination")
        if self.source == self.destination:
            raise ModelError(f"edge {self.name!r} leads from {self.source!r} to itself: put a buffer node in between")

    @property
    def is_input(self) -> bool:
        """Whether the edge is in I: the environment fills it."""
        return self.source is None

    @property
    def is_internal(self) -> bool:
        """Whether the edge is in E: between two nodes."""
        return self.source is not None and self.destination is not None

    @property
    def is_output(self) -> bool:
        """Whether the edge is in O: the environment empties it."""
        return self.destination is None


@frozen
class ModelGraph:
    """Nodes and edges by name. No two share a name, because both are locations of pointstamps.

    Raises:
        ModelError: if a name occurs twice, or an edge ends at an unknown node.

    >>> loop = ModelGraph(("p", "q"), (Edge("a", "p", "q"), Edge("b", "q", "p")))
    >>> [edge.name for edge in loop.incoming["p"]], loop.locations
    (['b'], ('p', 'q', 'a', 'b'))
    """

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    incoming: dict[str, tuple[Edge, ...]] = field(init=False, repr=False, eq=False)
    outgoing: dict[str, tuple[Edge, ...]] = field(init=False, repr=False, eq=False)
    locations: tuple[str, ...] = field(init=False, repr=False, eq=False)
    """All places a pointstamp can be at: the nodes, then the edges."""
    rank: dict[str, int] = field(init=False, repr=False, eq=False)
    """An order of the locations: the nodes as they are given, and before each of them the edges that lead there."""
    _successors: dict[str, tuple[str, ...]] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        locations = (*self.nodes, *(edge.name for edge in self.edges))
        if len(set(locations)) != len(locations):
            raise ModelError(f"a name is used twice among {locations}")
        for edge in self.edges:
            for end in (edge.source, edge.destination):
                if end is not None and end not in self.nodes:
                    raise ModelError(f"edge {edge.name!r} ends at {end!r}, which is not a node of this graph")
        incoming = {node: tuple(edge for edge in self.edges if edge.destination == node) for node in self.nodes}
        outgoing = {node: tuple(edge for edge in self.edges if edge.source == node) for node in self.nodes}
        object.__setattr__(self, "incoming", incoming)
        object.__setattr__(self, "outgoing", outgoing)
        after = {node: tuple(edge.name for edge in edges) for node, edges in self.outgoing.items()}
        after |= {edge.name: () if edge.destination is None else (edge.destination,) for edge in self.edges}
        rank = {node: 2 * i + 1 for i, node in enumerate(self.nodes)}
        beyond = 2 * len(rank)
        for edge in self.edges:
            rank[edge.name] = beyond if edge.destination is None else rank[edge.destination] - 1
        object.__setattr__(self, "locations", locations)
        object.__setattr__(self, "rank", rank)
        object.__setattr__(self, "_successors", after)

    def edge(self, name: str) -> Edge:
        """Look up an edge by name; KeyError if there is none."""
        for edge in self.edges:
            if edge.name == name:
                return edge
        raise KeyError(name)

    def successors(self, location: str) -> tuple[str, ...]:
        """List the next locations: a node's outgoing edges, or an edge's destination if it has one."""
        return self._successors[location]
