"""A first pipeline: from a list to a result, what an error looks like, and why nothing comes out.

A chapter to read from top to bottom, in ten minutes, before any rule: `python -m pullstream learn read 0`. It needs no
extra. When you have read it, you can compose a pipeline, run it, and find out what is wrong with one. Everything runs
on trio, of which you need nothing here, and the first half of its tutorial (trio.readthedocs.io) in the chapters after.

A program is put together from *modules*: one source, where values come from, transformers, which make others of them,
and a sink, where they go. `pipe` composes them; what it gives is a plan, and nothing happens until it is run.
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
    """What was sold, on which day, and how much of it."""

    day: int
    item: str
    sold: int


def a_run() -> None:
    """1. Source, transformers, sink.

    `values` gives what is in a list, `flat_map` makes words of each line, `map` changes each word, and `collect` is the
    sink: it asks for one value after another until there are no more, and its result, a list, is what `run` returns.
    """
    words = ps.pipe(ps.values(LINES), ps.flat_map(str.split), ps.map(str.upper), ps.collect())
    print(ps.run(words))
    # | ['TEA', 'AND', 'RICE', 'SALT', 'TEA']


def nothing_is_pushed() -> None:
    """2. Who is asked, answers.

    Nothing is produced unless the sink asks. Below, `count` could go on for ever, and `find` ends the stream when it
    has what it looks for: then everything above is told, and closes what it has opened. `tap` looks on as values pass.
    """
    numbers = ps.pipe(ps.count(1), ps.tap(lambda n: print(f"  {n} passes")), ps.map(lambda n: n * n))
    print(ps.run(ps.pipe(numbers, ps.find(lambda square: square > 8))))
    # |   1 passes
    # |   2 passes
    # |   3 passes
    # | 9


def again() -> None:
    """3. It runs again.

    A plan acquires nothing, so it can be run any number of times, and be a part of others. What it is given must last
    as long: a generator is used up by the first run, and the second is refused, by name, instead of giving nothing.
    """
    words = ps.pipe(ps.values(LINES), ps.flat_map(str.split))
    print(ps.run(ps.pipe(words, ps.collect())))
    print(ps.run(ps.pipe(words, ps.unique(), ps.collect())))
    once = ps.pipe(ps.values(line for line in LINES), ps.collect())
    print(ps.run(once))
    try:
        ps.run(once)
    except ps.ReuseError as error:
        say(re.sub(r" at 0x\w+", "", f"ReuseError: {error}"))
    # | ['tea', 'and', 'rice', 'salt', 'tea']
    # | ['tea', 'and', 'rice', 'salt']
    # | ['tea and rice', 'salt', 'tea']
    # | ReuseError: values(<generator object again.<locals>.<gen...), composed at a_first_pipeline.py:66, was opened
    # |   a second time, but what it was given can be read only once: give it a collection, or compose it anew for
    # |   each run


def errors() -> None:
    """4. What an error looks like.

    What does not fit together is refused when it is composed, or when it is run: here the sink is missing. An exception
    of your own function arrives as it is, with a note that says in which module it was raised, of what value, and where
    the module was composed.
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
    # | CompositionError: run() at a_first_pipeline.py:93 needs a pipeline, from a source to a sink, and got
    # |   pipe(values(['tea and rice', 'salt', 'tea']), map(price)); it has no sink: collect() gives all values as a
    # |   list
    # | KeyError: 'salt'
    # | raised in map(price), composed at a_first_pipeline.py:97


def a_day() -> None:
    """5. A result a day.

    A value has a time: the day of a sale, say. A module that works per time, as `reduce_by_key`, answers when a day is
    complete, and not before: it is told when no more of that day will come. Here it is since `values` gives the days in
    their order, so that a sale of day 2 says that day 1 is over.
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

    In a pipeline that is open, `explain(time)` says what a time still waits for. Here a slow service has two calls
    under way; half a second later, day 1 waits for them. The clock is one that jumps when everybody waits.
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
    """7. A function is often enough.

    Most of what one writes are functions, given to ready modules. Where something has to be remembered, an async
    generator is a module as well: it is given batches of values, at a time each, and yields others. How such a module
    ends, fails and is stopped is what the protocol is about, and that is the next chapter.
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
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
