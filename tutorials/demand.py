"""Demand: who asks for how much, and who is how far ahead.

A short chapter, after `what_a_pull_is`: `python -m pullstream learn read 2`. When you have read it, you know how much
is read, computed and kept at any moment in a pipeline, and why the size of a batch changes nothing but speed.

Whatever happens in a pipeline happens because a sink has asked. So how much is under way is for whoever asks to say,
and three things follow: an endless source is nothing special, nothing piles up in front of who is slow, and whoever
wants to be ahead has to ask ahead.
"""

from collections.abc import AsyncIterator

import trio
import trio.testing

import pullstream as ps
from tutorials.lesson import tell


@ps.source
class Numbers(ps.Kernel[int]):
    """1, 2, 3, ..., which says what it is asked for."""

    def __init__(self, last: int) -> None:
        self.last, self.given = last, 0

    async def produce(self, limit: int) -> ps.Batch[int] | ps.Done:
        values = list(range(self.given + 1, min(self.last, self.given + limit) + 1))
        self.given += len(values)
        print(f"  asked for {limit}, reads {values}")
        return ps.Batch(0, values) if values else ps.DONE


def on_the_clock(pipeline: ps.Pipeline[object], limit: int = 1) -> None:
    """Run a pipeline on a clock that jumps when everybody waits."""

    async def main() -> None:
        async with pipeline.open(limit=limit) as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def lazy() -> None:
    """1. Nothing unasked.

    At limit 1 every value makes its whole way before the next is read: the protocol to the letter. `take(2)` aborts
    when it has had two, and there is no third.
    """
    ps.run(ps.pipe(Numbers(1_000_000), ps.map(lambda n: n * n), ps.take(2), ps.drain(print)), limit=1)
    # |   asked for 1, reads [1]
    # | 1
    # |   asked for 1, reads [2]
    # | 4


def limits() -> None:
    """2. A limit is an upper bound.

    An ask for three is answered by three values at most, and by fewer where there are no more, or none at hand. Demand
    does not grow on its way up: `filter` asks for no more than it was asked for, and again when nothing has passed.
    """

    @ps.sink
    async def threes(upstream: ps.Reader[int], _: ps.Context) -> None:
        while (batch := await upstream.ask(3)) is not ps.DONE:
            print(f"gets {list(batch.values)}")

    ps.run(ps.pipe(Numbers(7), ps.filter(lambda n: n % 2 == 0), threes()))
    # |   asked for 3, reads [1, 2, 3]
    # | gets [2]
    # |   asked for 3, reads [4, 5, 6]
    # | gets [4, 6]
    # |   asked for 3, reads [7]
    # |   asked for 3, reads []


def invisible() -> None:
    """3. Batches are invisible.

    A batch is a matter of speed. With whatever limit, the same values come out in the same order, and a function is
    called with the same values. So a module must not let it be seen where a batch ends: `last_of` does, and what it
    gives depends on the limit. The conformance kit runs every module with several limits, and finds that.
    """

    @ps.transformer
    async def last_of(upstream: ps.Reader[int], ctx: ps.Context) -> AsyncIterator[ps.Batch[int]]:
        async for batch in ctx.batches(upstream):
            yield ps.Batch(batch.time, [batch.values[-1]])

    for limit in (1, 2, 1000):
        right = ps.run(ps.pipe(ps.values(range(6)), ps.map(lambda n: n * n), ps.collect()), limit=limit)
        wrong = ps.run(ps.pipe(ps.values(range(6)), last_of(), ps.collect()), limit=limit)
        print(f"limit {limit}: {right} {wrong}")
    # | limit 1: [0, 1, 4, 9, 16, 25] [0, 1, 2, 3, 4, 5]
    # | limit 2: [0, 1, 4, 9, 16, 25] [1, 3, 5]
    # | limit 1000: [0, 1, 4, 9, 16, 25] [5]


def what_stops_on_what_it_sees() -> None:
    """4. What stops on what it sees asks for one.

    How many values `take(2)` needs is known beforehand; what `find` needs is not. So `find` asks for one at a time, and
    nothing beyond what it has found is read. Say `limit=` where it may be more.
    """
    print(ps.run(ps.pipe(Numbers(1_000_000), ps.find(lambda n: n > 2))))
    print(ps.run(ps.pipe(Numbers(1_000_000), ps.find(lambda n: n > 2, limit=5))))
    # |   asked for 1, reads [1]
    # |   asked for 1, reads [2]
    # |   asked for 1, reads [3]
    # | 3
    # |   asked for 5, reads [1, 2, 3, 4, 5]
    # | 3


def ahead() -> None:
    """5. One ahead, or more.

    While a slow sink works, nothing else does: it does not ask. `prefetch(n)` asks ahead, and keeps up to n values;
    when there is no room, it does not ask. So the source is n values ahead and never more. Everything that is kept
    anywhere is bounded like that, by a number that somebody has given.
    """

    @ps.sink
    async def works(upstream: ps.Reader[int], _: ps.Context) -> None:
        while (batch := await upstream.ask(1)) is not ps.DONE:
            print(f"{trio.current_time():g} works on {batch.values[0]}")
            await trio.sleep(1)

    def look(n: int) -> None:
        print(f"{trio.current_time():g}   {n} is read")

    read = ps.pipe(ps.values([1, 2, 3]), ps.tap(look))
    on_the_clock(ps.pipe(read, works()))
    print("and one ahead")
    on_the_clock(ps.pipe(read, ps.prefetch(1), works()))
    # | 0   1 is read
    # | 0 works on 1
    # | 1   2 is read
    # | 1 works on 2
    # | 2   3 is read
    # | 2 works on 3
    # | and one ahead
    # | 0   1 is read
    # | 0 works on 1
    # | 0   2 is read
    # | 1 works on 2
    # | 1   3 is read
    # | 2 works on 3


def side_by_side() -> None:
    """6. As many as can be started.

    A module that waits for each value, as `map_async`, takes from above what it can start, and little more: here three
    calls at a time, the n-th of n seconds. The fourth value is not read before there is room for its call. (At limit 1,
    the protocol to the letter, no more is asked for above than one value, and one call is under way.)
    """

    async def price(n: int) -> int:
        print(f"{trio.current_time():g} begins {n}")
        await trio.sleep(n)
        return n * n

    on_the_clock(ps.pipe(Numbers(5), ps.map_async(price, concurrency=3), ps.drain()), limit=1000)
    # |   asked for 3, reads [1, 2, 3]
    # | 0 begins 1
    # | 0 begins 2
    # | 0 begins 3
    # |   asked for 1, reads [4]
    # | 1 begins 4
    # |   asked for 1, reads [5]
    # | 2 begins 5
    # |   asked for 1, reads []


def main() -> None:
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
