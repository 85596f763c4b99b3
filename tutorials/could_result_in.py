"""Could-result-in: how a stream program knows that a time is complete.

A chapter to read from top to bottom, and a program to run: `python -m tutorials.could_result_in`. It takes one small
loop and answers the same question about it four times, each time with better tools:

1. by hand, from what the nodes do: the relation could-result-in of the model (`timely.theory.model`);
2. along its paths: summaries, and the normal form of paths through loops (`LoopSummary`);
3. by three queries, plain fixpoints over sets (`timely.theory.queries`);
4. by the tracker, which keeps the answers up to date while the program runs (`Tracker`).

The question is always: *something is here, at this time; can a message still come there, at that time?* If nothing
anywhere can lead there any more, the time is complete there, and whoever waited for it may act: publish a day's sum,
commit a batch.
"""

from typing import Any

from timely import (
    ENTER,
    FEEDBACK,
    LEAVE,
    CycleError,
    Graph,
    GraphBuilder,
    LoopSummary,
    LoopTime,
    Source,
    Summary,
    Target,
)
from timely.theory import CheckedTracker, compare_words, model
from timely.theory.queries import describe, find_cycles, frontier, summarize


def chapter(title: str) -> None:
    """Print a heading."""
    print(f"\n{title}\n{'-' * len(title)}")


# --- 1. By hand ------------------------------------------------------------------------------------------------------
#
# Two nodes and a loop between them:
#
#     in ──> body ──> out          `body` hands every message on, outward and round the loop, at its own time.
#            ^  │                  `again` sends it back one step later.
#          b │  │ a
#           again
#
# A *pointstamp* is a place (a node or an edge) and a time: a message on edge `a` at time 1 is the pointstamp (a, 1).
# One step of computation leads from a node to one of its outgoing edges; that is all we have to say about the nodes.
# The rest follows: a message on an edge may cause an event at the edge's destination at the same time, an event may
# cause what it may cause later too, and a chain of steps that visits no place twice is a proof.

TIMES = (0, 1, 2)

LOOP = model.ModelGraph(
    nodes=("body", "again"),
    edges=(
        model.Edge("in", destination="body"),
        model.Edge("a", "body", "again"),
        model.Edge("b", "again", "body"),
        model.Edge("out", "body"),
    ),
)


def what_the_nodes_do(advance: int) -> model.Program:
    """Give the loop its nodes; `again` sends every message back `advance` steps later, until times run out."""
    return model.Program(
        LOOP,
        {
            "body": model.relation_node({t: [("a", t), ("out", t)] for t in TIMES}),
            "again": model.relation_node({t: [("b", t + advance)] for t in TIMES if t + advance in TIMES}),
        },
        TIMES,
    )


def by_hand() -> model.CouldResultIn:
    """Work out could-result-in for the loop, and look at it."""
    chapter("1. Could-result-in, by hand")
    program = what_the_nodes_do(advance=1)
    leads = model.CouldResultIn(LOOP, TIMES, model.one_steps(program))
    print(f"{len(leads.steps)} single steps, for instance {min(leads.steps)}")

    # The table of the relation towards the output: a row for each place, the times there, and what they still lead to.
    for place in LOOP.locations:
        least = {
            t: min((u for u in TIMES if leads(model.Pointstamp(place, t), model.Pointstamp("out", u))), default=None)
            for t in TIMES
        }
        print(f"  {place:>5} at {list(least)} could result in `out` from {list(least.values())} on")

    # A message at (a, 1) has to go round before it can come out: a, again, b, body, out. Five places, a proof of length
    # 5.
    lengths = model.proof_lengths(leads, model.Pointstamp("a", 1), model.Pointstamp("out", 2))
    print(f"(a, 1) could result in (out, 2): a proof visits {min(lengths)} places")
    print(f"(a, 1) could result in (out, 1): {leads(model.Pointstamp('a', 1), model.Pointstamp('out', 1))}")

    # Clock is everything that what is pending could still result in. Outside it, times are complete.
    clock = leads.unmask(leads.close_up(leads.mask([model.Pointstamp("a", 1)])))
    complete = [t for t in TIMES if model.Pointstamp("out", t) not in clock]
    print(f"with one message pending, at (a, 1), complete at `out` are the times {complete}")
    return leads


def into_the_past() -> model.CouldResultIn:
    """Show what goes wrong when a node sends into the past of what it has already seen."""
    # Condition 2 wants that a node cannot reach its own incoming edge at an earlier time. Let `again` send *back* in
    # time and follow an event at 1 at `body`: it leads to `again` at 1, and that leads to `body` at 0; but `body` at 1
    # does not lead to `body` at 0, for a proof may not visit a place twice. So the relation is no longer transitive
    # (Theorem 1 says: exactly then), and completions announced by looking one proof ahead would be taken back.
    leads = model.CouldResultIn(LOOP, TIMES, model.one_steps(what_the_nodes_do(advance=-1)))
    broken = model.intransitive(leads)
    assert broken is not None
    print("if `again` went back in time instead:", " then ".join(f"({x}, {t})" for x, t in broken))
    print(f"  each could result in the next, but the first in the last: {leads(broken[0], broken[2])}")
    print(f"  Condition 2 fails at {model.condition_2(leads)}")
    return leads


# --- 2. Along the paths ----------------------------------------------------------------------------------------------
#
# Relations over all times do not scale: there are too many times. But what a path does to a time is simple. Entering a
# loop appends a counter (i), leaving drops it (e), feedback adds one to the last (f). A path is a word of these
# letters, and two rules shorten it:  ie = 1  (in and out again),  fe = e  (what is dropped need not be counted). What
# is left always looks like e^k f^a (i f^b)*: up, feedback at the top, down again.


def along_paths() -> list[Summary]:
    """Spell some paths, see their normal forms, and compare them."""
    chapter("2. Path summaries and their normal form")
    words = ["ie", "fe", "if", "iffe", "ieeiffieeif"]
    forms = [LoopSummary.word(word) for word in words]
    for word, form in zip(words, forms, strict=True):
        print(f"  {word:>12} = {form}")
    now = LoopTime(5, (4, 7))
    print(f"  {now} through eif: {LoopSummary.word('eif').results_in(now)}")

    # One path is at or before another if it never gives a later time. For some pairs neither is: 1 leaves the inner
    # counter alone, eif sets it to 1, which is later than a counter at 0 and earlier than one at 7. So of the paths
    # between two places we keep a *set* of minimal ones, an antichain.
    one, eif, ei = LoopSummary(), LoopSummary.word("eif"), LoopSummary.word("ei")
    print(f"  1 <= eif: {one <= eif},  eif <= 1: {eif <= one}")

    # Spelling decides (e after f after i, as in a dictionary) only if whoever leaves a loop and comes back passes a
    # feedback at the top of its way. Without one the dictionary is wrong: it puts ei after 1, though ei <= 1 always.
    print(f"  ei <= 1: {ei <= one}, though `ei` comes after `` in the dictionary")
    there, round_again = LoopSummary(feedback=1), LoopSummary(leaves=1, feedback=1, enters=(0,))
    print(f"  f before efi, as words: {compare_words(there, round_again) < 0}")
    return forms


# --- 3. By query -----------------------------------------------------------------------------------------------------
#
# The same loop for a real program: a source outside, a loop that is entered and left, a sink outside. Places are now
# the ports of the nodes, a target where messages arrive, a source where they leave, and inside a node stands a summary.
#
#     numbers ──> enter ──> body ──> leave ──> sink
#                           ^  │
#                        feedback


def a_program(*, counting: bool = True) -> tuple[Graph, dict[str, int]]:
    """Build the loop; without `counting` its feedback hands messages back at the time they came."""
    builder = GraphBuilder()
    numbers = builder.add_node("numbers", 0, 1)
    enter = builder.add_node("enter", 1, 1, {(0, 0): ENTER})
    body = builder.add_node("body", 1, 1)
    back = builder.add_node("feedback", 1, 1, {(0, 0): FEEDBACK} if counting else None)
    leave = builder.add_node("leave", 1, 1, {(0, 0): LEAVE})
    sink = builder.add_node("sink", 1, 0)
    for start, end in ((numbers, enter), (enter, body), (body, back), (back, body), (body, leave), (leave, sink)):
        builder.add_edge(Source(start), Target(end))
    return builder.build(), {"numbers": numbers, "body": body, "feedback": back, "sink": sink}


def by_query() -> None:
    """Ask the three queries: is the loop sound, what can still arrive, and how does each place see the sink?"""
    chapter("3. The three queries")
    graph, at = a_program()
    nodes, edges = describe(graph)

    # First: does every cycle advance time? If one did not, it could make messages at a time for ever, and nothing after
    # it would ever be complete.
    print(f"cycles that do not advance: {find_cycles(nodes, edges) or 'none'}")
    try:
        a_program(counting=False)
    except CycleError as error:
        print(f"without counting, the builder refuses: {str(error).split(';')[0]}")

    # Second: given what is pending where, the least times that may still reach each place. Pending are the source's
    # right to produce from 1 on, and one message of epoch 0 that has been round twice.
    pending: list[tuple[Any, Any]] = [(Source(at["numbers"]), 1), (Target(at["feedback"]), LoopTime(0, (2,)))]
    reached = frontier(nodes, edges, pending)
    for name in ("body", "sink"):
        print(f"  may still reach `{name}`: {sorted(reached[Target(at[name])], key=str)}")

    # Third: the least changes of time between each place and the sink. From the feedback the way leads round, then out;
    # the counter gained is forgotten on leaving, so what remains is plain `e`.
    paths = summarize(nodes, edges, [Target(at["sink"])])
    for name, place in (("numbers", Source(at["numbers"])), ("feedback", Target(at["feedback"]))):
        print(f"  from `{name}` to the sink: {sorted(map(str, paths[place, Target(at['sink'])]))}")


# --- 4. By the tracker -----------------------------------------------------------------------------------------------
#
# The queries start from nothing every time. The tracker is told only what changes, and says only what changed. Here is
# a whole little run, move by move: epoch 0 goes round twice and out, epoch 1 goes straight through.


def a_run(at: dict[str, int]) -> list[tuple[str, list[tuple[Any, Any, int]]]]:
    """List the moves of a run: what happened, and which pointstamps came (+1) and went (-1)."""
    numbers, body = Source(at["numbers"]), Target(at["body"])
    back, sink = Target(at["feedback"]), Target(at["sink"])
    return [
        ("the source may produce from 0 on", [(numbers, 0, +1)]),
        ("it sends at 0 and moves on to 1", [(body, LoopTime(0, (0,)), +1), (numbers, 1, +1), (numbers, 0, -1)]),
        ("the message goes round", [(back, LoopTime(0, (0,)), +1), (body, LoopTime(0, (0,)), -1)]),
        ("and comes to the body again", [(body, LoopTime(0, (1,)), +1), (back, LoopTime(0, (0,)), -1)]),
        ("it leaves the loop", [(sink, 0, +1), (body, LoopTime(0, (1,)), -1)]),
        ("the sink is done with it", [(sink, 0, -1)]),
        ("the source ends", [(numbers, 1, -1)]),
    ]


def by_tracker() -> int:
    """Follow the run with the tracker, and compare every frontier with the query's. Gives how many were compared."""
    chapter("4. The tracker")
    graph, at = a_program()
    nodes, edges = describe(graph)
    tracker = CheckedTracker(graph)
    sink = graph.place(Target(at["sink"]))
    tracker.observe(sink)
    pending: list[tuple[Any, Any]] = []
    compared = 0
    for what, changes in a_run(at):
        for location, time, count in changes:
            tracker.update(graph.place(location), time, count)
            if count > 0:
                pending.append((location, time))
            else:
                pending.remove((location, time))
        moved = "moved to" if sink in tracker.propagate() else "stays at"
        print(f"  {what:34} frontier of the sink {moved} {tracker.frontier(sink)}")
        asked = frontier(nodes, edges, pending)
        for place, location in enumerate(graph.locations):
            assert set(tracker.frontier(place)) == asked.get(location, set()), (what, location)
            compared += 1
        # "Why is nothing coming out?" has an answer at every moment: what holds epoch 0 up, and by which way.
        for blocker in tracker.explain(sink, 0):
            print(f"      epoch 0 waits for {graph.name(graph.place(blocker.location))} at {blocker.time}")
    print(f"tracker and query gave the same {compared} frontiers")
    return compared


def against_the_model() -> model.Replayed:
    """Close the circle: record the run, and let the model of part 1 judge the completions that were announced."""
    plan = model.Plan(
        [
            model.Edge("entering", "numbers", "body"),
            model.Edge("round", "body", "feedback"),
            model.Edge("back", "feedback", "body"),
            model.Edge("leaving", "body", "sink"),
            model.Edge("done", "sink"),
        ],
        # In the model it is the edges' sources that change times: numbers enters, feedback counts, the body leaves.
        sends={
            "entering": lambda time: [ENTER.results_in(time)],
            "back": lambda time: [FEEDBACK.results_in(time)],
            "leaving": lambda time: [LEAVE.results_in(time)],
        },
        initial=[("numbers", 0)],
    )
    first, second = LoopTime(0, (0,)), LoopTime(0, (1,))
    run = [
        model.Awaited("done", 0),
        model.Sent("entering", first),
        model.Held("numbers", 1),
        model.Released("numbers", 0),
        model.Sent("round", first),
        model.Taken("entering", first),
        model.Sent("back", second),
        model.Taken("round", first),
        model.Sent("leaving", 0),
        model.Taken("back", second),
        model.Taken("leaving", 0),
        model.Completed("done", 0),
        model.Settled(),
    ]
    judged = model.replay(plan, run)
    print(f"the model allows the run: {judged.ok}, with {judged.completions} completion announced")
    # Announced one move too soon, the same completion is one the model does not allow, and it says why.
    hasty = [*run[:10], run[11], run[10], run[12]]
    (wrong,) = model.replay(plan, hasty).violations
    print(f"one move earlier it would have been {wrong.rule}: {wrong.because}")
    return judged


def main() -> None:
    """Run the chapter."""
    by_hand()
    into_the_past()
    along_paths()
    by_query()
    by_tracker()
    against_the_model()


if __name__ == "__main__":
    main()
