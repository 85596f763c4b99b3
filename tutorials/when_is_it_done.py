"""When is it done: times, frontiers, completion.

Three chapters, after `what_a_pull_is`: `python -m pullstream learn read 7`, and 8 and 11, which are told of the same
tea house. When you have read them, you can give times to values, be told when everything at a time has come and has
been dealt with, do something at that very moment, and find out why it has not come yet.

A pull says what is wanted, and nothing of when it is all there. To write Monday's total you must know that no sale of
Monday's will come any more; and "none has come for a while", as every timeout says, is a guess. So every value has a
*time*, and beside every run stands its *progress*, which keeps count of what may still come, at which times, where.
From that it knows each place's *frontier*: the least times that may still come out of it. A time that the frontier has
left behind is *complete*. That is no guess, whatever is slow, kept, parallel or going round.

Below, a tea house sells tea, and a second of the clock, which jumps when everybody waits, is an hour of its week.
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
    """What was sold, and in which hour of the week."""

    hour: int
    item: str


def hour(sale: Sale) -> int:
    """An hour of the week: 9 is Monday at 9."""
    return sale.hour


def day(sale: Sale) -> int:
    """Monday is 0."""
    return sale.hour // 24


def day_of(hour: int) -> int:
    """The day that an hour is of."""
    return hour // 24


def item(sale: Sale) -> str:
    """Tea, or rice."""
    return sale.item


def week() -> list[Sale]:
    """Two sales on Monday, two on Tuesday, one on Wednesday."""
    return [Sale(9, "tea"), Sale(15, "rice"), Sale(33, "tea"), Sale(34, "tea"), Sale(57, "rice")]


@ps.source
async def till(ctx: ps.Context, *sales: Sale, closes: bool = False) -> AsyncIterator[ps.Batch[Sale]]:
    """Sales as they are made; a till that closes says at midnight that the day is over."""
    for sale in sales:
        while closes and trio.current_time() < day(sale) * 24:
            midnight = int(trio.current_time()) // 24 + 1
            await trio.sleep_until(midnight * 24)
            ctx.advance(midnight)
        await trio.sleep_until(sale.hour)
        yield ps.Batch(day(sale), [sale])


def note(what: object) -> None:
    """Print something, and the hour."""
    print(f"{trio.current_time():4.1f} {what}")


def on_the_clock(main: Callable[[], Awaitable[None]]) -> None:
    """Run a trio program on the clock that jumps."""
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def times() -> None:
    """1. Every value has a time.

    A time is whatever you say: anything hashable that has an order. `values(..., time=f)` gives each value its own, and
    they must come in order. What a module gets is a `Batch`, and that is at one time, so that days are never mixed.
    Without `time=` everything is at 0, until `epochs` numbers it: by count, here, or by a test, a key or the clock.
    """

    @ps.sink
    async def show(upstream: ps.Reader[str], ctx: ps.Context) -> None:
        async for batch in ctx.batches(upstream):
            print(batch)

    ps.run(ps.pipe(ps.values(week(), time=day), ps.map(item), show()))
    print(ps.run(ps.pipe(ps.values("abcde"), ps.epochs(2), ps.collect(timed=True))))
    # | Batch(time=0, values=['tea', 'rice'])
    # | Batch(time=1, values=['tea', 'tea'])
    # | Batch(time=2, values=['rice'])
    # | [(0, 'a'), (0, 'b'), (1, 'c'), (1, 'd'), (2, 'e')]


def stamping() -> None:
    """2. Event time, and what is late.

    Where the times come with the values, and not from the source, `stamp` reads them off. They must not go back. Often
    they do, for what happens in many places comes out of order. Nothing can then be complete, unless you say by how
    much it may be late: with `lateness=5` an hour is over when one has come that is more than 5 hours later. What comes
    later still is an error too; or it is dropped, and counted; or it goes to a sink of its own, and is not lost.
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
        except ps.CapabilityError as error:
            say(error)
    print(late)
    # | stamp, composed at when_is_it_done.py:115, went back in time: Sale(hour=12, item='tea') is at 12, and 15
    # |   came before. Sort the values, or say by how much they may be out of order: stamp(..., lateness=...)
    # | stamp, composed at when_is_it_done.py:116, got a value that is too late: Sale(hour=20, item='rice') is at
    # |   20, after 33 had come, and may be at most 5 behind. Allow for more lateness, or say where such values go:
    # |   late="drop", or late= a sink
    # | [(15, 'rice'), (12, 'tea'), (33, 'tea'), (30, 'tea')]
    # | [Sale(hour=20, item='rice')]


def restamping() -> None:
    """3. From hours to days.

    `restamp` makes times of times, by a function that never turns a later one into an earlier. So a day is complete
    when all its hours are, and nobody downstream need know of hours. What comes out of `count_by_key` is one result
    for each item and day, when that day is complete. (`delay(1)` would make it all one day later.)
    """
    by_day = ps.pipe(ps.stamp(hour, lateness=5), ps.restamp(day_of))
    counted = ps.pipe(ps.values(week()), by_day, ps.count_by_key(item))
    print(ps.run(ps.pipe(counted, ps.collect(timed=True))))
    # | [(0, ('tea', 1)), (0, ('rice', 1)), (1, ('tea', 2)), (2, ('rice', 1))]


def frontiers() -> None:
    """4. Frontiers.

    `progress.frontier(at=name)` is the set of the least times that may still come out of a module, and
    `watch(at=name)` gives it whenever it has moved. It begins at BEGINNING, which is before all times, and it ends
    empty: nothing will come any more. The till moves it with each sale, for it sells in order. On Wednesday at 9 it
    moves from 1 to 2: only then is it known that Tuesday is over. A till that closes says so at midnight, with
    `ctx.advance`: a clock may move without any value.
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
    # | 57.0 []
    # | and if it closes
    # |  0.0 [BEGINNING]
    # |  9.0 [0]
    # | 24.0 [1]
    # | 48.0 [2]
    # | 57.0 []


def completions() -> None:
    """5. Completion.

    `await progress.completed(time)` returns when nothing at that time, or earlier, can come out any more: of a module,
    with `at=`, or else of all sinks. A sink's output is its *effect*. So Monday is over at the till at midnight, and
    complete only when the clerk, who needs 20 hours for each sale, is done with it: a batch counts until its receiver
    asks again. `prefetch` keeps sales for the clerk, so that the till need not wait, and what it keeps counts as well.
    Only who waits speaks of progress: the till, `prefetch` and the clerk go about their work.
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

    `explain(time)` answers: everything that still keeps a time from being complete, with the way it would take. Each is
    a *pointstamp*, a time at a place, and `pointstamps()` lists them all. There are two kinds: a batch that its
    receiver has not acknowledged, and what a module *holds*, be it what it keeps or, in a source, what it may still
    say. A batch is acknowledged when it has been dealt with: the ready modules do so as they answer what comes of it,
    or take it and hold what they keep; code of your own by asking for the next one, or sooner with `ack()`. On Tuesday
    at noon a price of Monday's is still being looked up. It is in Tuesday's way too, for whatever is at 0 could still
    lead to 1 (of several times at one place `explain` names the least); and so is the till.
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
    """For each time, when it is complete, what was sold most."""
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
    """7. Told when a time is complete.

    `best_seller`, just above, cannot answer before a day is complete. It reads `ctx.events`: batches, and the
    completions that it has asked for with `ctx.notify_at`, whichever comes first. `notify_at` does two things. It asks
    to be told `Completed(time)` when no batch at that time or earlier will come, and it holds the right to answer at
    that time; so the time is complete downstream when the answer has been given, and no sooner. What is kept for a time
    is dropped with it. Here the sales come mixed up, from several days at once, and yet every day is answered once,
    and on the clock as soon as it can be: at midnight.
    """
    mixed = [Sale(12, "tea"), Sale(33, "tea"), Sale(15, "rice"), Sale(57, "rice"), Sale(9, "tea")]
    stamped = ps.pipe(ps.stamp(hour, lateness=48), ps.restamp(day_of))
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
    # | 57.0 day 2: ['rice']


@ps.transformer
async def best_seller_at_once(upstream: ps.Reader[Sale], ctx: ps.Context) -> AsyncIterator[ps.Batch[str]]:
    """What `best_seller` answers, of sales at many times at once."""
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

    Where every row has a timestamp of its own, a batch of one time is a batch of one row, and to hand over each by
    itself costs far more than what is done with it. So values of many times travel together, in a `TimedBatch`, which
    has their `times` beside its `values`. It is what as many batches in a row would be: each value is at its own time,
    an ask for ten values is answered with ten at most, the end comes after all of it, and while it is under way the
    least of its times keeps the others from completing. Most ready modules take it whole. Your own get one time after
    another, as in the piece before, unless they say `many=True`, as `best_seller_at_once`, just above, does. It is told
    what the batch has completed after all of it; its answers are the same.
    """

    @ps.sink
    async def show(upstream: ps.Reader[str], ctx: ps.Context, *, many: bool) -> None:
        async for batch in ctx.batches(upstream, many=many):
            print(batch)

    rows = ps.values(week(), time=hour)
    ps.run(ps.pipe(rows, ps.map(item), show(many=False)))
    ps.run(ps.pipe(rows, ps.map(item), show(many=True)))
    by_day = ps.pipe(rows, ps.restamp(day_of))
    for module in (best_seller(), best_seller_at_once()):
        print(ps.run(ps.pipe(by_day, module, ps.collect(timed=True))))
    # | Batch(time=9, values=['tea'])
    # | Batch(time=15, values=['rice'])
    # | Batch(time=33, values=['tea'])
    # | Batch(time=34, values=['tea'])
    # | Batch(time=57, values=['rice'])
    # | TimedBatch(times=[9, 15, 33, 34, 57], values=['tea', 'rice', 'tea', 'tea', 'rice'])
    # | [(0, 'tea'), (1, 'tea'), (2, 'rice')]
    # | [(0, 'tea'), (1, 'tea'), (2, 'rice')]


def no_right() -> None:
    """9. The right to speak.

    Completion can be relied upon since nobody may speak at a time that is complete. A module may answer at the time of
    the batch in its hands, or later, and else only at times that it holds. Who forgets to ask for them is told so,
    before anybody downstream is misled. `yesterday` keeps each batch until the next one has come, and by then the
    time of the first may be complete; besides, nobody ever gets the last one. The mended module asks to be told of
    each batch's time, which holds it, and answers what it kept when that time is complete, and not a moment later.
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
    except ps.CapabilityError as error:
        say(error)
    print(ps.run(ps.pipe(ps.values(week(), time=day), mended(), ps.count_by_key(key=day), ps.collect())))
    # | yesterday, composed at when_is_it_done.py:371, answered at 0, but may not: it holds nothing, and the batch
    # |   that it works on is at 1. To answer at 0 later, keep the right while a batch at it, or before it, is the
    # |   current one: ctx.notify_at(time), and answer when ctx.events(upstream) gives its Completed(time), not
    # |   after; or a ctx.hold(time) that is entered then and left after the answer (by a `with` in the body of an
    # |   `async for` it is left before the next batch); in a kernel, self.location.hold(time), and drop(time) (R12)
    # | [(0, 2), (1, 2), (2, 1)]


def endings() -> None:
    """10. What fails never looks complete.

    When the till breaks on Tuesday, `completed(0)` returns, for Monday is complete, and `completed(1)` raises what
    broke the till. It would be the same for a file that cannot be written, or a clerk that raises. When the run is
    aborted, by `running.abort()`, by Ctrl-C, by a cancellation, times that are not complete are *abandoned*, and
    `completed` raises `Abandoned`. So whatever you write after `await completed(day)` is done for whole days only.
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

    async def reported(running: ps.Running[None]) -> None:
        for time in (0, 1):
            try:
                await running.progress.completed(time)
                note(f"{time} is complete")
            except (OSError, ps.Abandoned) as error:
                say(f"{type(error).__name__}: {error}")

    on_the_clock(failing)
    on_the_clock(aborted)
    # |  0.0 0 is complete
    # | OSError: out of paper
    # | 40.0 0 is complete
    # | Abandoned: 1 will not be complete at drain, composed at when_is_it_done.py:405: the stream was aborted
    # |   before


def finishing() -> None:
    """11. Enough: finish or abort.

    Some streams have no end of their own, and yet one wants what has come so far. `running.abort()` drops it: nothing
    more is completed, and `result` raises `Abandoned`. `running.finish()` ends the sources instead. What is under way
    goes its way, every time completes, the last one with what has come of it, and `result` gives the result.
    """

    async def main() -> None:
        for keep in (True, False):
            hours = ps.pipe(ps.interval(1), ps.epochs(24), ps.count_by_key(lambda _: "hours"))
            async with ps.pipe(hours, ps.collect(timed=True)).open() as running:
                await trio.sleep(30.5)
                await (running.finish() if keep else running.abort())
                try:
                    print(await running.result())
                except ps.Abandoned as error:
                    say(f"Abandoned: {error}")

    on_the_clock(main)
    # | [(0, ('hours', 24)), (1, ('hours', 6))]
    # | Abandoned: the run was aborted before its end


def stalling() -> None:
    """12. The classic mistake.

    A clerk wants to report each day when it is complete, and awaits just that. But while the clerk waits, Monday's
    first batch is still in the clerk's hands, and Monday is not complete while it is there: nothing would ever move
    again. A run in which all wait for each other is not left hanging. It fails at once, and `StalledError` says who
    waits for what, and what to write instead.

    Mended so, a time is complete at the sink's input when the clerk hears of it, and at its output, for everybody else,
    when the report has been made. (Shorter, it is `ps.at_completion`. Another task, beside the stream, may await what
    it likes, as in the pieces above.)
    """

    @ps.sink
    async def waits(upstream: ps.Reader[Sale], ctx: ps.Context, run: Callable[[], ps.Running[None]]) -> None:
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
    async def is_told(upstream: ps.Reader[Sale], ctx: ps.Context) -> None:
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time):
                    ctx.notify_at(time)
                case ps.Completed(time):
                    print(f"report of day {time}")

    ps.run(ps.pipe(ps.values(week(), time=day), is_told()))
    # | nothing in this run can move any more, and it is not at its end
    # | waits, composed at when_is_it_done.py:471, waits until 0 is complete. In its way:
    # |     waits has not acknowledged a batch at 0, which is the one that waits
    # | Who waits for a time lets go of it first (asks again, ack(), leaves the hold). To do something when a time
    # |   is complete, ask to be told: ctx.notify_at(time), and Completed(time) is among ctx.events(upstream)
    # | report of day 0
    # | report of day 1
    # | report of day 2


def going_round() -> None:
    """13. Loops.

    In `ps.loop(body)` what the body answers as `ps.Again(value)` goes round, and comes in once more; all else leaves.
    Inside, a time has a counter, the round: `LoopTime(0, (3,))` is round 3 of what came in at 0. Each turn adds one, so
    that progress need not go round in circles with the values: it knows that what is in round 3 may come back in
    round 4, but never in round 2, that round 2 is complete while round 3 runs, once no more comes in from outside at 0,
    and that 0 is complete behind the loop when nothing at it is in the loop any more.
    Below, an order of five cups is split until there are single ones, and we ask meanwhile what 0 waits for.
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
    """The round that a time in a loop is of."""
    return time.counters[-1]


@ps.transformer
async def wander(
    upstream: ps.Reader[Visit], ctx: ps.Context, links: Mapping[str, list[str]], least: float
) -> AsyncIterator[ps.Batch[Visit | ps.Again[Visit]]]:
    """Answer who comes to each page in a round; 85 of 100 go on by one of its links, if there are `least` of them."""
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
    """14. PageRank, which is done when it is complete.

    A page's rank is the share of all visits that it gets, if visitors begin anywhere, go on by a random link with a
    probability of 85 %, and else go home. So let them go round: 15 of 100 begin, spread over all pages, and each round
    is a click. `wander`, just above, sums up who comes to a page in one round, as `best_seller` summed up days; it can,
    since rounds are times, and complete. Every visit is counted behind the loop, by `reduce_by_key`.

    Nobody counts rounds, or asks whether the ranks still change. When too few are left at each page to go on, nothing
    goes round; so nothing at 0 is in the loop any more; so 0 is complete behind it, and `reduce_by_key` answers. To
    converge is to complete. The last line compares the ranks with those of `tutorials/graphs`, where the same is done
    with larger graphs, and with breadth-first search, connected components and, as a loop in a loop, core numbers: in a
    checkout, `python -m tutorials.graphs --edges 100000`.
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
    known = dict(ps.run(ps.pipe(ps.keys(links), pagerank(links), ps.collect())))
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
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
