"""What a pull is: ask, abort and error at one edge.

Read this chapter from top to bottom: `python -m pullstream learn read 1`. Afterwards you know every message that two
neighbours in a stream may exchange, and can read the drawings that the rest of the project uses for them.

In most stream libraries the producer pushes: it calls you when it has a value, and if you are slow, values pile up.
Here the consumer pulls. A source does nothing, and does not even open its file, until it is asked for a value. So
nothing piles up, and an endless stream needs no special care. A consumer that has enough must say so; if it only
stopped asking, the file would stay open. This takes a small protocol between neighbours, based on the pull-stream
protocol: a few messages and twelve rules, R1 to R12. This chapter introduces the rules one by one;
`tutorials/literature.md` says which parts are the specification's and which are ours. You will rarely use the protocol
directly, because the modules of the toolkit do it for you, but error messages use its terms. You need `async` and
`await`, and Trio's tutorial up to nurseries and cancellation.

The connection between two neighbours is an *edge*: the module above it answers, and the one below it asks. *Upstream*
is where values come from, *downstream* where they go. Below, the source is a table that is slow to read, and a `scene`
is the behaviour of the module below the edge. The clock is virtual: it jumps ahead whenever every task waits.
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
    """Yield rows that take a second each, and print every step."""
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
    """Let `scene` ask the source by hand, watched by the checker, and draw the messages."""

    @ps.sink
    async def consumer(upstream: ps.Reader[str], _: ps.Context) -> None:
        reader = watch(upstream, "the table", strict=strict)
        await scene(reader)
        print(reader.diagram())

    run(ps.pipe(ps.from_async_iterable(source), consumer()))


def run(pipeline: ps.Pipeline[object], check: Checker | None = None) -> None:
    """Run a pipeline, asking for one value at a time, on a virtual clock."""

    async def main() -> None:
        async with pipeline.open(limit=1, check=check or False) as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def asking() -> None:
    """1. An ask and its answer.

    There is one way to get a value: call `ask` and wait for the answer. Below, nothing happens before the first ask,
    and each ask makes the table read one row (R2: nothing is produced without an ask). The answer is a `Batch` of
    values; the next section explains why it is a batch. When there are no more values, the answer is DONE, and it stays
    DONE however often you ask (R3: the end is final).

    The drawing at the end is in the notation of the pull-stream specification. `D` is downstream, which asks; `U` is
    upstream, which answers. `ask1(Ans1)` is the first request, and `Ans1` its answer. An arrow means "happens before".
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

    Asking for a million values one by one is slow in Python. So an ask has a limit, `ask(limit)`, and the answer holds
    at least one value and never more than the limit (R2). Nothing waits to fill a batch: the slow table answers with
    the one row it has, and a list in memory with as many values as were asked for. The drawing shows the limit after
    `Ans1`.
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

    A consumer that wants no more values calls `abort`. The answer is DONE, as a confirmation, and comes only after
    everything upstream has been released (R6): here the table is closed when `abort` returns. A source acquires its
    resources at the first ask and releases them once, however the stream ends (R10). So a source that is aborted before
    the first ask is not even opened: the last drawing has no table above it. After an abort, asks are answered with
    DONE (R3).
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

    A source may fail. Then the ask is answered with the failure, which Python raises. All values before it have been
    delivered (R8). The failure stays, as DONE does: every further ask raises the very same object (R3).
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

    A consumer that cannot go on, because the disk is full or a value makes no sense, aborts with a reason:
    `error(reason)`. It travels up through every module to the source, so that each can roll back or log it (R6), and is
    confirmed with DONE like an abort (R8). From then on the stream counts as failed: asks raise the reason (R3).
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

    So far each ask waited for the answer to the last one. It need not: several asks may be outstanding, one per *lane*.
    A reader is one lane, `lane()` opens another, and every task needs its own (R4). Each ask is answered exactly once,
    in the order in which the asks were sent, by whichever lane (R1). In the drawing, a request sent while others wait
    is on its own line, behind a diagonal; further right means later.
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

    Abort and error do not queue. They may come at any time: before the first ask, while asks are outstanding, after the
    end (R5). Outstanding asks are answered before the abort is confirmed, and never with a value, even if one was in
    flight: the table below had been reading "rice" for half a second, and that row is dropped.
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
    """8. Giving up an ask.

    Python has one more way to stop: the task that asks may be cancelled, for example by a timeout. Its answer would
    then have no receiver and be lost. So cancelling an ask aborts the stream from there up (R10), and no consumer
    mistakes half a stream for a whole one.
    """

    async def scene(reader: Reader) -> None:
        with trio.move_on_after(0.5):
            await reader.ask()
        print(f"given up after half a second, then answered {await reader.ask()}")

    at_an_edge(table("tea", "rice"), scene)
    # |   table: opened
    # |   table: closed
    # | given up after half a second, then answered DONE
    # | D: ask1(Ans1) -> U: Ans1=cancelled
    # | -> D: ask2(Ans2) -> U: Ans2=done


def indications() -> None:
    """9. Indications, and what a requester must not send.

    A consumer that does not need to know when the release is done sends an *indication*: `abort_nowait()` or
    `error_nowait(reason)`. It has no answer, and is drawn as `done` or `error`. The table is closed a moment later.

    A request after a termination is answered as above (R3, R5), so it does no harm if both neighbours end the stream at
    the same time. But a requester must not rely on that: it sends at most one termination, and asks nothing after it,
    nor after DONE or a failure (R9). The checker reports this in strict mode.
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
    # | Broken by the requester, composed at what_a_pull_is.py:54: it sends another request after its termination.
    # |   What happened:
    # |     D: ask1(Ans1) -> U: Ans1=value('tea')
    # |     -> D: done2
    # |     -> D: ask3(Ans3)


def through_a_module() -> None:
    """10. The same on both sides of a module.

    A transformer has two edges: it is asked on one and asks on the other. Every message you have seen passes through
    it. In the drawing `TO` is its answer below (its output), and `TI` its request above (its input). There are three
    ways to end:

    - an abort from below goes through it to the source, once, and the confirmation comes back (R6);
    - a module that ends by itself, as `take(1)` does when asked once more, aborts above, waits, then answers DONE (R7);
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

    All of this fits in one small table, which the modules of the toolkit follow and the checker checks. An edge is
    open. The first termination, from either side, makes it closing while everything above is released. Then it is done
    or failed, forever. Each row below shows where an event leads from each state; a dot means that it cannot happen.
    Only an open edge delivers values: that is R5 and R3 in a picture. Asks and terminations may always come.
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

    A batch has a time, which applies to all its values; so far it was 0. Below it is the day of a sale. The run's
    *progress* tracks when a day is complete: when no more of its values can come and all that came have been processed.
    A receiver says that it has processed a batch by asking again, which acknowledges what the same lane has received
    (R11). Until then the batch is in flight, and its day is not complete. `ack()` acknowledges without asking; after
    it, below, only the source still holds day 1 back, because it has not yet said that there is no more.

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
    except ps.errors.CapabilityError as error:
        say(error)
    # | has Batch(time=1, values=[(1, 'tea'), (1, 'rice')])
    # | after 0.75 seconds day 1 waits:
    # |   books has not acknowledged a batch at 1
    # |   values may still produce from 1 -> books
    # | after 1.5 seconds day 1 waits:
    # |   values may still produce from 1 -> books
    # | has Batch(time=2, values=[(2, 'salt')])
    # | day 1 is complete
    # | values, composed at what_a_pull_is.py:415, went back in time: it answered (1, 'tea'), at 1, after promising
    # |   that nothing before 2 would come. Sort it, or leave its times to ps.stamp(..., lateness=...) downstream
    # |   (R12)


def rules() -> None:
    """13. The twelve rules.

    You have met them all. Here they are in the words that the checker cites. Pass `check=True` to `run`, and every edge
    of a pipeline is watched as the edges here were. A later chapter, `writing_your_own`, does this for modules that
    break the rules.
    """
    for number, sentence in RULES.items():
        say(f"{number}: {sentence}")
    # | R1: every request is answered exactly once, in the order of the requests
    # | R2: nothing is produced without an ask; an answer holds at least one value and never more than asked for
    # | R3: the end is final: after done only done, after a failure the same exception object again
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
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
