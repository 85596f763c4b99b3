"""The model: all that could happen, and what has.

A chapter after `could_result_in` and `when_is_it_done`: `python -m pullstream learn read 13`. It needs no extra. When
you have read it, you can say of a node whether a completion may be relied upon below it, and have a run judged.

That a time is complete says something of the future: *no* message will come, in whichever order things happen from now
on. No test that runs a program once can show it. 000 proves it instead, for a model; and of that this project has a
program, `pullstream.timely.theory.model`: small, slow, by the definitions, and without a line in common with what runs.
It does two things for us. Of a small program it goes through everything that could happen; of a large one it judges
what has.
"""

import io
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Any, cast

import pullstream as ps
from pullstream.timely.theory.model import (
    Awaited,
    Completed,
    CouldResultIn,
    Edge,
    Event,
    Explorer,
    Held,
    Machine,
    Message,
    ModelGraph,
    Node,
    Notified,
    Plan,
    Program,
    Reaction,
    Received,
    Released,
    Sent,
    Settled,
    State,
    Taken,
    condition_1,
    condition_2,
    new_requests,
    one_steps,
    replay,
)
from pullstream.timely.theory.model.properties import Watched, theorem_2, watch, watched_steps
from pullstream.timely.theory.model.record import RunEvent
from pullstream.trace import Trace, judge
from tutorials.lesson import tell

TIMES = (0, 1, 2)


def bell(state: Hashable, event: Event) -> Reaction:
    """Ask to be told of each time at which something comes; when told, say that it is over."""
    if isinstance(event, Received):
        return Reaction(state, requests=frozenset({event.time}))
    return Reaction(state, sends={"out": (Message(event.time, "over"),)})


def in_the_past(state: Hashable, event: Event) -> Reaction:
    """The same, but it asks for the time before."""
    if isinstance(event, Received):
        return Reaction(state, requests=frozenset({max(0, cast("int", event.time) - 1)}))
    return bell(state, event)


def alone(react: Callable[[Hashable, Event], Reaction]) -> Machine:
    """The machine of a program of one node, with an edge into it and one out of it."""
    graph = ModelGraph(("node",), (Edge("in", destination="node"), Edge("out", "node")))
    program = Program(graph, {"node": Node(frozenset({(None, frozenset[Any]())}), react)}, TIMES)
    return Machine(program, CouldResultIn(graph, TIMES, one_steps(program)), reordering=True)


def begin(machine: Machine, *times: int) -> State:
    """The state in which messages at these times wait in front of the node."""
    (start,) = machine.initial({"in": [Message(time) for time in times]})
    return start


def told(action: Any) -> str:
    """What happens in a step, shortly."""
    return f"{type(action).__name__} {action.event.time if hasattr(action, 'event') else action.message.time}"


def a_node() -> None:
    """1. A node is a function.

    All that a node is in the model is a function, which 000 calls g1: of its state and an event to its next state, the
    times at which it asks to be told, and the messages that it sends. There are two kinds of events: a message was
    received, or a time is complete. You know them: they are the two cases of `match event:`, and what a generator does
    between two events is one step. Nothing else is in it; no clock, no task, no chance. What is left to chance is which
    event comes next.
    """
    print(bell(None, Received("in", Message(1, "tea"))).requests)
    print(bell(None, Received("in", Message(1, "tea"))).sends)
    print(bell(None, Notified(1)).sends)
    # | frozenset({1})
    # | {}
    # | {'out': (Message(time=1, body='over'),)}


def a_machine() -> None:
    """2. A program is a machine.

    With its graph and its nodes a program is a machine: a state is what waits on each edge, the state of each node, and
    what each has asked for. From a state several steps may be possible. Here two messages wait, at 1 and at 0, and
    either may be taken first (`Receive`). When both are taken, either time may be told (`Notify`). A message on its way
    out may be taken by whoever is outside (`Outp`). A time is not told as long as *Clock* contains it, which is all
    that could still result from what is there; a machine has no tracker, and looks at the definition each time.
    """
    machine = alone(bell)
    state = begin(machine, 1, 0)
    while steps := list(machine.steps(state)):
        print(", ".join(told(action) for action, _ in steps))
        _, state = steps[-1]
    # | Receive 1, Receive 0
    # | Receive 1, Notify 0
    # | Receive 1, Outp 0
    # | Receive 1
    # | Notify 1
    # | Outp 1


def everything() -> None:
    """3. Everything that could happen.

    So one can go through all of it: every order of every step, until nothing is possible any more. `Explorer` does, and
    below it finds, for four messages, each state that the program can be in. In each we look for what Theorem 2 of 000
    says there is not: a message on an edge, at a time which at some moment before was complete there. `Watched` is a
    state together with all that has been complete. The program may be small; the answer is no sample.
    """
    machine = alone(bell)
    start = watch(machine, begin(machine, 1, 0, 1, 2))
    all_of_it = Explorer([start], lambda watched: watched_steps(machine, watched), depth=50)
    broken = [step for step in all_of_it if theorem_2(machine, step.after)]
    print(f"{all_of_it.states} states, {all_of_it.transitions} steps, all of it: {all_of_it.complete}")
    print(f"states in which something came too late: {len(broken)}")
    # | 56 states, 121 steps, all of it: True
    # | states in which something came too late: 0


def into_the_past() -> None:
    """4. What must not be.

    The theorem has two conditions: a node asks for nothing (1), and sends nothing to itself, round a loop (2), in the
    past of what it was given. Here is a node that breaks the first: with a message of 1 in its hands it asks to be told
    of 0, at which nothing came. It is told, and says so, at 0. But 0 had been complete on the edge out: before, nothing
    was there that could lead to 0. Whoever had closed its books then gets a message for them. The explorer finds it in
    two steps, and shows the way.

    In the toolkit neither can happen. R12 refuses an answer in the past, `ctx.notify_at` a time that is complete, and
    a loop's `Again` is one round later.
    """
    machine = alone(in_the_past)
    print("Condition 1 is broken by", condition_1(new_requests(machine.program), TIMES))
    print("Condition 2 is broken by", condition_2(machine.leads))
    start = watch(machine, begin(machine, 1))
    came_from: dict[Watched, tuple[Any, Watched]] = {}
    for step in Explorer([start], lambda watched: watched_steps(machine, watched), depth=50):
        came_from.setdefault(step.after, (step.action, step.before))
        if found := theorem_2(machine, step.after):
            way: list[str] = []
            watched = step.after
            while watched != start:
                action, watched = came_from[watched]
                way.insert(0, told(action))
            print(" -> ".join(way), "and there is", found[0])
            break
    # | Condition 1 is broken by Request(node='node', time=1, requested=0)
    # | Condition 2 is broken by None
    # | Receive 1 -> Notify 0 and there is Pointstamp(location='out', time=0)


PLAN = Plan([Edge("in", "till", "count"), Edge("out", "count")], initial=[("till", 0)])
"""A till that may sell from 0 on, and a count of what it sells."""

DAY: list[RunEvent] = [
    Sent("in", 0),  # a sale of day 0
    Held("count", 0),  # the count keeps the right to answer at 0,
    Awaited("in", 0),  # and asks to be told when no more can come
    Taken("in", 0),  # it asks for more: the sale has been dealt with
    Held("till", 1),  # the till goes on to day 1,
    Released("till", 0),  # so that nothing more of day 0 can come out of it
    Completed("in", 0),  # the count is told,
    Sent("out", 0),  # answers,
    Released("count", 0),  # and has nothing more to say at 0
    Taken("out", 0),
    Settled(),  # nothing more happens by itself
]
"""What has happened in a run, in the words of the model."""


def your_own_run() -> None:
    """5. A run, judged.

    Most programs are too large to go through everything that they could do. But what one of them *has* done can be
    written down: which batch went onto which edge, who held what, what was announced as complete. `replay` goes through
    the record with the definitions at hand, works out Clock before and after each event, and says what the model does
    not allow. `DAY`, above, it allows. Then, in the second line, day 0 is announced one move too early; in the third,
    the till lets go of 0 before it holds 1, and 1 comes from nothing; in the last, nobody tells the count, though
    nothing more can happen.
    """
    print(replay(PLAN, DAY).ok)
    early = [*DAY[:5], DAY[6], DAY[5], *DAY[7:]]
    lapsed = [*DAY[:4], DAY[5], DAY[4], *DAY[6:]]
    withheld = [*DAY[:6], Settled()]
    for record in (early, lapsed, withheld):
        wrong = replay(PLAN, record).violations[0]
        print(f"event {wrong.index}, {wrong.event}: {wrong.rule}: {wrong.because}")
    # | True
    # | event 5, Completed(location='in', time=0): too early: still pending: 0 at 'till'
    # | event 5, Held(node='till', time=1): from nothing: nothing pending leads to 1 at 'till'
    # | event 6, Settled(): withheld: 0 is complete at 'in', and this wait was not told


@ps.transformer
async def count(upstream: ps.Reader[tuple[int, str]], ctx: ps.Context) -> AsyncIterator[ps.Batch[int]]:
    """How many there are at each time, when it is complete."""
    sold = Counter[Any]()
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, items):
                ctx.notify_at(time)
                sold[time] += len(items)
            case ps.Completed(time):
                yield ps.Batch(time, [sold[time]])


def traces() -> None:
    """6. Every traced run.

    You need not write it down yourself. `run(..., trace=PATH)` does, all of it, and has the model judge it; the verdict
    is the last line of the file, and `python -m pullstream view PATH` makes a page of it, to step through. A trace can
    be judged again by anybody, by what it says and nothing else. Below we let one tell twice that the same batch was
    dealt with, and the event is found. (It counts no completions, for nobody waits by `completed` here; `count` is told
    by the frontier of its input, and every frontier in the trace is compared with the model's.) The tests of this
    project have the model judge thousands of random programs, and the runs of all these chapters.
    """
    file = io.StringIO()
    sales = ps.values([(0, "tea"), (0, "rice"), (1, "tea")], time=lambda sale: sale[0])
    result: ps.Sink[int, list[int]] = ps.collect()
    print(ps.run(ps.pipe(sales, count(), result), limit=1, trace=file))
    lines = file.getvalue().splitlines()
    print(judge(Trace.of(lines)))

    number = max(number for number, line in enumerate(lines) if line.endswith('"stamps",[[1,0,-1]]]'))
    lines[number] = lines[number].replace("-1]", "-2]")
    print(judge(Trace.of(lines)).objections[0])
    # | [2, 1]
    # | allowed by the model: 42 events, 0 completions
    # | event 15: not there: nothing at 0 is pending at 'values out > count in #0'


def main() -> None:
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
