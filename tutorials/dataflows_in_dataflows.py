"""Dataflows in dataflows: what a part of a program has to tell of itself, and what it may claim.

A chapter after `by_query_and_tracker`: `python -m pullstream learn read 12`. It needs no extra. When you have read it,
you can say of any part of a program what the rest must know of it, and whether what it tells may be believed.

Until now a program was flat: modules, and edges between them. A loop has modules inside, though, and so has every
module that opens streams of its own; and whoever knows which times are complete cannot look into each of them. McSherry
(004; `tutorials/literature.md` says where to read it) shows how little they have to tell: an *operator* is known by
what becomes of times on the way through it, and by what it reports now and then. So a whole dataflow, with its loops,
can be an operator of another one, which takes it for one module.
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
    """A till, a count and a clerk, one after the other; the till holds 0, and nothing has happened yet."""
    till, count, clerk = Leaf("till", 0, 1, initial=0), Leaf("count", 1, 1), Leaf("clerk", 1, 0)
    shop = Operators([till, count, clerk], [(Source(0, 0), Target(1, 0)), (Source(1, 0), Target(2, 0))])
    return shop, till, count, clerk


def settle(level: Operators) -> None:
    """Let all operators report, and hear what follows, until nothing does."""
    while level.step():
        pass


def may_come(level: Operators, **places: Target) -> None:
    """Print which times may still come to a place, the least of them."""
    print(", ".join(f"{name} {list(level.frontier(place))}" for name, place in places.items()))


COUNT, CLERK = Target(1, 0), Target(2, 0)


def what_it_tells() -> None:
    """1. What the rest has to know.

    An operator says once what becomes of times on their way from each input to each output: those of `count`, which
    counts a day's sales, leave as they came. After that it reports, whenever it is asked: the messages it has taken, at
    which times, those it has sent, and the rights to send (here *capabilities*; where modules are written, *holds*)
    that it has gained or given up. That is all: not a word of what the messages were, or what it does with them.

    Below, the till sends a sale of day 0, and goes on to day 1. So nothing more of day 0 will come out of the till; the
    sale is on its way, and 0 may still come to `count`. Then `count` takes it, and keeps the right to tell the day's
    number. To `count` day 0 cannot come any more, and to the clerk it can.
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

    The rest believes what it is told, and so there is a contract: nothing comes from nothing. A message that is sent,
    and a capability that is gained, is at or after a capability that the operator holds there already, or at or after
    what a message becomes that it has taken. In the program above, `count` may tell the number of day 0, since it kept
    the right. When it has given that up, it may not tell another: the error says what it held, and what it took, a list
    for each of its inputs. The published text of 004 leaves out "or already holds one": to the letter of it a till,
    which takes no messages, could never sell anything.
    """
    shop, till, count, _ = a_day()
    till.send(0, 0)
    count.take(0, 0)
    count.change(0, 0, +1)
    settle(shop)
    count.send(0, 0)
    count.change(0, 0, -1)
    settle(shop)
    print("the number of day 0 is told")
    count.send(0, 0)
    try:
        settle(shop)
    except CapabilityError as error:
        say(error)
    # | the number of day 0 is told
    # | count claims 0 at output 0 from nothing: it held Antichain() there and took [[]]


def all_or_nothing() -> None:
    """3. A report is one change.

    What an operator reports at once, has happened at once, and no half of it is true. Here `count` tells that it has
    taken a sale of day 0, and only with its next report that it has gained the right to 0. Between the two nobody has
    anything at 0: the clerk is told that day 0 is complete, and that cannot be taken back. So the second half is
    refused. It is the same inside a run: to take a batch and to hold its time is one step, in which nobody looks.
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
    """A loop with one operator inside, `step`, whose second output goes round; from outside it is an operator."""
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

    `search`, above, is a loop: its operators 1 and 2 are `step` and what takes times back to the next round, and 0 is
    the outside. Whoever has it in a program asks two questions of it, as of any operator. What becomes of times?
    However often something goes round, it leaves with the time that it came in at: one summary. What has happened? What
    came in was taken; while `step` holds round 3 of it, the subgraph reports a capability, at the time outside; and
    when `step` lets go, the subgraph gives it up. It does not say that there is a loop.
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

    As long as the till may sell at 0, something may come out of `search` at 0. Should the subgraph say so? It would be
    true, and a mistake: the rest knows already, by the summary, and in a loop around it each would wait for the other
    to let go. So what a subgraph reports comes of what is inside alone (003 says the same of a graph in a graph). And
    the contract forbids it: what may still come from outside is no message that was taken, and gives no right.
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
    """An order of so many cups, one after another."""
    for cup in range(number):
        await trio.sleep(seconds)
        yield f"cup {cup + 1} of {number}"


def streams_in_streams() -> None:
    """6. Where you meet them.

    In the toolkit every module that opens streams has a dataflow inside, with a progress of its own: `loop`, `flatten`
    and `flat_map`, `many`, `group_by`, `catch`. Outside one sees of it what this chapter has told. Below two orders
    come, at the times 0 and 1, each a stream of cups, and are made side by side. All cups of the second are there after
    3 seconds. But as long as the first is made, `flatten` holds 0, by which it might still answer at 1 as well, or at
    any later time; so both are complete when the first order is.
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
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
