"""All interleavings within bounds: bounded model checking of a state machine (000, section 4)."""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby
from typing import Generic, TypeVar

from attrs import define, field, frozen

S = TypeVar("S", bound=Hashable)
A = TypeVar("A")


@frozen
class Transition(Generic[S, A]):
    """One step found by an explorer: the state before, the action, the state after, the number of steps taken."""

    before: S
    action: A
    after: S
    depth: int


@define
class Explorer(Generic[S, A]):
    """Visit every state within `depth` steps of the starts, breadth first; iterating gives every transition once.

    A property that holds on each transition holds on every behaviour of at most `depth` steps. After the iteration,
    `states` and `transitions` count what was visited, and `complete` says whether the bounds cut nothing off.

    >>> counter = Explorer([0], lambda n: [("+1", n + 1)] if n < 3 else [], depth=10)
    >>> [(step.before, step.after) for step in counter], counter.states, counter.complete
    ([(0, 1), (1, 2), (2, 3)], 4, True)
    """

    starts: Iterable[S]
    successors: Callable[[S], Iterable[tuple[A, S]]]
    depth: int
    max_states: int = 100_000
    states: int = field(init=False, default=0)
    transitions: int = field(init=False, default=0)
    complete: bool = field(init=False, default=True)

    def __iter__(self) -> Iterator[Transition[S, A]]:
        layer = list(dict.fromkeys(self.starts))
        seen = set(layer)
        self.transitions, self.complete = 0, True
        for depth in range(1, self.depth + 1):
            fresh: list[S] = []
            for before in layer:
                for action, after in self.successors(before):
                    self.transitions += 1
                    if after not in seen and len(seen) < self.max_states:
                        seen.add(after)
                        fresh.append(after)
                    elif after not in seen:
                        self.complete = False
                    yield Transition(before, action, after, depth)
            layer = fresh
            self.states = len(seen)
            if not layer:
                break
        self.states = len(seen)
        self.complete = self.complete and all(after in seen for state in layer for _, after in self.successors(state))


def random_walk(
    start: S, successors: Callable[[S], Iterable[tuple[A, S]]], depth: int, rng: random.Random
) -> Iterator[Transition[S, A]]:
    """Follow one random behaviour for at most `depth` steps."""
    state = start
    for step in range(1, depth + 1):
        choices = list(successors(state))
        if not choices:
            return
        action, after = rng.choice(choices)
        yield Transition(state, action, after, step)
        state = after


def stutter_free(states: Iterable[S]) -> tuple[S, ...]:
    """Remove the stutter from a finite behaviour: reduce every run of equal states to one (000, section 4.1).

    A sequence is stutter-free when this function leaves it unchanged. A set of sequences is closed under stuttering
    when it contains a sequence if and only if it contains the stutter-free form. Properties of 000 are such sets. A
    finite behaviour stands for the infinite one that repeats its last state.

    >>> stutter_free("aabbba")
    ('a', 'b', 'a')
    """
    return tuple(state for state, _ in groupby(states))


def visible_traces(
    starts: Iterable[S], successors: Callable[[S], Iterable[tuple[A, S]]], visible: Callable[[S], Hashable], depth: int
) -> frozenset[tuple[Hashable, ...]]:
    """Collect the externally visible behaviours of at most `depth` steps, without stutter (000, section 4.1).

    >>> sorted(visible_traces([0], lambda n: [("+1", n + 1)], lambda n: n // 2, depth=3))
    [(0,), (0, 1)]
    """
    reached: set[tuple[S, tuple[Hashable, ...]]] = {(state, (visible(state),)) for state in starts}
    traces = {trace for _, trace in reached}
    layer = reached
    for _ in range(depth):
        fresh: set[tuple[S, tuple[Hashable, ...]]] = set()
        for state, trace in layer:
            for _action, after in successors(state):
                seen = visible(after)
                fresh.add((after, stutter_free((*trace, seen))))
        layer = fresh - reached
        reached |= layer
        traces |= {trace for _, trace in layer}
    return frozenset(traces)
