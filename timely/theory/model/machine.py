"""The state machine of a dataflow graph: Mess, Not, Inp, Outp, and Clock (000, section 4.2)."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

from attrs import field, frozen

from .could_result_in import CouldResultIn, Pointstamp
from .graph import Edge
from .nodes import Event, Message, Notified, Program, Reaction, Received, after_event
from .times import Time

Queue: TypeAlias = tuple[Message, ...]
Closure: TypeAlias = Literal["fixpoint", "image"]
Inputs: TypeAlias = Literal["fixed", "within clock", "any"]


class State(NamedTuple):
    """Q, LocState and NotRequests, in the order of the graph's edges and nodes."""

    queues: tuple[Queue, ...]
    local: tuple[Hashable, ...]
    requests: tuple[frozenset[Time], ...]


class Receive(NamedTuple):
    """The action Mess: a node takes a message from one of its edges."""

    node: str
    event: Received


class Notify(NamedTuple):
    """The action Not: a node is notified that a requested time is complete."""

    node: str
    event: Notified


class Inp(NamedTuple):
    """The action Inp: the environment puts a message on an input edge, at any place in its queue."""

    edge: str
    message: Message


class Outp(NamedTuple):
    """The action Outp: the environment takes a message from an output edge, from any place in its queue."""

    edge: str
    message: Message


Action: TypeAlias = Receive | Notify | Inp | Outp


@frozen(eq=False)
class Machine:
    """ISpec of a program: its states, and its next-state relation one action at a time.

    `leads` may be the program's own could-result-in or any declared relation that includes it. `closure` selects how
    Clock closes upward: the least fixpoint, as in the paper's definition, or the image of Proposition 3. `reordering`
    lets a message overtake messages whose times are not at or before its own. `inputs` limits Inp: to nothing, to
    messages that do not make Clock grow (the constraint suggested in the paper), or to any messages. An input queue
    never grows beyond `room` messages. Inp adds and Outp removes one message at a time; several at once are a sequence.

    >>> from pullstream.timely.theory.model import Edge, ModelGraph, one_steps, relation_node
    >>> graph = ModelGraph(("p",), (Edge("i", destination="p"),))
    >>> program = Program(graph, {"p": relation_node(initial_requests={0})}, (0,))
    >>> machine = Machine(program, CouldResultIn(graph, program.times, one_steps(program)))
    >>> (start,) = machine.initial({"i": [Message(0)]})
    >>> [type(action).__name__ for action, _ in machine.steps(start)]
    ['Receive']
    """

    program: Program
    leads: CouldResultIn
    closure: Closure = "fixpoint"
    reordering: bool = False
    inputs: Inputs = "fixed"
    room: int = 2
    _edge: dict[str, int] = field(init=False, repr=False)
    _node: dict[str, int] = field(init=False, repr=False)
    _clocks: dict[int, int] = field(init=False, repr=False, factory=dict[int, int])

    def __attrs_post_init__(self) -> None:
        graph = self.program.graph
        object.__setattr__(self, "_edge", {edge.name: i for i, edge in enumerate(graph.edges)})
        object.__setattr__(self, "_node", {node: i for i, node in enumerate(graph.nodes)})

    def initial(self, queues: Mapping[str, Iterable[Message]] | None = None) -> tuple[State, ...]:
        """List the states of InitProp with these messages on the input edges: one for each choice of initial states.

        Raises:
            ValueError: if messages are given for an edge that is not an input edge.
        """
        lines = {name: tuple(messages) for name, messages in (queues or {}).items()}
        for name in lines:
            if not self.program.graph.edge(name).is_input:
                raise ValueError(f"{name!r} is not an input edge: only input edges may hold messages at the start")
        filled = tuple(lines.get(edge.name, ()) for edge in self.program.graph.edges)
        starts = product(*(sorted(self.program.nodes[p].initial, key=repr) for p in self.program.graph.nodes))
        return tuple(State(filled, tuple(s for s, _ in start), tuple(n for _, n in start)) for start in starts)

    def pending(self, state: State) -> int:
        """Give the pointstamps of messages on edges and of pending requests, as a mask over `leads.stamps`."""
        graph = self.program.graph
        on_edges = (
            Pointstamp(edge.name, message.time)
            for edge, queue in zip(graph.edges, state.queues, strict=True)
            for message in queue
        )
        at_nodes = (Pointstamp(node, t) for node, times in zip(graph.nodes, state.requests, strict=True) for t in times)
        return self.leads.mask((*on_edges, *at_nodes))

    def clock(self, state: State) -> int:
        """Give Clock, the pointstamps for which work may remain, as a mask over `leads.stamps`."""
        pending = self.pending(state)
        if pending not in self._clocks:
            close = self.leads.close_up if self.closure == "fixpoint" else self.leads.image
            self._clocks[pending] = close(pending)
        return self._clocks[pending]

    def in_clock(self, state: State, location: str, time: Time) -> bool:
        """Say whether remaining work may lead to this location and time."""
        return bool(self.clock(state) & self.leads.mask((Pointstamp(location, time),)))

    def steps(self, state: State) -> Iterator[tuple[Action, State]]:
        """List every action possible in a state, with the state it leads to."""
        yield from self.receipts(state)
        yield from self.notifications(state, self.clock(state))
        yield from self.environment(state)

    def environment(self, state: State) -> Iterator[tuple[Inp | Outp, State]]:
        """List the actions of the environment: Inp, as far as `inputs` allows, and Outp."""
        if self.inputs != "fixed":
            yield from self._inputs(state)
        yield from self._outputs(state)

    def receipts(self, state: State) -> Iterator[tuple[Receive, State]]:
        """List the actions Mess: the first message of a queue, or with reordering any that no earlier one blocks."""
        for i, edge in enumerate(self.program.graph.edges):
            node = edge.destination
            if node is None:
                continue
            queue = state.queues[i]
            for k in range(len(queue) if self.reordering else min(1, len(queue))):
                if any(ahead.time <= queue[k].time for ahead in queue[:k]):
                    continue
                event = Received(edge.name, queue[k])
                queues = (*state.queues[:i], queue[:k] + queue[k + 1 :], *state.queues[i + 1 :])
                yield Receive(node, event), self._react(State(queues, state.local, state.requests), node, event)

    def notifications(self, state: State, clock: int) -> Iterator[tuple[Notify, State]]:
        """List the actions Not under a Clock: requests whose time can no longer arrive on any incoming edge.

        Clock is a parameter so that graphs can be composed (000, section 4.3). A node without incoming edges may be
        notified at once. Requests at one node may be answered in any order, even a later time first.
        """
        graph = self.program.graph
        for node, requests in zip(graph.nodes, state.requests, strict=True):
            for time in (t for t in self.leads.times if t in requests):
                awaited = self.leads.mask(Pointstamp(edge.name, time) for edge in graph.incoming[node])
                if not clock & awaited:
                    yield Notify(node, Notified(time)), self._react(state, node, Notified(time))

    def _react(self, state: State, node: str, event: Event) -> State:
        """Let a node consume an event that has already been taken from its queue (Mess2, Not2)."""
        i = self._node[node]
        step: Reaction = self.program.nodes[node].react(state.local[i], event)
        queues = state.queues
        for edge, messages in step.sends.items():
            k = self._edge[edge]
            queues = (*queues[:k], queues[k] + messages, *queues[k + 1 :])
        local = (*state.local[:i], step.state, *state.local[i + 1 :])
        requests = (*state.requests[:i], after_event(state.requests[i], event, step), *state.requests[i + 1 :])
        return State(queues, local, requests)

    def _inputs(self, state: State) -> Iterator[tuple[Inp, State]]:
        for i, edge in enumerate(self.program.graph.edges):
            queue = state.queues[i]
            if not edge.is_input or len(queue) >= self.room:
                continue
            for message in self.program.messages:
                for k in range(len(queue) + 1):
                    grown = (*state.queues[:i], (*queue[:k], message, *queue[k:]), *state.queues[i + 1 :])
                    after = State(grown, state.local, state.requests)
                    if self.inputs == "any" or not self.clock(after) & ~self.clock(state):
                        yield Inp(edge.name, message), after

    def _outputs(self, state: State) -> Iterator[tuple[Outp, State]]:
        for i, edge in enumerate(self.program.graph.edges):
            if edge.is_output:
                for k, message in enumerate(state.queues[i]):
                    queue = state.queues[i][:k] + state.queues[i][k + 1 :]
                    queues = (*state.queues[:i], queue, *state.queues[i + 1 :])
                    yield Outp(edge.name, message), State(queues, state.local, state.requests)

    def is_inp(self, before: State, after: State) -> bool:
        """Say whether Inp allows a change: only input queues change, and each is a subsequence of its new value.

        The paper's prose has it the other way round (Q' a subsequence of Q). Its formula is right and is used here.
        """
        return (before.local, before.requests) == (after.local, after.requests) and all(
            is_subsequence(old, new) if edge.is_input else old == new
            for edge, old, new in _queues(self.program, before, after)
        )

    def is_outp(self, before: State, after: State) -> bool:
        """Say whether Outp allows a change: only output queues change, each to a subsequence of itself."""
        return (before.local, before.requests) == (after.local, after.requests) and all(
            is_subsequence(new, old) if edge.is_output else old == new
            for edge, old, new in _queues(self.program, before, after)
        )

    def inputs_do_not_grow(self, before: State, after: State) -> bool:
        """Say whether each new input queue is a subsequence of the old one: the hypothesis of Props 8, 9 and Thm 2."""
        queues = _queues(self.program, before, after)
        return all(is_subsequence(new, old) for edge, old, new in queues if edge.is_input)

    def visible(self, state: State) -> tuple[Queue, ...]:
        """Give the externally visible part of a state: the queues of input and output edges."""
        edges = zip(self.program.graph.edges, state.queues, strict=True)
        return tuple(queue for edge, queue in edges if not edge.is_internal)


def acts(program: Program, before: State, after: State) -> bool:
    """Say whether a change is an action on the edges at a graph's border: Acts of 000, section 4.3.

    The graph has taken something from an input edge, or put something on an output edge.
    """
    return any(
        old != new and ((edge.is_input and is_subsequence(new, old)) or (edge.is_output and is_subsequence(old, new)))
        for edge, old, new in _queues(program, before, after)
    )


def _queues(program: Program, before: State, after: State) -> Iterator[tuple[Edge, Queue, Queue]]:
    return zip(program.graph.edges, before.queues, after.queues, strict=True)


def is_subsequence(short: Queue, long: Queue) -> bool:
    """Say whether one sequence is another with some elements removed.

    >>> a, b = Message(0), Message(1)
    >>> is_subsequence((a, b), (a, a, b)), is_subsequence((b, a), (a, b))
    (True, False)
    """
    rest = iter(long)
    return all(any(element == other for other in rest) for element in short)
