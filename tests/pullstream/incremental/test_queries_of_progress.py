"""The three queries of 003, maintained while a dataflow is edited: as plain fixpoints and the tracker have them."""

import random
from collections import Counter

import pytest

from pullstream.incremental.module import Dataflow
from pullstream.incremental.trace import Order
from timely import IDENTITY, Delay, GraphBuilder, Source, Target, Tracker
from timely.theory import queries
from tutorials.kept_up_to_date import find_cycles, frontier, summarize


class Edited:
    """A dataflow of a few nodes whose steps and times come and go, and a program that is kept up to date with it."""

    def __init__(self, program, seed, delays):
        self.flow = Dataflow(program, Order())
        self.rnd = random.Random(seed)
        self.there = {name: Counter() for name in self.flow.inputs}
        self.given = Counter()
        self.delays = delays

    def anything(self, name):
        rnd = self.rnd
        target, source = Target(rnd.randrange(4), rnd.randrange(2)), Source(rnd.randrange(4), rnd.randrange(2))
        match name:
            case "nodes":
                return Target(target.node, target.port), Source(target.node, source.port), rnd.choice(self.delays)
            case "edges":
                return source, target
            case "times":
                return rnd.choice([source, target]), rnd.randrange(5)
            case _:
                return target

    def edit(self):
        """Change a little; what the program has given so far is what there is now."""
        for _ in range(self.rnd.randint(1, 4)):
            name = self.rnd.choice(list(self.there))
            counts = self.there[name]
            if counts and self.rnd.random() < 0.4:
                record, diff = self.rnd.choice(list(counts)), -1
            else:
                record, diff = self.anything(name), 1
                if counts[record] and name != "times":
                    continue
            counts[record] += diff
            if not counts[record]:
                del counts[record]
            self.flow.take(name, (), [(record, diff)])
        for _, record, diff in self.flow.run(()):
            self.given[record] += diff
        assert all(count in (0, 1) for count in self.given.values())
        return {record for record, count in self.given.items() if count}

    @property
    def graph(self):
        return set(self.there["nodes"]), set(self.there["edges"])


@pytest.mark.parametrize("seed", range(10))
def test_the_frontier_is_that_of_the_fixpoint_and_of_the_tracker(seed):
    """At every edit, in graphs of every kind: a tracker made for the graph as it is says the same."""
    edited = Edited(frontier, seed, delays=(Delay(1), Delay(2)))
    for _ in range(15):
        found = edited.edit()
        nodes, edges = edited.graph
        times = list(edited.there["times"].elements())
        plain = queries.frontier(nodes, edges, times)
        assert found == {(place, time) for place, here in plain.items() for time in here}
        assert found == tracked(nodes, edges, times)


def tracked(nodes, edges, times):
    """The frontiers of all places that can be reached, by the tracker."""
    builder = GraphBuilder()
    for number in range(4):
        ways = {(t.port, s.port): delay for t, s, delay in sorted(nodes, key=repr, reverse=True) if t.node == number}
        several = {way: [d for t, s, d in nodes if t.node == number and (t.port, s.port) == way] for way in ways}
        builder.add_node(str(number), 2, 2, summaries={way: least(found) for way, found in several.items()})
    for source, target in edges:
        builder.add_edge(source, target)
    graph = builder.build()
    tracker = Tracker(graph)
    places = [kind(node, port) for kind in (Target, Source) for node in range(4) for port in range(2)]
    for place in places:
        tracker.observe(graph.place(place))
    for place, time in times:
        tracker.update(graph.place(place), time, 1)
    return {(place, time) for place in places for time in tracker.frontier(graph.place(place))}


def least(delays):
    return min(delays, key=lambda delay: delay.results_in(0))


@pytest.mark.parametrize("seed", range(10))
def test_the_summaries_are_those_of_the_fixpoint(seed):
    """Of all paths, the least; loops only make them longer."""

    def summaries(nodes, edges, ends):
        return summarize(nodes, edges, ends)

    edited = Edited(summaries, seed, delays=(Delay(1), Delay(2)))
    for _ in range(12):
        found = edited.edit()
        nodes, edges = edited.graph
        plain = queries.summarize(nodes, edges, edited.there["ends"])
        assert found == {(place, (end, s)) for (place, end), here in plain.items() for s in here}


@pytest.mark.parametrize("seed", range(10))
def test_the_cycles_are_those_of_the_fixpoint(seed):
    """Those that stand still come when an edge closes them, and go when any of them is opened."""
    edited = Edited(find_cycles, seed, delays=(IDENTITY, Delay(1), Delay(2)))
    for _ in range(15):
        found = edited.edit()
        nodes, edges = edited.graph
        standing = {step[:2] for step in nodes if not step[2].strict} | edges
        assert found == {step for step in queries.find_cycles(nodes, edges) if step in standing}
