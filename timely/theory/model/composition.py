"""Buffer nodes inserted into a graph, and graphs composed over shared edges (000, sections 2.2 and 4.3)."""

from collections.abc import Hashable, Iterator

from attrs import evolve, field, frozen

from .could_result_in import CouldResultIn, Pointstamp
from .graph import Edge, ModelError, ModelGraph
from .machine import Action, Machine, State
from .nodes import Event, Node, Program, Reaction, Received, buffer


def insert_buffer(program: Program, edge: str) -> Program:
    """Insert a buffer node into an edge: `NAME` becomes `NAME`, the node `NAME:buffer`, and `NAME:after`.

    The node at the end still receives its messages under the edge's old name.

    >>> from pullstream.timely.theory.model import relation_node
    >>> program = Program(ModelGraph(("p",), (Edge("o", "p"),)), {"p": relation_node()}, (0,))
    >>> insert_buffer(program, "o").graph.locations
    ('p', 'o:buffer', 'o', 'o:after')
    """
    whole = program.graph.edge(edge)
    relay, after = f"{edge}:buffer", f"{edge}:after"
    edges = [evolve(e, destination=relay) if e.name == edge else e for e in program.graph.edges]
    graph = ModelGraph((*program.graph.nodes, relay), (*edges, Edge(after, relay, whole.destination)))
    nodes = {**program.nodes, relay: buffer(after)}
    if whole.destination is not None:
        nodes[whole.destination] = _renaming(program.nodes[whole.destination], after, edge)
    return evolve(program, graph=graph, nodes=nodes)


def _renaming(node: Node, edge: str, name: str) -> Node:
    """Make a node take messages from `edge` as if they came from the edge `name`."""

    def react(state: Hashable, event: Event) -> Reaction:
        if isinstance(event, Received) and event.edge == edge:
            event = Received(name, event.message)
        return node.react(state, event)

    return evolve(node, react=react)


def shared_edges(first: ModelGraph, second: ModelGraph) -> frozenset[str]:
    """Find the edges that connect two graphs: an output of one and an input of the other, with the same name.

    Raises:
        ModelError: if the graphs share any other name.
    """
    shared = set(first.locations) & set(second.locations)
    for name in shared:
        if name in first.nodes or name in second.nodes:
            raise ModelError(f"{name!r} is a node of both graphs, or a node of one and an edge of the other")
        one, other = first.edge(name), second.edge(name)
        if not ((one.is_output and other.is_input) or (one.is_input and other.is_output)):
            raise ModelError(f"{name!r} must be an output edge of one graph and an input edge of the other")
    return frozenset(shared)


def compose_graphs(first: ModelGraph, second: ModelGraph) -> ModelGraph:
    """Join two graphs: each shared edge becomes an internal edge of the whole (000, section 4.3).

    >>> left, right = ModelGraph(("p",), (Edge("x", "p"),)), ModelGraph(("q",), (Edge("x", destination="q"),))
    >>> compose_graphs(left, right).edge("x")
    Edge(name='x', source='p', destination='q')
    """
    shared = shared_edges(first, second)
    joined = [
        Edge(e.name, e.source or second.edge(e.name).source, e.destination or second.edge(e.name).destination)
        if e.name in shared
        else e
        for e in first.edges
    ]
    return ModelGraph((*first.nodes, *second.nodes), (*joined, *(e for e in second.edges if e.name not in shared)))


def compose(first: Program, second: Program) -> Program:
    """Join two programs over their shared edges into one flat program.

    Raises:
        ModelError: if they share more than connecting edges, or have different worlds of times and messages.
    """
    if (first.times, first.messages) != (second.times, second.messages):
        raise ModelError("only programs with the same world of times and messages can be composed")
    graph = compose_graphs(first.graph, second.graph)
    return evolve(first, graph=graph, nodes={**first.nodes, **second.nodes})


def local_relations_closed(flat: CouldResultIn, *parts: CouldResultIn) -> dict[Pointstamp, frozenset[Pointstamp]]:
    """Build could-result-in of the whole from the relations of its parts: their union, closed under transitivity.

    The paper leaves open whether local relations give a global Clock. Where the whole meets Condition 2, the result
    equals its could-result-in. Where it does not, the flat relation is not transitive and cannot equal the result.
    """
    united = [0] * len(flat.stamps)
    for part in parts:
        for stamp, row in zip(part.stamps, part.rows, strict=True):
            united[flat.stamps.index(stamp)] |= flat.mask(part.unmask(row))
    closed: dict[Pointstamp, frozenset[Pointstamp]] = {}
    for i, stamp in enumerate(flat.stamps):
        reached, fresh = 1 << i, 1 << i
        while fresh:
            onward = 0
            for k in range(len(united)):
                if fresh >> k & 1:
                    onward |= united[k]
            fresh = onward & ~reached
            reached |= fresh
        closed[stamp] = flat.unmask(reached)
    return closed


@frozen(eq=False)
class Composite:
    """Spec1 and Spec2 side by side over their shared queues, one visible action at a time (000, section 4.3).

    A step of one side must look to the other side like an action of its own next-state relation: Inp if a shared queue
    grew, Outp if one shrank, no action otherwise. Clock is a parameter. If `whole` is the could-result-in of the flat
    graph, it is the Clock of the whole. With `whole=None`, each side uses its own, which may notify a node that a time
    is complete while the other side can still send at that time.

    Taken literally, this is stricter than the flat graph. A node that takes from one shared edge and sends on another
    in one step would make the other side do Inp and Outp at once, and its next-state relation has no such action. A
    buffer node on either edge removes the difference. Simultaneous steps of both sides that neither can see are left
    out, because they look the same one after the other. So no step is an action of both sides at the border: not (Acts1
    and Acts2), where Acts is `machine.acts` of the program.

    `steps` lists the actions of the two sides. The actions of the surroundings, Inp and Outp on the edges that are not
    shared, are left out: they are the same for the flat graph, and cannot be seen on the shared edges.
    """

    first: Machine
    second: Machine
    whole: CouldResultIn | None
    shared: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "shared", shared_edges(self.first.program.graph, self.second.program.graph))

    def steps(self, state: tuple[State, State]) -> Iterator[tuple[Action, tuple[State, State]]]:
        """List the joint steps: every action of one side that the other side allows."""
        one, other = state
        yield from self._side(self.first, self.second, one, other)
        for action, (later, earlier) in self._side(self.second, self.first, other, one):
            yield action, (earlier, later)

    def _side(
        self, machine: Machine, other: Machine, mine: State, theirs: State
    ) -> Iterator[tuple[Action, tuple[State, State]]]:
        clock = machine.clock(mine) if self.whole is None else self._whole_clock(machine, other, mine, theirs)
        steps: list[tuple[Action, State]] = [*machine.receipts(mine), *machine.notifications(mine, clock)]
        for action, after in steps:
            mirrored = self._mirror(machine, other, after, theirs)
            if mirrored == theirs or other.is_inp(theirs, mirrored) or other.is_outp(theirs, mirrored):
                yield action, (after, mirrored)

    def _mirror(self, machine: Machine, other: Machine, after: State, theirs: State) -> State:
        """Give the other side's state with the shared queues as they are after the step."""
        now = dict(zip((e.name for e in machine.program.graph.edges), after.queues, strict=True))
        queues = tuple(
            now[edge.name] if edge.name in self.shared else queue
            for edge, queue in zip(other.program.graph.edges, theirs.queues, strict=True)
        )
        return State(queues, theirs.local, theirs.requests)

    def _whole_clock(self, machine: Machine, other: Machine, mine: State, theirs: State) -> int:
        """Give the part of the whole graph's Clock that this side can name, in this side's own mask."""
        assert self.whole is not None
        pending = machine.leads.unmask(machine.pending(mine)) | other.leads.unmask(other.pending(theirs))
        clock = self.whole.unmask(self.whole.close_up(self.whole.mask(pending)))
        locations = machine.program.graph.locations
        return machine.leads.mask(stamp for stamp in clock if stamp.location in locations)

    def flatten(self, state: tuple[State, State]) -> State:
        """Give the flat program's state for a joint state."""
        one, other = state
        rest = zip(self.second.program.graph.edges, other.queues, strict=True)
        queues = (*one.queues, *(queue for edge, queue in rest if edge.name not in self.shared))
        return State(queues, (*one.local, *other.local), (*one.requests, *other.requests))
