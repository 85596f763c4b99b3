"""When is it done: times, frontiers, completion.

These are three chapters, to read after `what_a_pull_is`: `python -m pullstream learn read 7`, 8 and 11. All three use
the same tea house as their example. Afterwards you can give times to values, be notified when everything at a time has
arrived and has been processed, act at that moment, and find out why a time is not complete yet.

A pull asks for values, but does not say when they have all arrived. To write Monday's total you must know that no more
sales of Monday can come. "None has come for a while", as a timeout says, is a guess. So every value has a *time*, and
every run tracks its *progress*: it counts which values may still come, at which times, and where. From these counts it
computes a *frontier* for each place: the earliest times that may still come out of it. A time that the frontier has
passed is *complete*. That is not a guess, even if modules are slow, keep values, work in parallel or form loops.

Below, a tea house sells tea. A second of the virtual clock is an hour of its week.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import trio
import trio.testing

import pullstream as ps
from tutorials.graphs.algorithms import pagerank
from tutorials.lesson import say, tell


class Sale(NamedTuple):
    """A sale: the hour of the week, and the item sold."""

    hour: int
    item: str


def hour(sale: Sale) -> int:
    """Return the hour of the week: 9 is Monday at 9."""
    return sale.hour


def day(sale: Sale) -> int:
    """Return the day: Monday is 0."""
    return sale.hour // 24


def day_of(hour: int) -> int:
    """Return the day of an hour."""
    return hour // 24


def item(sale: Sale) -> str:
    """Return the item: tea or rice."""
    return sale.item


def week() -> list[Sale]:
    """Return two sales on Monday, two on Tuesday, one on Wednesday."""
    return [Sale(9, "tea"), Sale(15, "rice"), Sale(33, "tea"), Sale(34, "tea"), Sale(57, "rice")]


@ps.source
async def till(ctx: ps.Context, *sales: Sale, closes: bool = False) -> AsyncIterator[ps.Batch[Sale]]:
    """Yield sales as they are made, and end an hour after the last. With `closes`, announce every midnight."""
    for sale in sales:
        while closes and trio.current_time() < day(sale) * 24:
            midnight = int(trio.current_time()) // 24 + 1
            await trio.sleep_until(midnight * 24)
            ctx.advance(midnight)
        await trio.sleep_until(sale.hour)
        yield ps.Batch(day(sale), [sale])
    await trio.sleep(1)


def note(what: object) -> None:
    """Print a message and the hour."""
    print(f"{trio.current_time():4.1f} {what}")


def on_the_clock(main: Callable[[], Awaitable[None]]) -> None:
    """Run a trio program on a virtual clock, which jumps ahead whenever every task waits."""
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def times() -> None:
    """1. Every value has a time.

    A time is any hashable value that has an order. `values(..., time=f)` gives each value its own time; the times must
    ascend. A module receives a `Batch`, which has a single time, so days are never mixed. Without `time=`, every value
    is at time 0 until `stamp_epochs` numbers the values: here by count; a test, a key or a clock also work.
    """

    @ps.sink
    async def show(upstream: ps.Reader[str], ctx: ps.Context) -> None:
        async for batch in ctx.batches(upstream):
            print(batch)

    ps.run(ps.pipe(ps.values(week(), time=day), ps.map(item), show()))
    print(ps.run(ps.pipe(ps.values("abcde"), ps.stamp_epochs(2), ps.collect(timed=True))))
    # | Batch(time=0, values=['tea', 'rice'])
    # | Batch(time=1, values=['tea', 'tea'])
    # | Batch(time=2, values=['rice'])
    # | [(0, 'a'), (0, 'b'), (1, 'c'), (1, 'd'), (2, 'e')]


def stamping() -> None:
    """2. Event time and late values.

    If the times are part of the values and the source does not know them, `stamp` reads them from the values. They must
    not go back. Often they do, because events from many places arrive out of order. Then nothing can be complete unless
    you say how late a value may be. With `lateness=5`, an hour is over once a value arrives that is more than 5 hours
    later. A value that arrives after that is an error. You can also drop and count such values, or send them to a sink
    of their own so that they are not lost.
    """
    mixed = [Sale(15, "rice"), Sale(12, "tea"), Sale(33, "tea"), Sale(20, "rice"), Sale(30, "tea")]
    late: list[Sale] = []
    for stamp in (
        ps.stamp(hour),
        ps.stamp(hour, lateness=5),
        ps.stamp(hour, lateness=5, late=ps.drain(late.append)),
    ):
        try:
            print(ps.run(ps.pipe(ps.values(mixed), stamp, ps.map(item), ps.collect(timed=True))))
        except ps.errors.CapabilityError as error:
            say(error)
    print(late)
    # | stamp, composed at when_is_it_done.py:117, went back in time: Sale(hour=12, item='tea') is at 12, but 15
    # |   came before. Sort the values, or allow them to be out of order with stamp(..., lateness=...). Downstream
    # |   of merge, put a stamp into each source instead
    # | stamp, composed at when_is_it_done.py:118, got a value that is too late: Sale(hour=20, item='rice') is at
    # |   20, but 33 has already arrived, and lateness=5. Allow more lateness, or pass late="drop" or a sink as
    # |   late=. Downstream of merge, put a stamp into each source instead
    # | [(15, 'rice'), (12, 'tea'), (33, 'tea'), (30, 'tea')]
    # | [Sale(hour=20, item='rice')]


def restamping() -> None:
    """3. From hours to days.

    `map_time` maps times with a function that must keep their order. So a day is complete when all its hours are, and
    no module downstream needs to know about hours. `count_by_key` emits one result per item and day, when that day is
    complete. (`delay(1)` would move everything one day later.)
    """
    by_day = ps.pipe(ps.stamp(hour, lateness=5), ps.map_time(day_of))
    counted = ps.pipe(ps.values(week()), by_day, ps.count_by_key(item))
    print(ps.run(ps.pipe(counted, ps.collect(timed=True))))
    # | [(0, ('tea', 1)), (0, ('rice', 1)), (1, ('tea', 2)), (2, ('rice', 1))]


def frontiers() -> None:
    """4. Frontiers.

    `progress.frontier(at=name)` is the set of the earliest times that may still come out of a module. `watch(at=name)`
    yields it whenever it moves. It begins at BEGINNING, which is before all times, and it ends empty: nothing can come
    any more. The till sells in order, so each sale moves the frontier. On Wednesday at 9 it moves from 1 to 2: until
    then nobody knows that Tuesday is over. A till that closes announces midnight with `ctx.advance`: the frontier can
    move without a value.
    """

    async def watch(source: ps.Source[Sale]) -> None:
        async with ps.pipe(source, ps.drain()).open() as running:
            async for frontier in running.progress.watch(at="till"):
                note(list(frontier))

    on_the_clock(lambda: watch(till(*week())))
    print("and if it closes")
    on_the_clock(lambda: watch(till(*week(), closes=True)))
    # |  0.0 [BEGINNING]
    # |  9.0 [0]
    # | 33.0 [1]
    # | 57.0 [2]
    # | 58.0 []
    # | and if it closes
    # |  0.0 [BEGINNING]
    # |  9.0 [0]
    # | 24.0 [1]
    # | 48.0 [2]
    # | 58.0 []


def completions() -> None:
    """5. Completion.

    `await progress.completed(time)` returns when nothing at that time or earlier can come out any more: of one module,
    with `at=`, and otherwise of all sinks. The output of a sink is its *effect*. Below, Monday is over at the till at
    midnight, but complete only when the clerk, who needs 20 hours per sale, has entered it: a batch counts until its
    receiver asks again. `prefetch` buffers sales for the clerk so that the till does not wait, and the buffered sales
    count as well. Only the code that waits mentions progress; the till, `prefetch` and the clerk contain nothing about
    it.
    """

    @ps.sink
    async def clerk(upstream: ps.Reader[Sale], ctx: ps.Context) -> None:
        async for batch in ctx.batches(upstream):
            await trio.sleep(20 * len(batch.values))
            note(f"entered {[sale.item for sale in batch.values]}")

    async def main() -> None:
        async with ps.pipe(till(*week()[:4], closes=True), ps.prefetch(8), clerk()).open() as running:
            await running.progress.completed(0, at="till")
            note("Monday is over at the till")
            await running.progress.completed(0)
            note("Monday is complete")

    on_the_clock(main)
    # | 24.0 Monday is over at the till
    # | 29.0 entered ['tea']
    # | 49.0 entered ['rice']
    # | 49.0 Monday is complete
    # | 89.0 entered ['tea', 'tea']


def explaining() -> None:
    """6. Why is nothing coming out?

    `explain(time)` lists everything that still keeps a time from being complete, each with its path to the output. Each
    entry is a *pointstamp*, a time at a place; `pointstamps()` lists them all. There are three kinds: a batch that its
    receiver has not acknowledged, a time that a module *holds* for values it keeps, and a time that a source holds for
    values it may still produce. Ready-made modules acknowledge a batch when they answer with its results, or they take
    it and hold the times of the values that they keep. Your own code acknowledges it by asking for the next one, or
    earlier with `ack()`. Below, on Tuesday at noon, one of Monday's prices is still being looked up. It delays Tuesday
    too, since a value at 0 could still lead to one at 1, and so does the till. (If a place has several times, `explain`
    names the earliest.)
    """

    async def look_up(sale: Sale) -> tuple[str, int]:
        await trio.sleep(24)
        return sale.item, len(sale.item)

    async def main() -> None:
        priced = ps.pipe(till(*week(), closes=True), ps.map_async(look_up, 2))
        async with ps.pipe(priced, ps.prefetch(8), ps.drain()).open() as running:
            await trio.sleep_until(36)
            for time in (0, 1):
                note(f"{time} waits for")
                print(*running.progress.explain(time), sep="\n")
            note("in all there are")
            print(*running.progress.pointstamps(), sep="\n")
            await running.progress.completed(0)
            note(f"complete: 0 waits for {running.progress.explain(0)}")

    on_the_clock(main)
    # | 36.0 0 waits for
    # | map_async holds 0 -> prefetch -> drain
    # | 36.0 1 waits for
    # | map_async holds 0 -> prefetch -> drain
    # | till may still produce from 1 -> map_async -> prefetch -> drain
    # | 36.0 in all there are
    # | till may still produce from 1
    # | map_async holds 0
    # | map_async holds 1
    # | 39.0 complete: 0 waits for []


@ps.transformer
async def best_seller(upstream: ps.Reader[Sale], ctx: ps.Context) -> AsyncIterator[ps.Batch[str]]:
    """For each time, yield the item sold most, when the time is complete."""
    sold: dict[Any, Counter[str]] = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, sales):
                ctx.notify_at(time)
                sold.setdefault(time, Counter()).update(sale.item for sale in sales)
            case ps.Completed(time):
                ((item, _),) = sold.pop(time).most_common(1)
                yield ps.Batch(time, [item])


def notified() -> None:
    """7. Be notified when a time is complete.

    `best_seller`, just above, cannot answer before a day is complete. It reads `ctx.events`, which yields batches and
    the completions that the module has requested with `ctx.notify_at`, in the order in which they occur. `notify_at`
    does two things. It requests `Completed(time)`, which is delivered when no batch at that time or earlier can come.
    And it holds the right to answer at that time, so the time is complete downstream only after the answer. The module
    deletes its state for a time when it answers. Here the sales of several days arrive out of order. Still, every day
    is answered once, and on the clock as early as possible: at midnight.
    """
    mixed = [Sale(12, "tea"), Sale(33, "tea"), Sale(15, "rice"), Sale(57, "rice"), Sale(9, "tea")]
    stamped = ps.pipe(ps.stamp(hour, lateness=48), ps.map_time(day_of))
    print(ps.run(ps.pipe(ps.values(mixed), stamped, best_seller(), ps.collect(timed=True))))

    def store(time: int, items: list[str]) -> None:
        note(f"day {time}: {items}")

    async def main() -> None:
        async with ps.pipe(till(*week(), closes=True), best_seller(), ps.at_completion(store)).open() as running:
            await running.result()

    on_the_clock(main)
    # | [(0, 'tea'), (1, 'tea'), (2, 'rice')]
    # | 24.0 day 0: ['tea']
    # | 48.0 day 1: ['tea']
    # | 58.0 day 2: ['rice']


@ps.transformer
async def best_seller_at_once(upstream: ps.Reader[Sale], ctx: ps.Context) -> AsyncIterator[ps.Batch[str]]:
    """Compute the same as `best_seller`, from multi-time batches."""
    sold: dict[Any, Counter[str]] = {}
    async for event in ctx.events(upstream, many=True):
        match event:
            case ps.Completed(time):
                ((item, _),) = sold.pop(time).most_common(1)
                yield ps.Batch(time, [item])
            case sales:
                for time, sale in zip(sales.times, sales.values, strict=True):
                    if time not in sold:
                        ctx.notify_at(time)
                        sold[time] = Counter()
                    sold[time][sale.item] += 1


def many_times() -> None:
    """8. A time for every row.

    If every row has its own timestamp, a batch with one time is a batch of one row, and handing over single rows costs
    far more than processing them. So values of several times travel together in one multi-time batch, `Batch.of(times,
    values)`. It is equivalent to a sequence of single-time batches: each value is at its own time, an ask for ten
    values is answered with at most ten, the end comes after all of it, and while it is in flight its earliest time
    holds the frontier back. Most ready-made modules process it whole. Your own modules receive one time after another,
    as in the section before, unless they pass `many=True`, as `best_seller_at_once`, just above, does. It then receives
    the completions that a batch causes after the whole batch. Its answers are the same.
    """

    @ps.sink
    async def show(upstream: ps.Reader[str], ctx: ps.Context, *, many: bool) -> None:
        async for batch in ctx.batches(upstream, many=many):
            print(batch)

    rows = ps.values(week(), time=hour)
    ps.run(ps.pipe(rows, ps.map(item), show(many=False)))
    ps.run(ps.pipe(rows, ps.map(item), show(many=True)))
    by_day = ps.pipe(rows, ps.map_time(day_of))
    for module in (best_seller(), best_seller_at_once()):
        print(ps.run(ps.pipe(by_day, module, ps.collect(timed=True))))
    # | Batch(time=9, values=['tea'])
    # | Batch(time=15, values=['rice'])
    # | Batch(time=33, values=['tea'])
    # | Batch(time=34, values=['tea'])
    # | Batch(time=57, values=['rice'])
    # | Batch.of(times=[9, 15, 33, 34, 57], values=['tea', 'rice', 'tea', 'tea', 'rice'])
    # | [(0, 'tea'), (1, 'tea'), (2, 'rice')]
    # | [(0, 'tea'), (1, 'tea'), (2, 'rice')]


def no_right() -> None:
    """9. The right to emit.

    You can rely on completion because no module may answer at a time that is complete. A module may answer at the time
    of its current batch, or later, and at times that it holds. If it does not hold the time, it fails before anyone
    downstream is misled. `yesterday` keeps each batch until the next one arrives, and by then the time of the first may
    be complete. It also loses the last batch. `mended` calls `notify_at` for each batch's time, which holds it, and
    answers with the kept values when that time is complete.
    """

    @ps.transformer
    async def yesterday(upstream: ps.Reader[Sale], ctx: ps.Context) -> AsyncIterator[ps.Batch[Sale]]:
        kept: ps.Batch[Sale] | None = None
        async for batch in ctx.batches(upstream):
            if kept is not None:
                yield kept
            kept = batch

    @ps.transformer
    async def mended(upstream: ps.Reader[Sale], ctx: ps.Context) -> AsyncIterator[ps.Batch[Sale]]:
        kept: dict[Any, list[Sale]] = {}
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, sales):
                    ctx.notify_at(time)
                    kept.setdefault(time, []).extend(sales)
                case ps.Completed(time):
                    yield ps.Batch(time, kept.pop(time))

    try:
        ps.run(ps.pipe(ps.values(week(), time=day), yesterday(), ps.collect()))
    except ps.errors.CapabilityError as error:
        say(error)
    print(ps.run(ps.pipe(ps.values(week(), time=day), mended(), ps.count_by_key(key=day), ps.collect())))
    # | yesterday, composed at when_is_it_done.py:376, answered at 0, but may not: it holds nothing, and its current
    # |   batch is at 1. To answer at 0 later, take the right while a batch at it, or before it, is the current one:
    # |   call ctx.notify_at(time), and answer at the Completed(time) that ctx.events(upstream) yields; or enter
    # |   ctx.hold(time), and leave it after the answer (a `with` in the body of an `async for` leaves it before the
    # |   next batch); in a kernel, call self.location.hold(time), and, at the next produce, drop(time) (R12)
    # | [(0, 2), (1, 2), (2, 1)]


def endings() -> None:
    """10. A failure never looks complete.

    When the till breaks on Tuesday, `completed(0)` returns, because Monday is complete, and `completed(1)` raises the
    till's exception. The same happens if a file cannot be written, or if the clerk raises. When the run is aborted, by
    `running.abort()`, by Ctrl-C or by a cancellation, times that are not complete are *abandoned*, and `completed`
    raises `Abandoned`. So code after `await completed(day)` runs for whole days only.
    """

    @ps.source
    async def breaks(_: ps.Context) -> AsyncIterator[ps.Batch[Sale]]:
        yield ps.Batch(0, week()[:2])
        yield ps.Batch(1, week()[2:3])
        raise OSError("out of paper")

    async def failing() -> None:
        with suppress(OSError):
            async with ps.pipe(breaks(), ps.drain()).open() as running:
                await running.wait()
                await reported(running)

    async def aborted() -> None:
        async with ps.pipe(till(*week()), ps.drain()).open() as running:
            await trio.sleep(40)
            await running.abort()
            await reported(running)

    async def reported(running: ps.types.Running[None]) -> None:
        for time in (0, 1):
            try:
                await running.progress.completed(time)
                note(f"{time} is complete")
            except (OSError, ps.errors.Abandoned) as error:
                say(f"{type(error).__name__}: {error}")

    on_the_clock(failing)
    on_the_clock(aborted)
    # |  0.0 0 is complete
    # | OSError: out of paper
    # | 40.0 0 is complete
    # | Abandoned: 1 will not complete at drain, composed at when_is_it_done.py:410: the stream was aborted before


def finishing() -> None:
    """11. Enough: finish or abort.

    Some streams have no end, and yet you want the result of the values so far. `running.abort()` discards it: nothing
    more completes, and `result` raises `Abandoned`. `running.finish()` ends the sources instead. Values in flight are
    still processed, every time completes, the last one with the values it has received, and `result` returns the
    result.
    """

    async def main() -> None:
        for keep in (True, False):
            hours = ps.pipe(ps.interval(1), ps.stamp_epochs(24), ps.count_by_key(lambda _: "hours"))
            async with ps.pipe(hours, ps.collect(timed=True)).open() as running:
                await trio.sleep(30.5)
                await (running.finish() if keep else running.abort())
                try:
                    print(await running.result())
                except ps.errors.Abandoned as error:
                    say(f"Abandoned: {error}")

    on_the_clock(main)
    # | [(0, ('hours', 24)), (1, ('hours', 6))]
    # | Abandoned: the run was aborted before its end


def stalling() -> None:
    """12. A sink that waits for itself.

    A clerk wants to report each day when it is complete, and awaits that. But while the clerk waits, Monday's first
    batch is still in flight to the clerk, so Monday cannot complete, and nothing would ever move again. A run in which
    all tasks wait for each other does not hang. It fails at once, and `StalledError` says what waits for what, and what
    to write instead.

    In the mended sink, a time is complete at the sink's input when the clerk is notified, and at its output, for
    everyone else, when the report has been made. (`ps.at_completion` is shorter. A task beside the stream may await any
    completion, as in the sections above.)
    """

    @ps.sink
    async def waits(upstream: ps.Reader[Sale], ctx: ps.Context, run: Callable[[], ps.types.Running[None]]) -> None:
        async for batch in ctx.batches(upstream):
            await run().progress.completed(batch.time)
            print(f"report of day {batch.time}")

    async def stalled() -> None:
        async with ps.pipe(ps.values(week(), time=day), waits(lambda: running)).open() as running:
            await running.result()

    try:
        on_the_clock(stalled)
    except ps.StalledError as error:
        say(error)

    @ps.sink
    async def is_notified(upstream: ps.Reader[Sale], ctx: ps.Context) -> None:
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time):
                    ctx.notify_at(time)
                case ps.Completed(time):
                    print(f"report of day {time}")

    ps.run(ps.pipe(ps.values(week(), time=day), is_notified()))
    # | no part of this run can move any more, and it has not ended
    # | waits, composed at when_is_it_done.py:476, waits until 0 is complete. Blocked by:
    # |     waits has not acknowledged a batch at 0, and is the module that waits
    # | A module that waits for a time must release it first: ask again, call ack(), or leave the hold. To act when
    # |   a time is complete, call ctx.notify_at(time): ctx.events(upstream) then yields Completed(time)
    # | report of day 0
    # | report of day 1
    # | report of day 2


def going_round() -> None:
    """13. Loops.

    In `ps.loop(body)`, values that the body answers as `ps.Again(value)` go round and enter the body again; all others
    leave the loop. Inside, a time has a counter, the round: `LoopTime(0, (3,))` is round 3 of values that entered at 0.
    Each turn adds one, so progress is well defined even in a cycle: values in round 3 may come back in round 4, but
    never in round 2. Round 2 is complete while round 3 runs, once no more values at 0 can enter from outside, and 0 is
    complete behind the loop when nothing at 0 is left in the loop.

    Below, an order of five cups is split into single cups, and meanwhile we print what 0 waits for.
    """

    async def split(cups: int) -> list[int | ps.Again[int]]:
        await trio.sleep(1)
        return [1] if cups == 1 else [ps.Again(cups // 2), ps.Again(cups - cups // 2)]

    def each(parts: list[int | ps.Again[int]]) -> list[int | ps.Again[int]]:
        return parts

    async def main() -> None:
        body = ps.pipe(ps.map_async(split, 8), ps.flat_map(each))
        async with ps.pipe(ps.once(5), ps.loop(body), ps.collect()).open() as running:
            for _ in range(3):
                await trio.sleep(0.9)
                note(*running.progress.explain(0)[:1])
            await running.progress.completed(0)
            note(f"complete, with {len(await running.result())}")

    on_the_clock(main)
    # |  0.9 map_async has not acknowledged a batch at LoopTime(0, (0,)) -> flat_map -> loop egress -> loop -> collect
    # |  1.8 map_async holds LoopTime(0, (1,)) -> flat_map -> loop egress -> loop -> collect
    # |  2.7 map_async holds LoopTime(0, (2,)) -> flat_map -> loop egress -> loop -> collect
    # |  4.0 complete, with 5


Visit = tuple[str, float]


def round_of(time: Any) -> int:
    """Return the round of a time in a loop."""
    return time.counters[-1]


@ps.transformer
async def wander(
    upstream: ps.Reader[Visit], ctx: ps.Context, links: Mapping[str, list[str]], least: float
) -> AsyncIterator[ps.Batch[Visit | ps.Again[Visit]]]:
    """Emit the visitors of each page per round; 85 % follow one of its links, if there are at least `least`."""
    came: dict[Any, dict[str, float]] = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, visits):
                ctx.notify_at(time)
                here = came.setdefault(time, dict.fromkeys(links, 0.0))
                for page, visitors in visits:
                    here[page] += visitors
            case ps.Completed(time):
                here = came.pop(time)
                onward = [
                    ps.Again((link, 0.85 * visitors / len(links[page])))
                    for page, visitors in here.items()
                    if visitors >= least
                    for link in links[page]
                ]
                if round_of(time) < 3 or not onward:
                    print(f"{time}: {sum(here.values()):.6f} of all visits, which go on by {len(onward)} links")
                yield ps.Batch(time, [*here.items(), *onward])


def converging() -> None:
    """14. PageRank, which ends by completion.

    A page's rank is its share of all visits, if visitors begin anywhere, follow a random link with a probability of
    85 %, and otherwise leave. The loop does just that: it starts with 15 of 100 visits, spread over all pages, and each
    round is a click. `wander`, just above, sums up the visitors of each page per round, as `best_seller` summed up
    days. It can do so because rounds are times, and complete. Behind the loop, `reduce_by_key` counts every visit.

    No code counts rounds or tests whether the ranks still change. When too few visitors are left at each page, nothing
    goes round, so nothing at 0 is left in the loop, so 0 is complete behind it, and `reduce_by_key` answers. The last
    line compares the ranks with those of `tutorials/graphs`, which does the same for larger graphs, and has
    breadth-first search, connected components and, as a loop in a loop, core numbers. In a checkout, run
    `python -m tutorials.graphs --edges 100000`.
    """
    links = {
        "home": ["menu", "news", "map"],
        "menu": ["tea", "rice", "home"],
        "tea": ["green", "black", "menu"],
        "green": ["tea", "order"],
        "black": ["tea", "order"],
        "rice": ["menu", "order"],
        "order": ["basket", "home"],
        "basket": ["order", "pay"],
        "pay": ["home"],
        "news": ["home", "tea"],
        "map": ["home"],
        "jobs": ["home", "map"],
    }
    begin = [(page, 0.15 / len(links)) for page in links]
    visits: ps.Fold[Visit, float] = ps.Fold(float, lambda sum_, visit: sum_ + visit[1])
    ranked = ps.pipe(
        ps.values(begin), ps.loop(wander(links, 1e-6)), ps.reduce_by_key(visits, key=lambda visit: visit[0])
    )
    ranks = dict(ps.run(ps.pipe(ranked, ps.collect())))

    for page in sorted(ranks, key=ranks.__getitem__, reverse=True)[:4]:
        print(f"{page} {ranks[page]:.3f}")
    known = dict(ps.run(ps.pipe(ps.values(list(links)), pagerank(links), ps.collect())))
    print(f"within 0.0001 of theirs: {all(abs(ranks[page] - known[page]) < 1e-4 for page in links)}")
    # | LoopTime(0, (0,)): 0.150000 of all visits, which go on by 25 links
    # | LoopTime(0, (1,)): 0.127500 of all visits, which go on by 23 links
    # | LoopTime(0, (2,)): 0.108375 of all visits, which go on by 23 links
    # | LoopTime(0, (58,)): 0.000004 of all visits, which go on by 0 links
    # | home 0.232
    # | menu 0.135
    # | tea 0.125
    # | order 0.098
    # | within 0.0001 of theirs: True


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
