"""The tracker against the plain query: on random graphs, after every round of random updates."""

import pytest

from timely import (
    BEGINNING,
    Antichain,
    CapabilityError,
    Delay,
    GraphBuilder,
    NegativeCountError,
    RetreatError,
    Source,
    Target,
    TimeDomainError,
    Tracker,
)
from timely.invariants import check_invariants, implied


def follow(made, rounds, observed, *, debug=True, monotone=True):
    """Feed rounds to a tracker that observes some places; compare with the query after each."""
    tracker = Tracker(made.graph, debug=debug, monotone=monotone)
    for place in observed:
        tracker.observe(place)
    reported = {}
    for out in rounds:
        for update in out:
            tracker.update(*update)
        for place in tracker.propagate():
            assert tracker.frontier(place) != reported.get(place, Antichain())
            reported[place] = tracker.frontier(place)
        expected = implied(tracker)
        for place in observed:
            assert tracker.frontier(place) == expected.get(place, Antichain())
            assert reported.get(place, Antichain()) == tracker.frontier(place)
        check_invariants(tracker)
    return tracker


def some_places(made, share):
    return [place for place in range(len(made.graph)) if made.rng.random() < share]


def check_seed(seed, random_graph, history):
    made = random_graph(seed)
    follow(made, history(made, 8), some_places(made, made.rng.choice([0.1, 0.4, 1])))


def check_arbitrary(seed, random_graph):
    made = random_graph(seed)
    rng, stamps = made.rng, {}

    def rounds():
        for _ in range(8):
            out = []
            for _ in range(rng.randrange(1, 5)):
                if stamps and rng.random() < 0.5:
                    place, time = rng.choice(list(stamps))
                    out.append((place, time, -stamps.pop((place, time))))
                else:
                    place = rng.randrange(len(made.graph))
                    time = made.time(place)
                    stamps[place, time] = stamps.get((place, time), 0) + 1
                    out.append((place, time, 1))
            yield out

    follow(made, rounds(), some_places(made, rng.choice([0.1, 0.4, 1])), debug=False, monotone=False)


def test_tracker_agrees_with_the_query_on_random_graphs(random_graph, history):
    """After each round of justified updates every observed frontier is what the plain query computes."""
    for seed in range(60):
        check_seed(seed, random_graph, history)


def test_tracker_follows_arbitrary_changes(random_graph):
    """Without the rule that frontiers only advance, any change of counts is followed exactly."""
    for seed in range(60):
        check_arbitrary(seed, random_graph)


@pytest.mark.slow
def test_tracker_agrees_with_the_query_on_thousands_of_graphs(random_graph, history):
    """The same on 4,000 graphs."""
    for seed in range(1000, 3000):
        check_seed(seed, random_graph, history)
        check_arbitrary(seed, random_graph)
