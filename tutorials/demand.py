"""Demand: how much each module asks for, and how far ahead it is.

Read this short chapter after `what_a_pull_is`: `python -m pullstream learn read 2`. Afterwards you know how much a
pipeline reads, computes and keeps at any moment, and why the batch size changes nothing but the speed.

Everything in a pipeline happens because a sink has asked. So the consumer decides how much is in flight. Three things
follow: an endless source needs no special care, nothing piles up in front of a slow consumer, and a consumer that wants
to be ahead must ask ahead.
"""

from collections.abc import AsyncIterator

import trio
import trio.testing

import pullstream as ps
from tutorials.lesson import tell


@ps.source
class Numbers(ps.authoring.Kernel[int]):
    """A source of 1, 2, 3, ... that prints what it is asked for."""

    def __init__(self, last: int) -> None:
        self.last, self.given = last, 0

    async def produce(self, limit: int) -> ps.Batch[int] | ps.authoring.Done:
        values = list(range(self.given + 1, min(self.last, self.given + limit) + 1))
        self.given += len(values)
        print(f"  asked for {limit}, reads {values}")
        return ps.Batch(0, values) if values else ps.DONE


def on_the_clock(pipeline: ps.Pipeline[object], limit: int = 1) -> None:
    """Run a pipeline on a virtual clock, which jumps ahead whenever every task waits."""

    async def main() -> None:
        async with pipeline.open(limit=limit) as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def lazy() -> None:
    """1. Nothing without an ask.

    At limit 1, every value passes through the whole pipeline before the next one is read: this is the protocol to the
    letter. `take(2)` aborts after two values, so the third is never read.
    """
    ps.run(ps.pipe(Numbers(1_000_000), ps.map(lambda n: n * n), ps.take(2), ps.drain(print)), limit=1)
    # |   asked for 1, reads [1]
    # | 1
    # |   asked for 1, reads [2]
    # | 4


def limits() -> None:
    """2. A limit is an upper bound.

    An ask for three values is answered with at most three, and with fewer if there are no more, or no more ready.
    Demand does not grow on its way up: `filter` asks for at most as many values as it was asked for, and asks again if
    none of them passed.
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

    Batches exist only for speed. With any limit, the same values come out in the same order, and each function is
    called with the same values. So the results of a module must not depend on where a batch ends. Those of `last_of`
    do: they change with the limit. The conformance kit runs every module with several limits and finds this mistake.
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
    """4. A module that stops on a value asks for one.

    The number of values that `take(2)` needs is known beforehand; the number that `find` needs is not. So `find` asks
    for one at a time, and nothing after the value it finds is read. Pass `limit=` if it may read more.
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

    While a slow sink works, it does not ask, so at limit 1 nothing else happens. (With a larger limit, a generator may
    prepare the next value in the meantime, within what it was asked for.) `prefetch(n)` asks ahead and keeps up to n
    values; when it is full, it does not ask. So the source is at most n values ahead. Every buffer is bounded in this
    way, by a number that you have chosen.
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

    A module that waits for each value, such as `map_async`, asks for about as many values as it can start: here three
    calls at a time, of which the n-th takes n seconds. The fourth value is read only when a call has finished. (At
    limit 1, the protocol to the letter, it asks for one value at a time, so only one call is in flight.)
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
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
