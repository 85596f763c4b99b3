"""Behaviours of nodes: initial states, a single reaction (g1), local histories, and g over them (000, section 2.2)."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeAlias

from attrs import Factory, field, frozen

from .graph import ModelError, ModelGraph
from .times import Time


@frozen
class Message:
    """A message m of M, with time(m) and any other content."""

    time: Time
    body: Hashable = None


@frozen
class Received:
    """The event (d, m): a message taken from an incoming edge."""

    edge: str
    message: Message

    @property
    def time(self) -> Time:
        """The time of the event: the time of its message."""
        return self.message.time


@frozen
class Notified:
    """The event t: a notification that the time t is complete."""

    time: Time


Event: TypeAlias = Received | Notified
Start: TypeAlias = tuple[Hashable, frozenset[Time]]


@frozen
class Reaction:
    """The triple (s', N, messages per outgoing edge) that g1 and g return; an edge left out carries no messages."""

    state: Hashable
    requests: frozenset[Time] = frozenset()
    sends: Mapping[str, tuple[Message, ...]] = field(factory=dict[str, tuple[Message, ...]])


@frozen
class Node:
    """A node's behaviour: Initial(p), pairs of a state and initial notification requests, and g1(p) (000, section 2.2).

    `react` must be a function: the same state and event always give the same reaction. Only the order of events in a
    run is not deterministic.
    """

    initial: frozenset[Start]
    react: Callable[[Hashable, Event], Reaction]


@frozen
class History:
    """A local history: an initial state with its requests, then the events consumed, in order."""

    start: Start
    events: tuple[Event, ...] = ()

    def then(self, event: Event) -> "History":
        """Give the history with one more event appended."""
        return History(self.start, (*self.events, event))


def g(node: Node, history: History) -> Reaction:
    """Give the state, the pending requests and everything sent after a history (000, section 2.2).

    The requests after a notification t are (N minus {t}) union N', in that order: a node may immediately request the
    same time again. The paper leaves the brackets out.

    Raises:
        ModelError: if the history does not start in one of the node's initial states.

    >>> again = relation_node(requests={0: {0}}, initial_requests={0})
    >>> g(again, History((None, frozenset({0})), (Notified(0),))).requests
    frozenset({0})
    """
    if history.start not in node.initial:
        raise ModelError(f"{history.start} is not an initial state of this node")
    state, pending = history.start
    sent: dict[str, tuple[Message, ...]] = {}
    for event in history.events:
        step = node.react(state, event)
        state = step.state
        pending = after_event(pending, event, step)
        for edge, messages in step.sends.items():
            sent[edge] = sent.get(edge, ()) + messages
    return Reaction(state, pending, sent)


def after_event(pending: frozenset[Time], event: Event, step: Reaction) -> frozenset[Time]:
    """Give the requests pending after an event: a notification removes its own first, then new ones are added."""
    requests = pending - {event.time} if isinstance(event, Notified) else pending
    return requests | step.requests


def buffer(edge: str) -> Node:
    """Make a buffer node: it relays every message to its one outgoing edge and requests nothing (000, section 2.2).

    With a buffer after every other node, the model is as asynchronous as if nodes sent one message at a time.

    >>> buffer("out").react(None, Received("in", Message(3, "x"))).sends
    {'out': (Message(time=3, body='x'),)}
    """

    def relay(state: Hashable, event: Event) -> Reaction:
        if isinstance(event, Notified):
            return Reaction(state)
        return Reaction(state, sends={edge: (event.message,)})

    return Node(frozenset({(None, frozenset[Time]())}), relay)


def relation_node(
    emits: Mapping[Time, Iterable[tuple[str, Time]]] | None = None,
    requests: Mapping[Time, Iterable[Time]] | None = None,
    initial_requests: Iterable[Time] = (),
) -> Node:
    """Make a node without memory: any event at t sends the messages and makes the requests listed for t.

    Every one-step relation is the behaviour of such a node, so enumerating these nodes enumerates all one-step
    behaviours.

    >>> node = relation_node(emits={0: [("a", 1)]})
    >>> node.react(None, Notified(0)).sends
    {'a': (Message(time=1, body=None),)}
    """
    answers: dict[Time, Reaction] = {}
    for time in {*(emits or {}), *(requests or {})}:
        sends: dict[str, tuple[Message, ...]] = {}
        for edge, later in (emits or {}).get(time, ()):
            sends[edge] = (*sends.get(edge, ()), Message(later))
        answers[time] = Reaction(None, frozenset((requests or {}).get(time, ())), sends)
    silent = Reaction(None)

    def react(_state: Hashable, event: Event) -> Reaction:
        return answers.get(event.time, silent)

    return Node(frozenset({(None, frozenset(initial_requests))}), react)


def _one_message_per_time(program: "Program") -> tuple[Message, ...]:
    return tuple(Message(time) for time in program.times)


@frozen
class Program:
    """A graph whose nodes have behaviours, in a finite world of times and messages.

    The finite world makes the definitions computable: they quantify over all times and all messages.

    Raises:
        ModelError: if a node has no behaviour, or a message has a time outside the world.
    """

    graph: ModelGraph
    nodes: Mapping[str, Node]
    times: tuple[Time, ...]
    messages: tuple[Message, ...] = field(default=Factory(_one_message_per_time, takes_self=True))

    def __attrs_post_init__(self) -> None:
        if set(self.nodes) != set(self.graph.nodes):
            raise ModelError(f"behaviours are given for {sorted(self.nodes)}, but the nodes are {self.graph.nodes}")
        if any(message.time not in self.times for message in self.messages):
            raise ModelError("a message has a time that is not among the program's times")
