"""What a pull is: ask, abort and error at one edge.

A chapter to read from top to bottom: `python -m pullstream learn read 1`. When you have read it, you know everything
that two neighbours in a stream may say to each other, and can read the drawings in which the rest of the project shows
it.

In most stream libraries the producer pushes: it calls you when it has something, and if you are slow, something piles
up. Here the consumer pulls. A source does nothing, not even open its file, until somebody asks it for a value. So
nothing piles up, an endless stream is nothing special, and who wants no more says so: whoever only stops asking leaves
the file open. The price is a small protocol between neighbours, made after the pull-stream protocol: a few messages and
twelve rules, R1 to R12, which this chapter meets one by one; what of it is the specification's, and what ours, is in
`tutorials/literature.md`. You will rarely speak it yourself, for the modules of the toolkit do; but error messages are
written in it. You need `async` and `await`, and Trio's tutorial as far as nurseries and cancellation.

What stands between two neighbours is an *edge*: the module above it answers, the one below it asks. *Upstream* is
where values come from, *downstream* where they go. Below, the source is a table that is slow to read, and a `scene`
is what somebody at the edge below it says. The seconds are those of a clock that jumps when everybody waits.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import trio
import trio.testing

import pullstream as ps
from pullstream.checker import RULES, Checker, Violation, WatchedReader, watch
from pullstream.protocol import TRANSITIONS, Event, State
from tutorials.lesson import say, tell

Reader = WatchedReader[str]


async def table(*rows: str, fails: bool = False) -> AsyncIterator[str]:
    """Rows that take a second each; it says what it does."""
    print("  table: opened")
    try:
        for row in rows:
            await trio.sleep(1)
            print(f"  table: read {row}")
            yield row
        if fails:
            raise OSError("disk on fire")
    finally:
        print("  table: closed")


def at_an_edge(source: AsyncIterator[str], scene: Callable[[Reader], Awaitable[None]], *, strict: bool = False) -> None:
    """Let `scene` ask the source by hand, watched by the checker, and draw everything the two have said."""

    @ps.sink
    async def somebody(upstream: ps.Reader[str], _: ps.Context) -> None:
        reader = watch(upstream, "the table", strict=strict)
        await scene(reader)
        print(reader.diagram())

    run(ps.pipe(ps.from_async_iterable(source), somebody()))


def run(pipeline: ps.Pipeline[object], check: Checker | None = None) -> None:
    """Run a pipeline, asking for one value at a time, on the clock that jumps."""

    async def main() -> None:
        async with pipeline.open(limit=1, check=check or False) as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def asking() -> None:
    """1. An ask and its answer.

    There is one way to get a value: `ask`, and wait for the answer. Below, nothing happens before the first ask, and
    each ask makes the table read one row (R2: nothing is produced without an ask). The answer is a `Batch` of values;
    why a batch, the next piece tells. When there are no more, the answer is DONE, and it stays DONE however often one
    asks (R3: the end is for ever).

    What is drawn at the end is the pull-stream specification's notation. `D` is downstream, who asks; `U` is upstream,
    who answers. `ask1(Ans1)` is the first request, and `Ans1` its answer. An arrow means "happens before".
    """

    async def scene(reader: Reader) -> None:
        print("not asked yet")
        for _ in range(4):
            print(await reader.ask())

    at_an_edge(table("tea", "rice"), scene)
    # | not asked yet
    # |   table: opened
    # |   table: read tea
    # | Batch(time=0, values=['tea'])
    # |   table: read rice
    # | Batch(time=0, values=['rice'])
    # |   table: closed
    # | DONE
    # | DONE
    # | D: ask1(Ans1) -> U: Ans1=value('tea')
    # | -> D: ask2(Ans2) -> U: Ans2=value('rice')
    # | -> D: ask3(Ans3) -> U: Ans3=done
    # | -> D: ask4(Ans4) -> U: Ans4=done


def limits() -> None:
    """2. Batches and limits.

    To ask for a million values one by one is slow in Python. So an ask has a limit, `ask(limit)`, and the answer holds
    at least one value and never more than the limit (R2). Nobody waits to fill a batch: the slow table answers with
    the one row it has, while what lies in memory comes as asked for. The drawing shows the limit after `Ans1`.
    """

    async def scene(reader: Reader) -> None:
        print(await reader.ask(10))

    at_an_edge(table("tea", "rice"), scene)

    @ps.sink
    async def asks_for_three(upstream: ps.Reader[str], _: ps.Context) -> None:
        while (batch := await upstream.ask(3)) is not ps.DONE:
            print(batch)

    run(ps.pipe(ps.values(["tea", "rice", "salt", "oil", "soap"]), asks_for_three()))
    # |   table: opened
    # |   table: read tea
    # | Batch(time=0, values=['tea'])
    # | D: ask1(Ans1 10) -> U: Ans1=value('tea')
    # |   table: closed
    # | Batch(time=0, values=['tea', 'rice', 'salt'])
    # | Batch(time=0, values=['oil', 'soap'])


def aborting() -> None:
    """3. Enough: abort.

    Who wants no more says so: `abort`. It is answered with DONE, its confirmation, and not before everything above
    has been let go (R6): here the table is closed when `abort` returns. What a source needs is acquired at the first
    ask and released once, whatever the end (R10). So a source that is aborted first of all is not even opened: the
    last drawing has no table above it. Afterwards, whoever asks is told DONE (R3).
    """

    async def scene(reader: Reader) -> None:
        await reader.ask()
        await reader.abort()
        print("confirmed")
        await reader.ask()

    at_an_edge(table("tea", "rice"), scene)

    async def at_once(reader: Reader) -> None:
        await reader.abort()

    at_an_edge(table("tea", "rice"), at_once)
    # |   table: opened
    # |   table: read tea
    # |   table: closed
    # | confirmed
    # | D: ask1(Ans1) -> U: Ans1=value('tea')
    # | -> D: abort2(Ans2) -> U: Ans2=done
    # | -> D: ask3(Ans3) -> U: Ans3=done
    # | D: abort1(Ans1) -> U: Ans1=done


def failing() -> None:
    """4. A failure from above.

    A source may fail. The ask is then answered with the failure, which in Python is raised. What came before it has
    been delivered (R8), and the failure stays, as DONE does: every further ask raises the very same object (R3).
    """

    async def scene(reader: Reader) -> None:
        failures: list[OSError] = []
        for _ in range(3):
            try:
                await reader.ask()
            except OSError as failure:
                failures.append(failure)
        print(f"twice the same object: {failures[0] is failures[1]}")

    at_an_edge(table("tea", fails=True), scene)
    # |   table: opened
    # |   table: read tea
    # |   table: closed
    # | twice the same object: True
    # | D: ask1(Ans1) -> U: Ans1=value('tea')
    # | -> D: ask2(Ans2) -> U: Ans2=error(OSError('disk on fire'))
    # | -> D: ask3(Ans3) -> U: Ans3=error(OSError('disk on fire'))


def erring() -> None:
    """5. An error from below.

    Who cannot go on, because the disk is full or a value makes no sense, aborts with a reason: `error(reason)`. It
    travels up, to the source and through everything between, so that each can roll back or log it (R6), and is
    confirmed with DONE like an abort (R8). Afterwards the stream counts as failed: asks raise the reason (R3).
    """

    async def scene(reader: Reader) -> None:
        await reader.ask()
        print(await reader.error(ValueError("no tea")))
        with suppress(ValueError):
            await reader.ask()

    at_an_edge(table("tea", "rice"), scene)
    # |   table: opened
    # |   table: read tea
    # |   table: closed
    # | DONE
    # | D: ask1(Ans1) -> U: Ans1=value('tea')
    # | -> D: error2(ValueError('no tea') Ans2) -> U: Ans2=done
    # | -> D: ask3(Ans3) -> U: Ans3=error(ValueError('no tea'))


def lanes() -> None:
    """6. Several asks at once.

    So far each ask waited for the last one's answer. It need not: several may be outstanding, one per *lane*. A reader
    is one lane, `lane()` gives another, and every task has its own (R4). Asks are answered once each, in the order in
    which they were sent, whoever sent them (R1). In the drawing, what is sent while others wait stands on a line of
    its own, behind a diagonal; what stands further right has happened later.
    """

    async def scene(reader: Reader) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(reader.lane().ask)
                await trio.sleep(0.1)
            print("three asks are outstanding")

    at_an_edge(table("tea", "rice"), scene)
    # |   table: opened
    # | three asks are outstanding
    # |   table: read tea
    # |   table: read rice
    # |   table: closed
    # | D: ask1(Ans1)                                   -> U: Ans1=value('tea')
    # |              \-> D: ask2(Ans2)                                          -> U: Ans2=value('rice')
    # |                               \-> D: ask3(Ans3)                                                  -> U: Ans3=done


def out_of_turn() -> None:
    """7. A termination out of turn.

    Abort and error do not queue. They may come at any time: first of all, while asks are outstanding, after the end
    (R5). Outstanding asks are answered before the abort is confirmed, and never with a value, even if one was under
    way: the table below had been reading "rice" for half a second, and nobody gets it.
    """

    async def scene(reader: Reader) -> None:
        await reader.ask()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.lane().ask)
            await trio.sleep(0.5)
            await reader.abort()
            print("confirmed")

    at_an_edge(table("tea", "rice"), scene)
    # |   table: opened
    # |   table: read tea
    # |   table: closed
    # | confirmed
    # | D: ask1(Ans1) -> U: Ans1=value('tea')
    # | -> D: ask2(Ans2)                    -> U: Ans2=done
    # |                 \-> D: abort3(Ans3)                 -> U: Ans3=done


def cancelling() -> None:
    """8. An ask that is given up.

    Python has one way more to stop: the task that asks may be cancelled, by a timeout for instance. Its answer cannot
    be left lying about, for who would have it? So to cancel an ask is to abort the stream from there up (R10), and
    nobody takes half a stream for a whole one.
    """

    async def scene(reader: Reader) -> None:
        with trio.move_on_after(0.5):
            await reader.ask()
        print(f"given up after half a second, and told {await reader.ask()}")

    at_an_edge(table("tea", "rice"), scene)
    # |   table: opened
    # |   table: closed
    # | given up after half a second, and told DONE
    # | D: ask1(Ans1) -> U: Ans1=cancelled
    # | -> D: ask2(Ans2) -> U: Ans2=done


def indications() -> None:
    """9. The two indications, and politeness.

    Who does not care when the release is done sends an *indication*: `abort_nowait()` or `error_nowait(reason)`. It
    has no answer, and is drawn as `done` or `error`. The table is closed a moment later.

    Whatever is sent after a termination is answered as above (R3, R5), so neighbours that meet in the middle of an
    ending do no harm. But a requester should not count on that: it sends at most one termination, and asks nothing
    after it, nor after DONE or a failure (R9). The checker, which has watched all along, says so when it is strict.
    """

    async def scene(reader: Reader) -> None:
        await reader.ask()
        reader.abort_nowait()
        print("going on at once")
        await trio.sleep(1)
        await reader.ask()

    try:
        at_an_edge(table("tea", "rice"), scene, strict=True)
    except Violation as violation:
        say(violation)
    # |   table: opened
    # |   table: read tea
    # | going on at once
    # |   table: closed
    # | R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer.
    # | Broken by the requester, composed at what_a_pull_is.py:54: it has sent a termination before, and this is one
    # |   request more. What happened:
    # |     D: ask1(Ans1) -> U: Ans1=value('tea')
    # |     -> D: done2
    # |     -> D: ask3(Ans3)


def through_a_module() -> None:
    """10. The same on both sides of a module.

    A transformer has two edges: it is asked on one and asks on the other. Everything you have seen passes through. In
    the drawing `TO` is what it answers below (its output), and `TI` what it asks above (its input). Three ways to end:

    - an abort from below goes through it to the source, once, and the confirmation comes back (R6);
    - a module that ends by itself, as `take(1)` does when asked once more, aborts above, waits, then says DONE (R7);
    - a module whose function raises sends the error up, waits, then fails below with the same object (R8).
    """

    def draw(module: ps.Transformer[str, Any], sink: ps.Sink[Any, object]) -> None:
        checker = Checker()
        with suppress(KeyError):
            run(ps.pipe(ps.values(["tea", "rice", "ink"]), module.named("it"), sink), check=checker)
        print(f"{module}, then {sink}:")
        print(checker.both_sides("it"))

    draw(ps.map(str.upper), ps.first())
    draw(ps.take(1), ps.collect())
    draw(ps.map({"tea": 1, "rice": 5}.__getitem__), ps.collect())
    # | map(str.upper), then first():
    # | D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('TEA')
    # | -> D: abort2(Ans2) -> TI: abortT2(AnsT2) -> U: AnsT2=done -> TO: Ans2=done
    # | take(1), then collect():
    # | D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # | -> D: ask2(Ans2) -> TI: abortT2(AnsT2) -> U: AnsT2=done -> TO: Ans2=done
    # | map(dict.__getitem__), then collect():
    # | D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value(1)
    # | -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('rice') -> TO: Ans2=value(5)
    # | -> D: ask3(Ans3) -> TI: askT3(AnsT3) -> U: AnsT3=value('ink') -> TI: errorT4(KeyError('ink') AnsT4)
    # | -> U: AnsT4=done -> TO: Ans3=error(KeyError('ink'))


def states() -> None:
    """11. The states of an edge.

    All of this is one small table, from which the modules of the toolkit work and which the checker checks. An edge is
    open; the first termination, from whichever side, makes it closing, while everything above is let go; then it is
    done or failed, for ever. Below stands where each event leads from each state; a dot is what cannot happen. Values
    come from an open edge alone: that is R5 and R3 in a picture. Asks and terminations may always come.
    """
    print(f"{'':25}" + "".join(f"{state.name:10}" for state in State).rstrip())
    for event in Event:
        row = [TRANSITIONS.get((state, event)) for state in State]
        print(f"{event.value:25}" + "".join(f"{'.' if to is None else to.name:10}" for to in row).rstrip())
    # |                          OPEN      CLOSING   DONE      FAILED
    # | ask                      OPEN      CLOSING   DONE      FAILED
    # | abort                    CLOSING   CLOSING   DONE      FAILED
    # | error                    CLOSING   CLOSING   DONE      FAILED
    # | value                    OPEN      .         .         .
    # | end                      CLOSING   .         .         .
    # | fail                     CLOSING   .         .         .
    # | released                 .         DONE      .         .
    # | released after a failure .         FAILED    .         .


def times() -> None:
    """12. Times, and acknowledgement.

    A batch has a time, to which all its values belong; so far it was 0. Below it is the day of a sale, and beside the
    run its *progress* knows when a day is complete: when no more of it will come, and all that came has been dealt
    with. A receiver says that it has dealt with a batch by asking again: that acknowledges what the same lane has
    received (R11). Until then the batch is in flight, and whoever waits for its day waits. `ack()` acknowledges without
    asking, so that below only the source still stands in the way of day 1: it has not said that there is no more.

    A complete day stays complete: no batch may come at it any more (R12). A source that goes back is stopped.
    """

    def day(sale: tuple[int, str]) -> int:
        return sale[0]

    @ps.sink
    async def books(upstream: ps.Reader[tuple[int, str]], _: ps.Context) -> None:
        while (batch := await upstream.ask(2)) is not ps.DONE:
            print(f"has {batch}")
            await trio.sleep(1)
            upstream.ack()
            await trio.sleep(1)

    async def main() -> None:
        sales = ps.values([(1, "tea"), (1, "rice"), (2, "salt")], time=day)
        async with ps.pipe(sales, books()).open() as running:
            for _ in range(2):
                await trio.sleep(0.75)
                print(f"after {trio.current_time()} seconds day 1 waits:", *running.progress.explain(1), sep="\n  ")
            await running.progress.completed(1)
            print("day 1 is complete")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    try:
        run(ps.pipe(ps.values([(2, "salt"), (1, "tea")], time=day), ps.drain()))
    except ps.CapabilityError as error:
        say(error)
    # | has Batch(time=1, values=[(1, 'tea'), (1, 'rice')])
    # | after 0.75 seconds day 1 waits:
    # |   books has not acknowledged a batch at 1
    # |   values may still produce from 1 -> books
    # | after 1.5 seconds day 1 waits:
    # |   values may still produce from 1 -> books
    # | has Batch(time=2, values=[(2, 'salt')])
    # | day 1 is complete
    # | values, composed at what_a_pull_is.py:412, went back in time: it answered (1, 'tea'), at 1, after it had
    # |   said that nothing before 2 would come. Sort it, or leave its times to ps.stamp(..., lateness=...) below
    # |   (R12)


def rules() -> None:
    """13. The twelve rules.

    You have met them all. Here they are in the words in which the checker cites them: give `check=True` to `run`, and
    every edge of a pipeline is watched as the edges here have been. The next chapter, `writing_your_own`, does it to
    modules that get the rules wrong.
    """
    for number, sentence in RULES.items():
        say(f"{number}: {sentence}")
    # | R1: every request is answered exactly once, in the order of the requests
    # | R2: nothing is produced without an ask; an answer holds at least one value and never more than asked for
    # | R3: the end is for ever: after done only done, after a failure that same exception object
    # | R4: a lane has one ask outstanding at a time; lanes are answered first come, first served
    # | R5: a termination may come at any time; outstanding asks are answered before it, and never with a value
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released
    # | R7: a module that ends by itself aborts upstream, waits for the confirmation, then answers done
    # | R8: a module that fails sends the error upstream, waits, then fails downstream with the same object; a
    # |   termination is confirmed with done
    # | R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer
    # | R10: resources are acquired at the first ask and released once, in every ending
    # | R11: a batch is in flight from its answer until its lane asks again, or acknowledges it
    # | R12: no batch comes at a time that is already complete on its edge


def main() -> None:
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
