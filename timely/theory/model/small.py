"""Small worlds: every graph and every one-step behaviour up to a size, and random programs beyond it."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product

from attrs import frozen

from .could_result_in import CouldResultIn, Step
from .graph import Edge, ModelGraph
from .nodes import Event, Message, Node, Notified, Program, Reaction, Start
from .times import Time

NAMES = "pqrs"
Pairs = frozenset[tuple[Time, Time]]


def closed_relations(times: Sequence[Time]) -> tuple[Pairs, ...]:
    """List every relation on times that is closed downward on the left and upward on the right.

    Def. 2 uses only this closure of a node's one steps, so these are all the behaviours that it can distinguish.

    >>> [len(closed_relations(tuple(range(n)))) for n in (1, 2, 3)]
    [2, 6, 20]
    """
    pairs = [(a, b) for a in times for b in times]
    below = {(a, b): sum(1 << i for i, (c, d) in enumerate(pairs) if c <= a and b <= d) for a, b in pairs}
    relations: list[Pairs] = []
    for mask in range(1 << len(pairs)):
        members = [pair for i, pair in enumerate(pairs) if mask >> i & 1]
        if all(below[pair] & ~mask == 0 for pair in members):
            relations.append(frozenset(members))
    return tuple(relations)


def graphs(nodes: int, edges: int) -> Iterator[ModelGraph]:
    """List every graph with these numbers of nodes and edges: input, internal, output and parallel edges, cycles.

    >>> sum(1 for _ in graphs(2, 2))
    21
    """
    names = tuple(NAMES[:nodes])
    for chosen in combinations_with_replacement(_ends(names), edges):
        yield ModelGraph(names, tuple(Edge(f"e{i}", a, b) for i, (a, b) in enumerate(chosen)))


def _ends(names: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """List the ends that an edge may have; None is outside the graph."""
    return list(permutations((None, *names), 2))


def relations(graph: ModelGraph, times: Sequence[Time]) -> Iterator[CouldResultIn]:
    """List could-result-in for every one-step behaviour of a graph that Def. 2 can distinguish."""
    choices = closed_relations(times)
    sending = [edge for edge in graph.edges if edge.source is not None]
    for picks in product(choices, repeat=len(sending)):
        steps = [
            Step(edge.source, early, edge.name, late)
            for edge, pairs in zip(sending, picks, strict=True)
            for early, late in pairs
            if edge.source is not None
        ]
        yield CouldResultIn(graph, tuple(times), frozenset(steps))


@frozen
class Wild:
    """The probabilities that random nodes send into the past, request in the past, and have memory."""

    past_sends: float = 0.0
    past_requests: float = 0.0
    memory: float = 0.3


def random_graph(rng: random.Random, nodes: int = 2, edges: int = 3) -> ModelGraph:
    """Draw a graph. Edges may be of any kind, but no node is connected to itself."""
    names = tuple(NAMES[:nodes])
    return ModelGraph(names, tuple(Edge(f"e{i}", *rng.choice(_ends(names))) for i in range(edges)))


def random_node(rng: random.Random, graph: ModelGraph, name: str, times: Sequence[Time], wild: Wild) -> Node:
    """Draw a node's whole table: its reaction for each of its one or two states and each event."""
    states = (0, 1) if rng.random() < wild.memory else (0,)
    outgoing = [edge.name for edge in graph.outgoing[name]]

    def some_time(event_time: Time, past: float) -> Time:
        allowed = times if rng.random() < past else [t for t in times if event_time <= t]
        return rng.choice(list(allowed))

    table: dict[tuple[int, str | None, Time], Reaction] = {}
    kinds = [None, *(edge.name for edge in graph.incoming[name])]
    for state, kind, time in product(states, kinds, times):
        sends: dict[str, tuple[Message, ...]] = {}
        for edge in outgoing:
            if rng.random() < 0.5:
                sends[edge] = (Message(some_time(time, wild.past_sends)),)
        requests = {some_time(time, wild.past_requests)} if rng.random() < 0.4 else set[Time]()
        table[state, kind, time] = Reaction(rng.choice(states), frozenset(requests), sends)

    def react(state: object, event: Event) -> Reaction:
        kind = None if isinstance(event, Notified) else event.edge
        return table[state if isinstance(state, int) else 0, kind, event.time]

    start: Start = (0, frozenset(t for t in times if rng.random() < 0.4))
    return Node(frozenset({start}), react)


def random_program(rng: random.Random, times: Sequence[Time], wild: Wild, nodes: int = 2, edges: int = 3) -> Program:
    """Draw a graph with random nodes. It may or may not meet Conditions 1 and 2."""
    graph = random_graph(rng, nodes, edges)
    behaviours = {name: random_node(rng, graph, name, times, wild) for name in graph.nodes}
    return Program(graph, behaviours, tuple(times))
