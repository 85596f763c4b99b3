"""Kept up to date: the results of a program while its inputs change.

Read this chapter after `when_is_it_done` and `by_query_and_tracker`: `python -m pullstream learn read 16`. Afterwards
you can write a program of collections, with loops if needed, keep its results up to date as its inputs change, and ask
it why a record is there.

It is easy to count words while words are added. It is harder when a text is withdrawn, and harder still when the
counted records come from a join with something that has changed since, or from a search in a graph that has lost an
edge. *Differential dataflow* treats all these cases alike: only changes flow, each step turns changes into changes, and
keeps its state by key. So the cost of a change depends on its effects, not on the size of the data. It is correct
because a step processes a time when it is complete, which it learns from progress tracking.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import pullstream as ps
from pullstream.incremental import Collection, DivergenceError, explain, integrate, maintain, upserts
from pullstream.timely import GraphBuilder, Location, Source, Target, Tracker
from pullstream.timely.order import minimal
from pullstream.timely.summary import IDENTITY, Delay, Summary
from tutorials.lesson import say, tell

Edges = Collection[tuple[str, str]]
Distances = Collection[tuple[str, int]]
Steps = list[tuple[int, tuple[Any, ...]]]


def show(maintained: ps.Transformer[Any, Any], changes: Steps) -> None:
    """Print the changes that come out for changes that go in, each at its day."""
    days = ps.pipe(ps.values(changes, time=lambda change: change[0]), ps.map(lambda change: change[1]))
    for day, change in ps.run(ps.pipe(days, maintained, ps.collect(timed=True))):
        print(f"day {day}:", *change)


def words(texts: Collection[str]) -> Collection[tuple[str, int]]:
    """Count the occurrences of each word."""
    return texts.flat_map(str.split).count()


def lesson_1() -> None:
    """1. A count that counts down.

    A program is a function from collections to collections. Its methods are those of a query: `map`, `filter`, `join`,
    `count`. Its input consists of changes, each a record and its multiplicity; its output consists of changes, too. On
    the third day a text is withdrawn, and the counts go back: a count of two becomes one, and words that occurred once
    are gone.
    """
    show(maintain(words), [(1, ("to be or not", 1)), (2, ("to do", 1)), (3, ("to be or not", -1))])
    # | day 1: ('to', 1) 1
    # | day 1: ('be', 1) 1
    # | day 1: ('or', 1) 1
    # | day 1: ('not', 1) 1
    # | day 2: ('to', 1) -1
    # | day 2: ('to', 2) 1
    # | day 2: ('do', 1) 1
    # | day 3: ('to', 2) -1
    # | day 3: ('to', 1) 1
    # | day 3: ('be', 1) -1
    # | day 3: ('or', 1) -1
    # | day 3: ('not', 1) -1


def unpaid(orders: Collection[tuple[int, str]], payments: Collection[int]) -> Collection[tuple[int, str]]:
    """Return the orders that nobody has paid."""
    return orders.antijoin(payments)


def lesson_2() -> None:
    """2. Two inputs, and records without a match.

    If a program has several inputs, each change names its input. A payment removes an order from the list, and when the
    bank takes the payment back, the order is there again. You do not write any code for the reverse.
    """
    show(
        maintain(unpaid),
        [
            (1, ("orders", (7, "tea"), 1)),
            (1, ("orders", (8, "rye"), 1)),
            (2, ("payments", 7, 1)),
            (3, ("payments", 7, -1)),
        ],
    )
    # | day 1: (7, 'tea') 1
    # | day 1: (8, 'rye') 1
    # | day 2: (7, 'tea') -1
    # | day 3: (7, 'tea') 1


def best(offers: Collection[tuple[str, int]]) -> Collection[tuple[str, int]]:
    """Return the two highest offers for each thing."""
    return offers.top(2)


def lesson_3() -> None:
    """3. The best two, and the next in line.

    Records that are pairs have a key, and `min`, `max`, `sum`, `top` and `reduce` work for each key separately. Below,
    the two highest offers for a lamp are kept. On day 2 a higher one comes, and the lower of the two is removed. On day
    3 the new offer is withdrawn, and the removed one is back: it was no longer shown, but still stored.
    """
    show(
        maintain(best),
        [
            (1, (("lamp", 30), 1)),
            (1, (("lamp", 40), 1)),
            (1, (("desk", 90), 1)),
            (2, (("lamp", 50), 1)),
            (3, (("lamp", 50), -1)),
        ],
    )
    # | day 1: ('lamp', 40) 1
    # | day 1: ('lamp', 30) 1
    # | day 1: ('desk', 90) 1
    # | day 2: ('lamp', 30) -1
    # | day 2: ('lamp', 50) 1
    # | day 3: ('lamp', 50) -1
    # | day 3: ('lamp', 30) 1


def lesson_4() -> None:
    """4. From current values to changes, and back.

    Most external data gives the current value and not the change. `upserts` turns current values into changes: a price
    replaces the one before. `integrate` does the reverse: it gives the whole collection after each time.
    """
    prices = ps.values([(1, "tea", 3), (1, "rye", 2), (2, "tea", 4)], time=lambda price: price[0])
    now = ps.pipe(prices, ps.map(lambda price: price[1:]), upserts(lambda price: price[0]), integrate())
    for day, there in ps.run(ps.pipe(now, ps.collect(timed=True))):
        print(f"day {day}:", there)
    # | day 1: {('tea', 3): 1, ('rye', 2): 1}
    # | day 2: {('rye', 2): 1, ('tea', 4): 1}


def first(place: str) -> tuple[str, int]:
    """Return a start with its distance, 0."""
    return place, 0


def distances(edges: Edges, start: Collection[str]) -> Distances:
    """Count the steps from a start to each place."""
    begun = start.map(first)
    return begun.iterate(lambda found: found.join(edges, lambda _, steps, to: (to, steps + 1)).concat(begun).min())


ROADS: Steps = [
    (1, ("start", "a", 1)),
    (1, ("edges", ("a", "b"), 1)),
    (1, ("edges", ("b", "c"), 1)),
    (1, ("edges", ("c", "d"), 1)),
    (2, ("edges", ("a", "c"), 1)),
    (3, ("edges", ("b", "c"), -1)),
    (4, ("edges", ("a", "c"), -1)),
]


def lesson_5() -> None:
    """5. Loops, and a road that is closed.

    `iterate` applies its body to its own result until that no longer changes. The distance to a place is the least
    distance of a neighbour, plus one. On day 2 a shorter road is opened. On day 3 a road is closed that is on no
    shortest path, and nothing changes. On day 4 no path is left to c and d.

    To add a road is easy. The test is to close one: c and d must not keep each other reachable. They do not, because
    each round keeps its own results and retracts exactly those.
    """
    show(maintain(distances), ROADS)
    # | day 1: ('a', 0) 1
    # | day 1: ('b', 1) 1
    # | day 1: ('c', 2) 1
    # | day 1: ('d', 3) 1
    # | day 2: ('c', 1) 1
    # | day 2: ('c', 2) -1
    # | day 2: ('d', 2) 1
    # | day 2: ('d', 3) -1
    # | day 4: ('c', 1) -1
    # | day 4: ('d', 2) -1


def lesson_6() -> None:
    """6. A loop that does not end.

    Without `min`, each place would get another distance in every round, because a circle has no end. The error for this
    mistake names the loop's line and a record that still changes.
    """

    def lost(edges: Edges, start: Collection[str]) -> Distances:
        begun = start.map(first)
        return begun.iterate(
            lambda found: found.join(edges, lambda _, steps, to: (to, steps + 1)).concat(begun), rounds=50
        )

    try:
        show(maintain(lost), [(1, ("start", "a", 1)), (1, ("edges", ("a", "b"), 1)), (1, ("edges", ("b", "a"), 1))])
    except DivergenceError as exc:
        print(type(exc).__name__)
        say(str(exc).partition("at ")[0] + "... " + str(exc).partition(" still ")[2])
    # | DivergenceError
    # | the iteration ... changes after 50 rounds: ('b', 51), for example. Make its body converge, for example with
    # |   min() or distinct(), or allow more with rounds=


def lesson_7() -> None:
    """7. Why is this record here?

    A record of the output depends on records of the input. `explain` finds a sufficient set of them from which none can
    be left out: of the roads, the three that put d at three steps.
    """
    roads = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("x", "d")]
    print(explain(distances, {"edges": roads, "start": ["a"]}, ("d", 3)))
    # | {'edges': [('a', 'b'), ('b', 'c'), ('c', 'd')], 'start': ['a']}


Nodes = Collection[tuple[Location, Location, Summary]]
Wires = Collection[tuple[Location, Location]]
Reach = Collection[tuple[Location, Hashable]]


def least(_: Any, values: Mapping[Any, int]) -> Iterable[Any]:
    """Return the minimal values: those that no other value is before."""
    return minimal(values)


def frontier(nodes: Nodes, edges: Wires, times: Reach) -> Reach:
    """Compute the earliest times that can come to each place of a dataflow: the second query of 003."""
    through = nodes.map(lambda node: (node[0], (node[1], node[2])))
    along = edges.map(lambda edge: (edge[0], (edge[1], IDENTITY)))
    transitions = through.concat(along)

    def onward(reach: Reach) -> Reach:
        moved = transitions.join(reach, lambda _, step, time: (step[0], step[1].results_in(time)))
        return moved.filter(lambda there: there[1] is not None).concat(times).reduce(least)

    return times.iterate(onward)


def summarize(nodes: Nodes, edges: Wires, ends: Collection[Location]) -> Collection[Any]:
    """Compute the minimal changes of a time from each place to each of the ends: the third query of 003."""
    back = nodes.map(lambda node: (node[1], (node[0], node[2])))
    transitions = back.concat(edges.map(lambda edge: (edge[1], (edge[0], IDENTITY))))
    trivial = ends.map(lambda end: (end, (end, IDENTITY)))

    def longer(paths: Collection[Any]) -> Collection[Any]:
        joined = transitions.join(paths, lambda _, step, path: ((step[0], path[0]), step[1].followed_by(path[1])))
        known = trivial.map(lambda path: ((path[0], path[1][0]), path[1][1]))
        return joined.concat(known).reduce(least).map(lambda path: (path[0][0], (path[0][1], path[1])))

    return trivial.iterate(longer)


def find_cycles(nodes: Nodes, edges: Wires) -> Wires:
    """Find the steps on a cycle on which no time advances: the first query of 003, corrected.

    As published, it keeps the steps that advance instead of the others, and it removes only steps that nothing leads
    to, so steps behind a cycle remain. A step is on a cycle if both of its ends are reached from the same place and,
    with the steps reversed, again: a loop that contains two loops.
    """
    standing = nodes.filter(lambda node: not node[2].strict).map(lambda node: (node[0], node[1]))
    return standing.concat(edges).distinct().iterate(lambda steps: turned(turned(steps)))


def turned(steps: Wires) -> Wires:
    """Return the steps whose ends are reached from the same least place, reversed."""
    begun = steps.flat_map(lambda step: step).distinct().map(lambda place: (place, repr(place)))
    named = begun.iterate(lambda found: found.join(steps, lambda _, name, to: (to, name)).concat(begun).min())
    first = steps.join(named, lambda start, end, name: (end, (start, name)))
    both = first.join(named, lambda end, one, name: (end, one[0], one[1] == name))
    return both.filter(lambda step: step[2]).map(lambda step: (step[0], step[1]))


def lesson_8() -> None:
    """8. The program behind progress tracking, running on progress tracking.

    McSherry describes progress tracking (003) by three programs of collections. They are above, and the second runs
    here, on a system that runs on progress tracking. There is a source, a step that adds 1 to each time, and a way
    back. While the source holds time 3 and a message is in the loop at time 5, what can come to the loop? When the
    source releases its time, only the message in the loop is left. The tracker gives the same answers.
    """
    builder = GraphBuilder()
    begin = builder.add_node("begin", inputs=0, outputs=1)
    loop = builder.add_node("loop", inputs=1, outputs=1, summaries={(0, 0): Delay(1)})
    builder.add_edge(Source(begin), Target(loop))
    builder.add_edge(Source(loop), Target(loop))
    graph = builder.build()
    tracker, place = Tracker(graph), graph.place(Target(loop))
    tracker.observe(place)
    tracker.update(graph.place(Source(begin)), 3, 1)
    tracker.update(place, 5, 1)
    print("the tracker:", tracker.frontier(place))
    tracker.update(graph.place(Source(begin)), 3, -1)
    print("the tracker:", tracker.frontier(place))

    def at_the_loop(nodes: Nodes, edges: Wires, times: Reach) -> Reach:
        return frontier(nodes, edges, times).filter(lambda there: there[0] == Target(loop))

    show(
        maintain(at_the_loop),
        [
            (1, ("nodes", (Target(loop), Source(loop), Delay(1)), 1)),
            (1, ("edges", (Source(begin), Target(loop)), 1)),
            (1, ("edges", (Source(loop), Target(loop)), 1)),
            (1, ("times", (Source(begin), 3), 1)),
            (1, ("times", (Target(loop), 5), 1)),
            (2, ("times", (Source(begin), 3), -1)),
        ],
    )
    # | the tracker: Antichain([3])
    # | the tracker: Antichain([5])
    # | day 1: (Target(node=1, port=0), 3) 1
    # | day 2: (Target(node=1, port=0), 3) -1
    # | day 2: (Target(node=1, port=0), 5) 1


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
