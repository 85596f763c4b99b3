"""The model: everything that could happen, and what did.

Read this chapter after `could_result_in` and `when_is_it_done`: `python -m pullstream learn read 13`. It needs no
extra. Afterwards you can say whether completions downstream of a node are reliable, and have a run judged.

That a time is complete is a statement about the future: *no* message will come, in whatever order things happen from
now on. A test that runs a program once cannot show this. 000 proves it instead, for a model. This project has that
model as a program, `pullstream.timely.theory.model`: small, slow, close to the definitions, and without a line in
common with the engine. It serves two purposes. For a small program it explores everything that could happen; for a
large one it judges what did happen.
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
    """Request a notification for each time at which a message arrives; when notified, send that it is over."""
    if isinstance(event, Received):
        return Reaction(state, requests=frozenset({event.time}))
    return Reaction(state, sends={"out": (Message(event.time, "over"),)})


def in_the_past(state: Hashable, event: Event) -> Reaction:
    """Do the same as `bell`, but request the time before."""
    if isinstance(event, Received):
        return Reaction(state, requests=frozenset({max(0, cast("int", event.time) - 1)}))
    return bell(state, event)


def alone(react: Callable[[Hashable, Event], Reaction]) -> Machine:
    """Return the machine of a program with one node, one edge into it and one out of it."""
    graph = ModelGraph(("node",), (Edge("in", destination="node"), Edge("out", "node")))
    program = Program(graph, {"node": Node(frozenset({(None, frozenset[Any]())}), react)}, TIMES)
    return Machine(program, CouldResultIn(graph, TIMES, one_steps(program)), reordering=True)


def begin(machine: Machine, *times: int) -> State:
    """Return the state in which messages at these times wait in front of the node."""
    (start,) = machine.initial({"in": [Message(time) for time in times]})
    return start


def short(action: Any) -> str:
    """Describe a step in short."""
    return f"{type(action).__name__} {action.event.time if hasattr(action, 'event') else action.message.time}"


def a_node() -> None:
    """1. A node is a function.

    In the model a node is just a function, which 000 calls g1. It maps a state and an event to the next state, the
    times at which the node requests a notification, and the messages that it sends. There are two kinds of events: a
    message was received, or a time is complete. You know them as the two cases of `match event:`; the code of a
    generator between two events is one step. The model has no clock, no tasks and no randomness. Only the choice of the
    next event is open.
    """
    print(bell(None, Received("in", Message(1, "tea"))).requests)
    print(bell(None, Received("in", Message(1, "tea"))).sends)
    print(bell(None, Notified(1)).sends)
    # | frozenset({1})
    # | {}
    # | {'out': (Message(time=1, body='over'),)}


def a_machine() -> None:
    """2. A program is a machine.

    A program, with its graph and its nodes, is a machine. A state consists of the messages on each edge, the state of
    each node, and the requests of each node. Several steps may be possible from one state. Here two messages wait, at 1
    and at 0, and either may be taken first (`Receive`). When both are taken, either time may be notified (`Notify`). A
    message on its way out may be taken by the outside (`Outp`). A time is not notified while *Clock* contains it: the
    set of all that could still result from the pending messages and requests. A machine has no tracker; it evaluates
    the definition each time.
    """
    machine = alone(bell)
    state = begin(machine, 1, 0)
    while steps := list(machine.steps(state)):
        print(", ".join(short(action) for action, _ in steps))
        _, state = steps[-1]
    # | Receive 1, Receive 0
    # | Receive 1, Notify 0
    # | Receive 1, Outp 0
    # | Receive 1
    # | Notify 1
    # | Outp 1


def everything() -> None:
    """3. Everything that could happen.

    So we can explore all of it: every order of every step, until no step is possible. `Explorer` does this, and below
    it finds every state that the program can reach with four messages. In each state we look for what Theorem 2 of 000
    excludes: a message on an edge, at a time that was complete there before. `Watched` is a state together with
    everything that has been complete. The program must be small, but the result is not a sample.
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
    """4. What must not happen.

    The theorem has two conditions: a node must not request a time in the past of its input (1), and must not send a
    message to itself, round a loop, in that past (2). This node breaks the first: with a message at 1 as its input, it
    requests a notification at 0, where no message came. It is notified, and sends a message at 0. But 0 had been
    complete on the edge out, because nothing pending could lead to 0. A consumer that has closed its books then
    receives a message for them. The explorer finds this in two steps, and shows the path.

    In the toolkit neither can happen. R12 refuses an answer in the past, `ctx.notify_at` refuses a complete time, and a
    loop's `Again` is one round later.
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
                way.insert(0, short(action))
            print(" -> ".join(way), "and there is", found[0])
            break
    # | Condition 1 is broken by Request(node='node', time=1, requested=0)
    # | Condition 2 is broken by None
    # | Receive 1 -> Notify 0 and there is Pointstamp(location='out', time=0)


PLAN = Plan([Edge("in", "till", "count"), Edge("out", "count")], initial=[("till", 0)])
"""A till that may sell from 0 on, and a count of its sales."""

DAY: list[RunEvent] = [
    Sent("in", 0),  # a sale of day 0
    Held("count", 0),  # the count keeps the right to answer at 0,
    Awaited("in", 0),  # and requests a notification when no more can come
    Taken("in", 0),  # it asks for more: the sale has been processed
    Held("till", 1),  # the till goes on to day 1,
    Released("till", 0),  # so nothing more of day 0 can come out of it
    Completed("in", 0),  # the count is notified,
    Sent("out", 0),  # answers,
    Released("count", 0),  # and gives up its right to 0
    Taken("out", 0),
    Settled(),  # nothing more happens by itself
]
"""The events of a run, in the terms of the model."""


def your_own_run() -> None:
    """5. A run, judged.

    Most programs are too large to explore everything that they could do. But you can record what a program *did*: which
    batch was sent on which edge, what was held, and which completions were announced. `replay` checks such a record
    against the definitions: it computes Clock before and after each event, and reports what the model does not allow.
    It allows `DAY`, above. In the second line below, day 0 is announced one move too early. In the third, the till
    releases 0 before it holds 1, so 1 comes from nothing. In the last, the count is not notified, although nothing more
    can happen.
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
    # | event 6, Settled(): withheld: 0 is complete at 'in', but a wait is not answered


@ps.transformer
async def count(upstream: ps.Reader[tuple[int, str]], ctx: ps.Context) -> AsyncIterator[ps.Batch[int]]:
    """Count the items at each time, when it is complete."""
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

    You need not write the record yourself. `run(..., trace=PATH)` records everything and has the model judge it. The
    verdict is the last line of the file, and `python -m pullstream view PATH` makes a page that you can step through.
    Anyone can judge a trace again, from the file alone. Below we change one trace so that it acknowledges the same
    batch twice, and the model finds the event. (The verdict counts no completions, because no code here waits with
    `completed`; `count` is notified by the frontier of its input, and every frontier in the trace is compared with the
    model's.) The tests of this project have the model judge thousands of random programs, and the runs of all these
    chapters.
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
    # | allowed by the model: 42 events
    # | event 15: not there: nothing at 0 is pending at 'values out > count in #0'


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
