"""Dataflows in dataflows: what a part of a program must report, and what it may claim.

Read this chapter after `by_query_and_tracker`: `python -m pullstream learn read 12`. It needs no extra. Afterwards you
can say, for any part of a program, what the rest must know about it, and whether its reports can be trusted.

Until now a program was flat: modules and edges. But a loop has modules inside, and so has every module that opens
streams of its own, and progress tracking cannot look into each of them. McSherry (004; `tutorials/literature.md` says
where to read it) shows how little they must report. An *operator* is known by its effect on times, and by its reports
on what it has received, sent and held. So a whole dataflow, with its loops, can be a single operator of another
dataflow.
"""

from collections.abc import AsyncIterator, Iterable

import trio
import trio.testing

import pullstream as ps
from pullstream.timely import ENTER, FEEDBACK, IDENTITY, LEAVE, CapabilityError, MutableAntichain, Source, Target
from pullstream.timely.theory import Leaf, Operators, Progress, Subgraph
from pullstream.timely.theory.operate import check_contract
from tutorials.lesson import say, tell


def a_day() -> tuple[Operators, Leaf, Leaf, Leaf]:
    """Return a till, a count and a clerk in a row; the till holds 0, and nothing has happened yet."""
    till, count, clerk = Leaf("till", 0, 1, initial=0), Leaf("count", 1, 1), Leaf("clerk", 1, 0)
    shop = Operators([till, count, clerk], [(Source(0, 0), Target(1, 0)), (Source(1, 0), Target(2, 0))])
    return shop, till, count, clerk


def settle(level: Operators) -> None:
    """Let all operators report and process the effects, until nothing changes."""
    while level.step():
        pass


def may_come(level: Operators, **places: Target) -> None:
    """Print the earliest times that may still come to each place."""
    print(", ".join(f"{name} {list(level.frontier(place))}" for name, place in places.items()))


COUNT, CLERK = Target(1, 0), Target(2, 0)


def what_it_tells() -> None:
    """1. What the rest must know.

    An operator declares once how times change on the way from each input to each output: those of `count`, which counts
    a day's sales, do not change. From then on it reports when asked: the times of the messages it has taken, of those
    it has sent, and of the rights to send (here *capabilities*; in modules, *holds*) that it has gained or given up.
    That is all. It reports neither the content of the messages nor what it does with them.

    Below, the till sends a sale of day 0 and goes on to day 1. So nothing more of day 0 can come out of the till. The
    sale is in flight, and 0 may still come to `count`. Then `count` takes the sale and keeps the right to send the
    day's total. Now day 0 can no longer come to `count`, but it can still come to the clerk.
    """
    shop, till, count, _ = a_day()
    till.send(0, 0)
    till.change(0, 0, -1)
    till.change(0, 1, +1)
    settle(shop)
    may_come(shop, count=COUNT, clerk=CLERK)
    count.take(0, 0)
    count.change(0, 0, +1)
    settle(shop)
    may_come(shop, count=COUNT, clerk=CLERK)
    # | count [0], clerk [0]
    # | count [1], clerk [0]


def nothing_from_nothing() -> None:
    """2. The contract.

    The rest trusts these reports, so there is a contract: nothing comes from nothing. A message that is sent, or a
    capability that is gained, must be at or after a capability that the operator already holds at that output, or at or
    after the time that a taken message becomes there. In the program above, `count` may send the total of day 0 because
    it kept the right. After it has given up the right, it must not send another. The error says what it held and what
    it took, with a list for each input. The published text of 004 leaves out "or already holds one": taken literally, a
    till, which takes no messages, could never sell anything.
    """
    shop, till, count, _ = a_day()
    till.send(0, 0)
    count.take(0, 0)
    count.change(0, 0, +1)
    settle(shop)
    count.send(0, 0)
    count.change(0, 0, -1)
    settle(shop)
    print("the total of day 0 is sent")
    count.send(0, 0)
    try:
        settle(shop)
    except CapabilityError as error:
        say(error)
    # | the total of day 0 is sent
    # | count claims 0 at output 0 from nothing: it held Antichain() there and took [[]]


def all_or_nothing() -> None:
    """3. A report is one change.

    Everything in one report happens at once; no half of it is true by itself. Here `count` reports that it has taken a
    sale of day 0, and only in its next report that it has gained the right to 0. Between the two reports nothing is
    pending at 0, so the clerk is notified that day 0 is complete, which cannot be revoked. So the second report is
    refused. The same holds inside a run: taking a batch and holding its time is one step, and the frontier is never
    read in between.
    """
    shop, till, count, _ = a_day()
    till.send(0, 0)
    till.change(0, 0, -1)
    till.change(0, 1, +1)
    count.take(0, 0)
    settle(shop)
    may_come(shop, clerk=CLERK)
    count.change(0, 0, +1)
    try:
        settle(shop)
    except CapabilityError as error:
        say(error)
    # | clerk [1]
    # | count claims 0 at output 0 from nothing: it held Antichain() there and took [[]]


def search() -> tuple[Subgraph, Leaf]:
    """Return a loop with one operator, `step`, whose second output goes round. The loop is itself an operator."""
    step = Leaf("step", 2, 2)
    back = Leaf("back", 1, 1, {(0, 0): (FEEDBACK,)})
    edges = [
        (Source(0, 0), Target(1, 0)),
        (Source(1, 0), Target(0, 0)),
        (Source(1, 1), Target(2, 0)),
        (Source(2, 0), Target(1, 1)),
    ]
    return Subgraph("search", 1, 1, [step, back], edges, enter=ENTER, leave=LEAVE), step


def an_operator() -> None:
    """4. A dataflow that is an operator.

    `search`, above, is a loop: its operator 1 is `step`, operator 2 takes times to the next round, and 0 is the
    outside. A program that contains it asks the two questions that it asks of any operator. How do times change?
    However often a message goes round, it leaves at the time at which it entered: one summary. What has happened? The
    message that entered was taken. While `step` holds round 3, the subgraph reports a capability, at the time
    outside. When `step` releases it, the subgraph gives the capability up. It does not report that it contains a loop.
    """
    inner, step = search()
    print(inner.internal_summary()[0])
    till, clerk = Leaf("till", 0, 1, initial=0), Leaf("clerk", 1, 0)
    shop = Operators([till, inner, clerk], [(Source(0, 0), Target(1, 0)), (Source(1, 0), Target(2, 0))])
    entered = ENTER.results_in(0)
    third = FEEDBACK.results_in(FEEDBACK.results_in(FEEDBACK.results_in(entered)))
    till.send(0, 0)
    till.change(0, 0, -1)
    inner.take(0, 0)
    step.take(0, entered)
    step.change(1, third, +1)
    settle(shop)
    may_come(shop, clerk=CLERK)
    step.change(1, third, -1)
    settle(shop)
    may_come(shop, clerk=CLERK)
    # | {(0, 0): (Identity(),)}
    # | clerk [0]
    # | clerk []


def echo() -> None:
    """5. The echo.

    As long as the till may sell at 0, a message may come out of `search` at 0. The subgraph must not report that,
    although it is true. The rest can compute it from the summary, and in a loop around the subgraph each
    would wait for the other to give up its time. So a subgraph reports only what follows from its inside (003 says the
    same of a graph in a graph). The contract forbids anything else: a message that may still come has not been taken,
    and gives no right.
    """
    inner, _ = search()
    till = Leaf("till", 0, 1, initial=0)
    shop = Operators([till, inner], [(Source(0, 0), Target(1, 0))])
    settle(shop)
    may_come(shop, search=Target(1, 0))
    print("capabilities that it reports:", list(inner.pull_internal_progress().internal[0]))

    mirrored = Progress.none(1, 1)
    mirrored.internal[0].update(0, +1)
    try:
        check_contract("a mirror", {(0, 0): (IDENTITY,)}, [MutableAntichain()], mirrored)
    except CapabilityError as error:
        say(error)
    # | search [0]
    # | capabilities that it reports: []
    # | a mirror claims 0 at output 0 from nothing: it held Antichain() there and took [[]]


@ps.source
async def cups(_: ps.Context, number: int, seconds: float) -> AsyncIterator[str]:
    """Yield an order of `number` cups, one after another."""
    for cup in range(number):
        await trio.sleep(seconds)
        yield f"cup {cup + 1} of {number}"


def streams_in_streams() -> None:
    """6. Where you meet them.

    In the toolkit, every module that opens streams contains a dataflow with its own progress: `loop`, `flatten` and
    `flat_map`, `dynamic_merge`, `group_by`, `catch`. Outside, such a module reports only what this chapter has
    described. Below, two orders come, at times 0 and 1. Each is a stream of cups, and they are made concurrently. All
    cups of the second order are there after 3 seconds. But while the first order is being made, `flatten` holds 0, from
    which it could still answer at 1, or at any later time. So both times are complete when the first order is done.
    """

    def note(what: object) -> None:
        print(f"{trio.current_time():g} {what}")

    async def main() -> None:
        orders = [(0, cups(2, 3.5)), (1, cups(3, 1))]
        timed = ps.values(orders, time=lambda order: order[0])
        side_by_side: ps.Transformer[ps.Source[str] | Iterable[str], str] = ps.flatten(concurrency=2)
        async with ps.pipe(timed, ps.map(lambda order: order[1]), side_by_side, ps.drain(note)).open() as running:
            for time in (0, 1):
                await running.progress.completed(time)
                note(f"{time} is complete")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    # | 1 cup 1 of 3
    # | 2 cup 2 of 3
    # | 3 cup 3 of 3
    # | 3.5 cup 1 of 2
    # | 7 cup 2 of 2
    # | 7 0 is complete
    # | 7 1 is complete


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
