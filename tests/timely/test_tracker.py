"""The tracker compared with the plain query: on random graphs, after every round of random updates."""

import random
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.sampling import amount
from tests.timely.building import around, building
from tests.timely.divides import Divides
from timely import (
    BEGINNING,
    ENTER,
    IDENTITY,
    LEAVE,
    Antichain,
    CapabilityError,
    Delay,
    LoopTime,
    MapTime,
    NegativeCountError,
    RetreatError,
    Source,
    Target,
    TimeDomainError,
    Tracker,
)
from timely.theory import CheckedTracker
from timely.theory.invariants import check_invariants, implied
from timely.tracker import COMPACT_AT


def follow(made, rounds, *, debug=True, monotone=True):
    """Feed rounds to a tracker that observes some places; compare it with the query after each."""
    observed = some_places(made, made.rng.choice([0.1, 0.4, 1]))
    tracker = (CheckedTracker if debug else Tracker)(made.graph, monotone=monotone)
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


def some_places(made, share):
    return [place for place in range(len(made.graph)) if made.rng.random() < share]


def arbitrary_changes(made):
    rng, stamps = made.rng, {}
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


def test_tracker_agrees_with_the_query_on_random_graphs(random_graph, history):
    for seed in range(amount(25, 2_000)):
        made = random_graph(seed)
        follow(made, history(made, 8))


def test_tracker_follows_arbitrary_changes(random_graph):
    """Without the rule that frontiers only advance, any change of counts is followed exactly."""
    for seed in range(amount(25, 2_000)):
        made = random_graph(seed)
        follow(made, arbitrary_changes(made), debug=False, monotone=False)


def test_places_are_observed_and_unobserved_between_updates(random_graph, history):
    """Places are observed and unobserved; the frontiers of all other places are compared, too."""
    for seed in range(amount(20, 1_000)):
        made = random_graph(seed)
        rng, tracker, observed = made.rng, CheckedTracker(made.graph), set()
        for out in history(made, 8):
            for place in rng.sample(range(len(made.graph)), min(3, len(made.graph))):
                if place in observed and rng.random() < 0.6:
                    observed.discard(place)
                    tracker.unobserve(place)
                else:
                    observed.add(place)
                    tracker.observe(place)
            for update in out:
                tracker.update(*update)
            assert set(tracker.propagate()) <= observed
            expected = implied(tracker)
            for place in range(len(made.graph)):
                assert tracker.frontier(place) == expected.get(place, Antichain())
            check_invariants(tracker)


def line(*summaries):
    """The line start -> n0 -> n1 -> ...: its graph, and its places in order."""
    nodes = {"start": (0, 1)} | {f"n{n}": summary for n, summary in enumerate(summaries)}
    graph = building(nodes, pairwise(range(len(nodes)))).build()
    return graph, list(range(len(graph)))


def delayed(**options):
    """A tracker of start -> n0 (a delay of 1) that observes the end, with 3 pending at the start; and the places."""
    graph, places = line(Delay(1))
    tracker = Tracker(graph, **options)
    tracker.observe(places[-1])
    tracker.update(places[0], 3, 1)
    return tracker, places


def test_updates_may_come_in_any_order_between_propagations():
    """A count may be negative inside the buffer; only the sum is checked."""
    tracker, places = delayed()
    tracker.update(places[0], 3, -2)
    tracker.update(places[0], 3, +2)
    assert tracker.propagate() == [places[-1]]
    assert tracker.frontier(places[-1]) == Antichain([4])
    assert tracker.counts(places[0]) == {3: 1}


def test_a_negative_count_is_a_lasting_error():
    tracker, places = delayed()
    tracker.propagate()
    tracker.update(places[1], 3, 1)
    tracker.update(places[0], 3, -2)
    for _ in range(2):
        with pytest.raises(NegativeCountError, match=r"start, output for the time 3.*the count there is 1"):
            tracker.propagate()
    assert tracker.stamps[places[1]] == {}


class Unhashed:
    """A time whose hash fails."""

    def __hash__(self):
        raise ValueError("no hash")


def test_an_update_raises_nothing_and_the_next_propagation_does():
    """A change may be noted where an exception would interrupt it halfway."""
    tracker, (place, *_) = delayed()
    for _ in range(COMPACT_AT):
        tracker.update(place, Unhashed(), 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="no hash"):
            tracker.propagate()


def test_a_frontier_that_moves_back_is_an_error():
    tracker, places = delayed()
    tracker.propagate()
    tracker.update(places[0], 2, 1)
    with pytest.raises(RetreatError, match=r"n0, output moved back: 3"):
        tracker.propagate()


def test_unjustified_times_are_errors_in_debug_mode():
    graph, places = line(Delay(1), Delay(1))
    tracker = CheckedTracker(graph)
    tracker.update(places[0], 3, 1)
    tracker.propagate()
    tracker.update(places[1], 2, 1)
    with pytest.raises(CapabilityError, match=r"2 appears from nothing at n0, input"):
        tracker.propagate()


def test_unlike_domains_that_meet_are_named():
    graph = building({"a": (0, 1), "b": (0, 1), "join": (1, 0)}, [(0, 2), (1, 2)]).build()
    tracker = Tracker(graph)
    tracker.observe(graph.place(Target(2)))
    tracker.update(graph.place(Source(0)), 3, 1)
    tracker.update(graph.place(Source(1)), "monday", 1)
    with pytest.raises(TimeDomainError, match="'monday'"):
        tracker.propagate()


def test_changes_seen_through_frontier_are_still_reported():
    tracker, places = delayed()
    assert tracker.frontier(places[-1]) == Antichain([4])
    assert tracker.propagate() == [places[-1]]
    assert tracker.propagate() == []


def test_add_and_remove_is_no_change():
    tracker, places = delayed(monotone=False)
    tracker.propagate()
    for time in range(4, 10_000):
        tracker.update(places[0], time, 1)
        tracker.update(places[0], time, -1)
    assert len(tracker._buffer) < 5000
    assert tracker.propagate() == []
    assert tracker.counts(places[0]) == {3: 1}


def test_explain_names_blockers_with_paths_nearest_first():
    graph, places = line(Delay(1), Delay(1))
    tracker = Tracker(graph)
    tracker.update(places[0], 5, 1)
    tracker.update(places[0], 6, 1)
    tracker.update(places[3], 3, 2)
    tracker.update(places[3], 9, 1)
    end = places[-1]
    near, far = tracker.explain(end, 7)
    assert (near.location, near.time, near.path) == (Target(2), 3, (Target(2), Source(2)))
    assert (far.location, far.time) == (Source(0), 5)
    assert far.path == tuple(graph.location(place) for place in places)
    assert tracker.explain(end, 3) == []
    assert tracker.explain(end, 4) == [near]
    tracker.update(places[1], 2, 1)
    assert [b.time for b in tracker.explain(end, 7, roots=True)] == [2, 5]


def test_explain_names_all_roots_around_a_cycle():
    """`BEGINNING` passes every step unchanged: two holds of it on a cycle lead to each other, and both are named."""
    nodes = {"body": IDENTITY, "feedback": Delay(1), "after": IDENTITY}
    graph = building(nodes, [(0, 1), (1, 0), (0, 2)]).build()
    body, back, after = (graph.place(Source(node)) for node in range(3))
    tracker = Tracker(graph)
    tracker.update(body, BEGINNING, 1)
    tracker.update(back, BEGINNING, 1)
    tracker.update(after, 3, 1)
    assert {b.location for b in tracker.explain(after, 5, roots=True)} == {Source(0), Source(1)}
    assert [b.location for b in tracker.explain(after, 5)] == [Source(2), Source(0), Source(1)]


def test_explain_agrees_with_the_frontier(random_graph, history):
    """A time has blockers exactly while it is incomplete, and every path follows the graph."""
    for seed in range(amount(12, 30)):
        made = random_graph(seed)
        tracker = CheckedTracker(made.graph)
        for out in history(made, 4):
            for update in out:
                tracker.update(*update)
            for place in some_places(made, 0.3):
                time = made.time(place)
                found = tracker.explain(place, time)
                assert bool(found) == tracker.frontier(place).less_equal(time)
                roots = tracker.explain(place, time, roots=True)
                assert bool(roots) == bool(found)
                assert [b for b in found if b in roots] == roots
                for blocker in found:
                    assert blocker.time in tracker.counts(made.graph.place(blocker.location))
                    steps = [made.graph.place(location) for location in blocker.path]
                    assert steps[-1] == place
                    for a, b in pairwise(steps):
                        assert any(end == b for end, _ in made.graph.successors[a])


def test_a_loop_left_and_reentered():
    """After the outer loop, a time returns to the inner loop incomparable with itself: both times are possible."""
    graph = building({"enter": ENTER, "body": IDENTITY, "leave": LEAVE, "back": Delay(1)}, around(4)).build()
    tracker = Tracker(graph)
    body = graph.place(Target(1))
    tracker.observe(body)
    tracker.update(body, LoopTime(0, (5,)), 1)
    assert tracker.frontier(body) == Antichain([LoopTime(0, (5,)), LoopTime(1, (0,))])
    tracker.update(body, LoopTime(0, (5,)), -1)
    assert tracker.frontier(body) == Antichain()


def test_unsortable_times_work_in_loops_too():
    """Frontiers equal the query in a loop that doubles, for times that are only partially ordered."""

    def times(factor):
        return MapTime(lambda t: Divides(t.n * factor) if t.n < 500 else None, strict=True)

    edges = [(Source(0, n), Target(1 + n)) for n in (0, 1)] + [(Source(1 + n), Target(0, n)) for n in (0, 1)]
    graph = building({"body": (2, 2), "double": times(2), "triple": times(3)}, edges).build()
    for seed in range(20):
        rng = random.Random(seed)
        made = SimpleNamespace(graph=graph, rng=rng, time=lambda _, rng=rng: Divides(rng.choice([1, 2, 3, 4, 5, 6, 9])))
        follow(made, arbitrary_changes(made), monotone=False)
