"""A first pipeline: from a list to a result, what an error looks like, and why nothing comes out.

Begin with this chapter: `python -m pullstream learn read 0`. It needs no extra. Afterwards you can compose a pipeline,
run it, and find out what is wrong with one. Everything runs on trio. This chapter requires no knowledge of trio; the
next ones require the first half of its tutorial (trio.readthedocs.io).

A pipeline has a source, any number of transformers, and a sink; all of them are *modules*. `pipe` composes them. The
result is a plan: nothing happens until you run it.
"""

import re
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import trio
import trio.testing

import pullstream as ps
from tutorials.lesson import say, tell

LINES = ["tea and rice", "salt", "tea"]


class Sale(NamedTuple):
    """A sale: the day, the item, and how many were sold."""

    day: int
    item: str
    sold: int


def a_run() -> None:
    """1. Source, transformers, sink.

    `values` yields the elements of a list, `flat_map` splits each line into words, and `map` changes each word.
    `collect` is the sink: it asks for one value after another until there are no more. Its result, a list, is what
    `run` returns.
    """
    words = ps.pipe(ps.values(LINES), ps.flat_map(str.split), ps.map(str.upper), ps.collect())
    print(ps.run(words))
    # | ['TEA', 'AND', 'RICE', 'SALT', 'TEA']


def nothing_is_pushed() -> None:
    """2. No value without an ask.

    Nothing is produced unless the sink asks. Below, `integers` could go on forever, but `find` ends the stream when it
    has found its value. Then every module upstream is notified and releases its resources. `tap` prints the values that
    pass.
    """
    numbers = ps.pipe(ps.integers(1), ps.tap(lambda n: print(f"  {n} passes")), ps.map(lambda n: n * n))
    print(ps.run(ps.pipe(numbers, ps.find(lambda square: square > 8))))
    # |   1 passes
    # |   2 passes
    # |   3 passes
    # | 9


def again() -> None:
    """3. A plan can run again.

    A plan acquires nothing, so you can run it any number of times, and use it as a part of other plans. Its inputs must
    be reusable, too. A generator is used up by the first run, so the second run is refused with the module's name; it
    does not silently return nothing.
    """
    words = ps.pipe(ps.values(LINES), ps.flat_map(str.split))
    print(ps.run(ps.pipe(words, ps.collect())))
    print(ps.run(ps.pipe(words, ps.unique(), ps.collect())))
    once = ps.pipe(ps.values(line for line in LINES), ps.collect())
    print(ps.run(once))
    try:
        ps.run(once)
    except ps.errors.ReuseError as error:
        say(re.sub(r" at 0x\w+", "", f"ReuseError: {error}"))
    # | ['tea', 'and', 'rice', 'salt', 'tea']
    # | ['tea', 'and', 'rice', 'salt']
    # | ['tea and rice', 'salt', 'tea']
    # | ReuseError: values(<generator object again.<locals>.<gen...), composed at a_first_pipeline.py:69, was opened
    # |   a second time, but its argument can be read only once: give it a collection, or compose it again for each
    # |   run


def errors() -> None:
    """4. What an error looks like.

    A pipeline with a mistake is refused when it is composed, or when it is run: here the sink is missing. An exception
    in your own function reaches you unchanged, with a note that names the module and the line where it was composed.
    """

    def price(item: str) -> int:
        return {"tea": 3, "rice": 5}[item]

    try:
        no_sink: Any = ps.pipe(ps.values(LINES), ps.map(price))
        ps.run(no_sink)
    except ps.CompositionError as error:
        say(f"CompositionError: {error}")
    try:
        ps.run(ps.pipe(ps.values(["tea", "salt"]), ps.map(price), ps.collect()))
    except KeyError as error:
        say(f"KeyError: {error}")
        say("\n".join(error.__notes__))
    # | CompositionError: run() at a_first_pipeline.py:95 needs a complete pipeline, but got pipe(values(['tea and
    # |   rice', 'salt', 'tea']), map(price)), which has no sink: add one, for example collect(), which returns all
    # |   values as a list
    # | KeyError: 'salt'
    # | raised in map(price), composed at a_first_pipeline.py:99


def a_day() -> None:
    """5. One result per day.

    A value has a time: the day of a sale, for example. A per-time module such as `reduce_by_key` emits its result when
    a day is complete, that is, when no more values of that day can arrive. Here `values` yields the days in order, so a
    sale of day 2 means that day 1 is over.
    """
    sales = [Sale(1, "tea", 3), Sale(1, "rice", 5), Sale(1, "tea", 4), Sale(2, "tea", 2)]

    def add(total: int, sale: Sale) -> int:
        return total + sale.sold

    def item(sale: Sale) -> str:
        return sale.item

    daily = ps.pipe(ps.values(sales, time=lambda sale: sale.day), ps.reduce_by_key(ps.Fold(int, add), key=item))
    for day, result in ps.run(ps.pipe(daily, ps.collect(timed=True))):
        print(day, *result)
    # | 1 tea 7
    # | 1 rice 5
    # | 2 tea 2


def nothing_comes() -> None:
    """6. Why is nothing coming out?

    While a pipeline is open, `explain(time)` lists what a time still waits for. Here a slow service has two calls in
    flight, and after half a second day 1 still waits for them. The clock is virtual: it jumps ahead whenever every task
    waits.
    """

    async def price(item: str) -> tuple[str, int]:
        await trio.sleep(1)
        return item, len(item)

    async def main() -> None:
        items = ps.values(["tea", "rice"], time=lambda _: 1)
        async with ps.pipe(items, ps.map_async(price, concurrency=2), ps.collect()).open() as running:
            await trio.sleep(0.5)
            print(*running.progress.explain(1), sep="\n")
            await running.progress.completed(1)
            print(f"complete after {trio.current_time():g} second: {running.progress.explain(1)}")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    # | map_async holds 1 -> collect
    # | values may still produce from 1 -> map_async -> collect
    # | complete after 1 second: []


def a_module_of_your_own() -> None:
    """7. Often a function is enough.

    Most code you write is a function that you pass to a ready-made module. If you need state, write an async generator,
    which is a module as well: it receives batches of values, each at a time, and yields others. The protocol governs
    how such a module ends, fails and is stopped; it is the subject of the next chapter.
    """

    @ps.transformer
    async def numbered(upstream: ps.Reader[str], ctx: ps.Context) -> AsyncIterator[ps.Batch[str]]:
        n = 0
        async for batch in ctx.batches(upstream):
            for value in batch.values:
                n += 1
                yield ps.Batch(batch.time, [f"{n} {value}"])

    print(ps.run(ps.pipe(ps.values(LINES), numbered(), ps.collect())))
    # | ['1 tea and rice', '2 salt', '3 tea']


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
