"""By query, and by tracker: how a running program knows which times are complete.

Read this chapter after `could_result_in`: `python -m pullstream learn read 10`. It needs no extra. Afterwards you know
what is behind each `completed` of a run, you can ask a run what it waits for, and you know in which order its events
must be reported.

McSherry expresses progress tracking as three queries (003), each a fixpoint over sets that fits on a page: does every
cycle advance, what may still come, and how does a time change along the way? The queries start from scratch each time.
The tracker answers the second one while a program runs, from the changes since the last answer. At the end we compare
both with the model of the chapter before.

We left out how the tracker works, which the top of `pullstream.timely.tracker` explains, and the case of many
processes, each with a tracker that receives the same updates in some order. `tutorials/literature.md` says where to
read 000 and 003.
"""

from typing import Any

import trio
import trio.testing

import pullstream as ps
from pullstream.timely import (
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    CycleError,
    Graph,
    GraphBuilder,
    Location,
    LoopTime,
    RetreatError,
    Source,
    Summary,
    Target,
    Tracker,
)
from pullstream.timely.theory import find_cycles, frontier, model, summarize
from pullstream.timely.theory.queries import describe
from tutorials.lesson import say, tell


def a_program(*, counting: bool = True) -> tuple[Graph, dict[str, Location]]:
    """Return a loop that is entered and left. Without `counting`, it passes messages back at the same time."""
    builder = GraphBuilder()
    numbers = builder.add_node("numbers", inputs=0, outputs=1)
    enter = builder.add_node("enter", 1, 1, {(0, 0): ENTER})
    body = builder.add_node("body", 1, 1)
    again = builder.add_node("again", 1, 1, {(0, 0): FEEDBACK} if counting else None)
    leave = builder.add_node("leave", 1, 1, {(0, 0): LEAVE})
    sink = builder.add_node("sink", inputs=1, outputs=0)
    for start, end in ((numbers, enter), (enter, body), (body, again), (again, body), (body, leave), (leave, sink)):
        builder.add_edge(Source(start), Target(end))
    places = {"numbers": Source(numbers), "body": Target(body), "again": Target(again), "sink": Target(sink)}
    return builder.build(), places


def the_program() -> None:
    """1. A program in two sets.

    Here is the loop of the chapter before, as a real program: a source outside, a loop that is entered and left, a
    sink.

        numbers ──> enter ──> body ──> leave ──> sink
                              ^  │
                             again

    Places are now the ports of the nodes: a `Target` where messages arrive, a `Source` where they leave. The queries
    need two sets: the summaries inside each node, which say how a time changes from an input to an output, and the
    edges, which do not change it.
    """
    graph, _ = a_program()
    nodes, edges = describe(graph)
    for start, end, summary in sorted(nodes, key=lambda step: step[0].node):
        print(f"{graph.name(graph.place(start))} -> {graph.name(graph.place(end))}: {summary}")
    print(len(edges), "edges")
    # | enter, input -> enter, output: LoopSummary('i')
    # | body, input -> body, output: Identity()
    # | again, input -> again, output: LoopSummary('f')
    # | leave, input -> leave, output: LoopSummary('e')
    # | 6 edges


def cycles() -> None:
    """2. First query: does every cycle advance?

    If a message could come back at the time at which it left, it might go round forever, and no later time would be
    complete. So each cycle as a whole must contain an f in its outermost loop: then messages come back later. The query
    collects the shapes of all paths and returns the steps on cycles that do not advance. The graph builder runs it too,
    and names the cycle.
    """
    graph, _ = a_program()
    print(find_cycles(*describe(graph)))
    try:
        a_program(counting=False)
    except CycleError as error:
        say(error)
    # | set()
    # | this cycle does not strictly advance time: body, output -> again, input -> again, output -> body, input ->
    # |   body, output; within its strongly connected component (again, input, again, output, body, input, body,
    # |   output) no step of the outermost loop context is strict: add a feedback or a delay there


def prune(kept: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Remove steps that no step leads to, until none is left to remove."""
    while True:
        left = {(start, end) for start, end in kept if any(there == start for _, there in kept)}
        if left == kept:
            return kept
        kept = left


def as_published() -> None:
    """3. The query as it was published.

    The text of 003 keeps the connections that differ from the identity, although its prose means the others. Then it
    drops steps that nothing leads to, and says that the remaining steps lie on a cycle. Below are a correct loop, from
    a to b and back, an incorrect one at c, and a step behind it. As published, the query reports only the correct loop.
    If it keeps the other connections, it also reports d, which is on no cycle. The toolkit's query looks at cycles as a
    whole.
    """
    steps: set[Any] = {("a", "b", FEEDBACK), ("b", "a", FEEDBACK), ("c", "c", IDENTITY), ("c", "d", IDENTITY)}
    print(sorted(prune({(start, end) for start, end, summary in steps if summary != IDENTITY})))
    print(sorted(prune({(start, end) for start, end, summary in steps if summary == IDENTITY})))
    print(sorted(find_cycles(steps, set())))
    # | [('a', 'b'), ('b', 'a')]
    # | [('c', 'c'), ('c', 'd')]
    # | [('c', 'c')]


def what_may_come() -> None:
    """4. Second query: what may still come?

    Given the pending times and their places, this query computes the earliest times that may still reach each place.
    Here the source has the right to send from 1 on, and one message of 0 has been round the loop twice. Two times may
    come to the body, neither before the other. Only 0 may come to the sink: once the message leaves the loop its rounds
    are dropped, and 1 comes after 0.
    """
    graph, at = a_program()
    pending: list[tuple[Location, Any]] = [(at["numbers"], 1), (at["again"], LoopTime(0, (2,)))]
    reached = frontier(*describe(graph), pending)
    for name in ("body", "again", "sink"):
        print(f"to {name}: {sorted(reached[at[name]], key=str)}")
    # | to body: [LoopTime(0, (3,)), LoopTime(1, (0,))]
    # | to again: [LoopTime(0, (2,)), LoopTime(1, (0,))]
    # | to sink: [0]


def on_the_way() -> None:
    """5. Third query: how does a time change along the way?

    This query computes the minimal changes of time between each place and the sink. From `again` the path goes round
    and then out. The counter it gained is dropped on leaving, so the summary is e. With these summaries the tracker
    need not walk the graph: it applies e to a time at `again` and has the time at the sink. So a whole graph can be
    treated as one node, by the change of a time from its entry to its exit: here, entering and leaving again is 1.
    """
    graph, at = a_program()
    found = summarize(*describe(graph), [at["sink"]])

    def spelled(summary: Summary) -> str:
        return getattr(summary, "letters", "1")

    for name in ("numbers", "body", "again"):
        print(f"from {name}: {[spelled(summary) for summary in found[at[name], at['sink']]]}")
    # | from numbers: ['1']
    # | from body: ['e']
    # | from again: ['e']


Updates = list[tuple[str, Any, int]]

MOVES: list[tuple[str, Updates]] = [
    ("the source may send from 0 on", [("numbers", 0, +1)]),
    ("it sends at 0 and moves on to 1", [("body", LoopTime(0, (0,)), +1), ("numbers", 1, +1), ("numbers", 0, -1)]),
    ("the message goes round", [("again", LoopTime(0, (0,)), +1), ("body", LoopTime(0, (0,)), -1)]),
    ("and comes to the body again", [("body", LoopTime(0, (1,)), +1), ("again", LoopTime(0, (0,)), -1)]),
    ("it leaves the loop", [("sink", 0, +1), ("body", LoopTime(0, (1,)), -1)]),
    ("the sink is done with it", [("sink", 0, -1)]),
    ("the source ends", [("numbers", 1, -1)]),
]


def by_tracker() -> None:
    """6. The tracker.

    The queries start from scratch. The tracker is notified of changes: +1 for a new message or right at a place, -1 for
    one that is gone. `propagate` adds them up and returns the observed places whose frontier has changed. Here is a
    whole little run. 0 is complete at the sink when the sink has processed it, and not before. The frontier then moves
    to 1 at once, although 0 had to go round.
    """
    graph, at = a_program()
    tracker, sink = Tracker(graph), graph.place(at["sink"])
    tracker.observe(sink)
    for what, updates in MOVES:
        for name, time, change in updates:
            tracker.update(graph.place(at[name]), time, change)
        moved = sink in tracker.propagate()
        print(f"{what}: {'now' if moved else 'still'} {list(tracker.frontier(sink))}")
    # | the source may send from 0 on: now [0]
    # | it sends at 0 and moves on to 1: still [0]
    # | the message goes round: still [0]
    # | and comes to the body again: still [0]
    # | it leaves the loop: still [0]
    # | the sink is done with it: now [1]
    # | the source ends: now []


def what_holds_it_up() -> None:
    """7. Why is nothing coming out?

    A time that is not complete is always held back by something: a message or a right to send that has a path to the
    place. The tracker can name it at any moment. After three moves it is the message in the loop.
    """
    graph, at = a_program()
    tracker, sink = Tracker(graph), graph.place(at["sink"])
    for _, updates in MOVES[:3]:
        for name, time, change in updates:
            tracker.update(graph.place(at[name]), time, change)
    tracker.propagate()
    for blocker in tracker.explain(sink, 0):
        print(f"0 waits for {graph.name(graph.place(blocker.location))} at {blocker.time}")
    # | 0 waits for again, input at LoopTime(0, (0,))


def half_a_move() -> None:
    """8. All or nothing.

    "It sends at 0 and moves on to 1" is three updates, but one move. Between two calls of `propagate` their order does
    not matter, because only sums count. But if `propagate` runs in the middle of a move, when the old right is gone and
    the message is not there yet, everything is complete, and the other half revokes that. By then, code that waited has
    acted. So a move must be reported at once. If it travels in parts, the additions must be reported first: then a
    time stays open a little longer than necessary, which is harmless.
    """
    graph, at = a_program()
    tracker, sink = Tracker(graph), graph.place(at["sink"])
    tracker.observe(sink)
    tracker.update(graph.place(at["numbers"]), 0, +1)
    tracker.propagate()
    sent, new_right, old_right = MOVES[1][1]
    try:
        for name, time, change in (old_right, new_right, sent):
            tracker.update(graph.place(at[name]), time, change)
            tracker.propagate()
            print(f"{name} {change:+}: {list(tracker.frontier(sink))}")
    except RetreatError as error:
        say(error)
    # | numbers -1: []
    # | the frontier at sink, input moved back: 1 is possible again after Antichain(); some place upstream claimed a
    # |   time it had given up


def the_same() -> None:
    """9. Query and tracker agree.

    The tracker maintains what the query computes. After each of the seven moves we compare every frontier, at all ten
    ports; the project's tests do the same with random graphs and moves. There is also a third way: the queries are
    programs of collections, which `pullstream.incremental` keeps up to date while the graph is edited and pointstamps
    come and go. Chapter 16 has all three queries and runs the second.
    """
    graph, at = a_program()
    tracker = Tracker(graph)
    pending: list[tuple[Location, Any]] = []
    compared = 0
    for _, updates in MOVES:
        for name, time, change in updates:
            tracker.update(graph.place(at[name]), time, change)
            pending.append((at[name], time)) if change > 0 else pending.remove((at[name], time))
        tracker.propagate()
        asked = frontier(*describe(graph), pending)
        for place, location in enumerate(graph.locations):
            compared += set(tracker.frontier(place)) == asked.get(location, set())
    print(compared, "of", len(MOVES) * len(graph), "the same")
    # | 70 of 70 the same


PLAN = model.Plan(
    [
        model.Edge("entering", "numbers", "body"),
        model.Edge("round", "body", "again"),
        model.Edge("back", "again", "body"),
        model.Edge("leaving", "body", "sink"),
        model.Edge("done", "sink"),
    ],
    # In the model the node before an edge changes the time: numbers enters, again counts, the body leaves.
    sends={
        "entering": lambda time: [ENTER.results_in(time)],
        "back": lambda time: [FEEDBACK.results_in(time)],
        "leaving": lambda time: [LEAVE.results_in(time)],
    },
    initial=[("numbers", 0)],
)

RUN = [
    model.Awaited("done", 0),
    model.Together((model.Sent("entering", LoopTime(0, (0,))), model.Held("numbers", 1), model.Released("numbers", 0))),
    model.Together((model.Sent("round", LoopTime(0, (0,))), model.Taken("entering", LoopTime(0, (0,))))),
    model.Together((model.Sent("back", LoopTime(0, (1,))), model.Taken("round", LoopTime(0, (0,))))),
    model.Together((model.Sent("leaving", 0), model.Taken("back", LoopTime(0, (1,))))),
    model.Taken("leaving", 0),
    model.Completed("done", 0),
]


def judged() -> None:
    """10. The model judges a run.

    A recorded run is a list of events. For each completion, the model of the chapter before decides whether it was
    allowed: whether it is outside Clock (000, Theorem 2). The model contains no queries and no trackers. It allows this
    run. It does not allow the same completion one move earlier, and says what was pending. Every run with `trace=` is
    judged in this way: the last line of its trace is the verdict.
    """
    print(model.replay(PLAN, RUN).violations)
    *before, last, completed = RUN
    (wrong,) = model.replay(PLAN, [*before, completed, last]).violations
    print(f"{wrong.rule}: {wrong.because}")
    # | []
    # | too early: still pending: 0 at 'leaving'


def of_a_run() -> None:
    """11. Ask a run.

    Every run of `pullstream` has such a graph and such a tracker, with a node for each module. Asking, answering and
    holding are its moves; a loop is a graph inside a graph, with an entry and an exit. `completed` waits for a frontier
    to pass a time, and `explain` names what holds it back, with the path from there. Below, a number is halved, round a
    loop, until it is odd; each turn takes a second. After a second and a half 12 is in its second round, as 6.
    """

    async def halved(number: int) -> int | ps.Again[int]:
        await trio.sleep(1)
        return number if number % 2 else ps.Again(number // 2)

    async def run() -> None:
        pipeline = ps.pipe(ps.values([12], time=lambda _: 0), ps.loop(ps.map_async(halved, 1)), ps.drain())
        async with pipeline.open() as running, trio.open_nursery() as nursery:
            nursery.start_soon(running.result)
            await trio.sleep(1.5)
            for blocking in running.progress.explain(0):
                print(f"{trio.current_time():g} 0 waits:", blocking)
            await running.progress.completed(0)
            print(f"{trio.current_time():g} 0 is complete")

    trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))
    # | 1.5 0 waits: map_async has not acknowledged a batch at LoopTime(0, (1,)) -> loop egress -> loop -> drain
    # | 3 0 is complete


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
