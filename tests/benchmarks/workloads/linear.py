"""Values through stages in a row: W1 and W2 sum them, W6 stops early, and W13 is a service of many short runs."""

import operator
from collections import deque
from contextlib import aclosing
from functools import partial, reduce
from itertools import count, islice

from tests.benchmarks.peers import bytewax_list, in_asyncio, in_trio, pathway_rows, pathway_table
from tests.benchmarks.workload import BY_HAND, HERE, Target, Workload

VALUES = {"full": 1_000_000, "quick": 200_000, "smoke": 100, "target": Target(1.05, first=1.15)}
SUM = Workload(
    "W1",
    "map, filter, sum",
    "Each number is doubled, kept if it is divisible by three, and summed: two Python functions per value.",
    **VALUES,
)
TEN = Workload(
    "W2",
    "ten maps",
    "Ten maps in a row, each with a Python function, and a sum.",
    **VALUES | {"full": 500_000, "quick": 100_000},
)
STOP = Workload(
    "W6",
    "an early stop",
    "Inside a running program: add one to each of the first ten values of an endless source, then close the source. "
    "The runs follow one another.",
    full=2_000,
    quick=400,
    smoke=3,
    unit="run",
    target=Target(3, BY_HAND),
)
SERVICE = Workload(
    "W13",
    "a service",
    "Inside a running program, each run in its own task, like a request: add one to a hundred numbers and keep the "
    "even ones. The limit is such a task with a list comprehension.",
    full=1_000,
    quick=300,
    smoke=3,
    unit="run",
)


# Pathway reads their types.
def double(n: int) -> int:
    return n * 2


def third(n: int) -> bool:
    return n % 3 == 0


def more(n: int) -> int:
    return n + 1


def even(n: int) -> bool:
    return n % 2 == 0


SUM_STAGES = [("map", double), ("filter", third)]
TEN_STAGES = [("map", more)] * 10
STOP_STAGES = [("map", more), ("take", 10)]
SERVICE_STAGES = [("map", more), ("filter", even), ("take", 1_000)]


# ---- each toolkit's stages over values: a function of values, awaited by async toolkits, that sums or collects


def plain(stages, *, summed):
    """Chain Python's own iterators."""

    def run(values):
        for name, how in stages:
            values = islice(values, how) if name == "take" else {"map": map, "filter": filter}[name](how, values)
        return sum(values) if summed else list(values)

    return run


def here(stages, *, summed):
    """Return a program for values or a source."""
    import pullstream as ps

    end = ps.reduce(operator.add, 0) if summed else ps.collect()

    def program(values):
        source = values if isinstance(values, ps.Source) else ps.values(values)
        return ps.pipe(source, *(getattr(ps, name)(how) for name, how in stages), end)

    return program


def by_hand(stages, *, summed):
    """Chain async generators on trio, as users would write them; each is closed by hand."""

    async def given(values):
        for value in values:
            yield value

    async def mapped(function, values):
        async for value in values:
            yield function(value)

    async def kept(test, values):
        async for value in values:
            if test(value):
                yield value

    steps, last = {"map": mapped, "filter": kept}, dict(stages).get("take")

    async def run(values):
        opened = [values if hasattr(values, "__aiter__") else given(values)]
        for name, how in stages:
            if name != "take":
                opened.append(steps[name](how, opened[-1]))
        try:
            if last is not None:
                found = []
                async for value in opened[-1]:
                    found.append(value)
                    if len(found) == last:
                        break
                return found
            if not summed:
                return [value async for value in opened[-1]]
            total = 0
            async for value in opened[-1]:
                total += value
            return total
        finally:
            for generator in reversed(opened):
                await generator.aclose()

    return run


def streamable(stages, *, summed):
    from streamable import stream

    def run(values):
        made = reduce(lambda values, stage: getattr(values, stage[0])(stage[1]), stages, stream(values))
        return sum(made) if summed else list(made)

    return run


def aiostream(stages, *, summed):
    from aiostream import pipe, stream

    async def run(values):
        made = stream.iterate(values)
        for name, how in stages:
            made |= getattr(pipe, name)(how)
        return await (made | (pipe.reduce(operator.add, initializer=0) if summed else pipe.list()))

    return run


def reactivex(stages, *, summed):
    import reactivex as rx
    from reactivex import operators as ops

    parts = [getattr(ops, name)(how) for name, how in stages]
    end = ops.reduce(operator.add, 0) if summed else ops.to_list()
    return lambda values: rx.from_iterable(values).pipe(*parts, end).run()


def streamz(stages, *, summed):
    from streamz import Stream

    def run(values):
        source = made = Stream()
        for name, how in stages:
            made = made.slice(end=how) if name == "take" else getattr(made, name)(how)
        if summed:
            made = made.accumulate(operator.add, start=0)
        # Only the last sum is kept.
        out = deque(maxlen=1 if summed else None)
        made.sink(out.append)
        for value in values:
            source.emit(value)
        return out[0] if summed else list(out)

    return run


def bytewax(stages, *, summed):
    def run(values):
        def build(op, given):
            found = given(values)
            for number, (name, how) in enumerate(stages):
                if name != "take":
                    found = getattr(op, name)(f"{name}{number}", found, how)
            return found

        found = bytewax_list(build)()
        return sum(found) if summed else found

    return run


def pathway(stages, *, summed):
    def run(values):
        def build(pw):
            table = pathway_table(pw, [(n,) for n in values], n=int)
            for name, how in stages:
                if name == "map":
                    table = table.select(n=pw.apply(how, pw.this.n))
                elif name == "filter":
                    table = table.filter(pw.apply(how, pw.this.n))
            return table.reduce(total=pw.reducers.sum(pw.this.n)) if summed else table

        found = sorted(n for (n,) in pathway_rows(build)())
        return found[0] if summed else found

    return run


# ---- sums


def sums(size, make, stages):
    """One run over all values."""
    data, run = list(range(size)), make(stages, summed=True)
    if make is here:
        import pullstream as ps

        program = run(data)
        return lambda: ps.run(program)
    drive = {by_hand: in_trio, aiostream: in_asyncio}.get(make)
    return drive(lambda: run(data)) if drive else lambda: run(data)


APPLIED = "`pw.apply` of the same functions"
SUM_WAYS = {
    HERE: (here, {}),
    BY_HAND: (by_hand, {"note": "async generators"}),
    "streamable": (streamable, {}),
    "aiostream": (aiostream, {"share": 0.2}),
    "reactivex": (reactivex, {"share": 0.5}),
    "streamz": (streamz, {"share": 0.1}),
    "bytewax": (bytewax, {}),
    "pathway": (pathway, {"share": 0.1, "note": APPLIED}),
}
for workload, its_stages in ((SUM, SUM_STAGES), (TEN, TEN_STAGES)):
    workload.limit(partial(sums, make=plain, stages=its_stages))
    for toolkit, (make, options) in SUM_WAYS.items():
        workload.way(toolkit, **options)(partial(sums, make=make, stages=its_stages))


# ---- an early stop


class Numbers:
    """Endless sources that count how many of them have been closed."""

    def __init__(self):
        self.closed = 0

    def plain(self):
        try:
            yield from count()
        finally:
            self.closed += 1

    async def waiting(self):
        try:
            for n in count():
                yield n
        finally:
            self.closed += 1


def stops(size, make):
    """Runs one after another; return the values of the last, and the number of closed sources."""
    run = make(STOP_STAGES, summed=False)

    def once(numbers):
        source = numbers.plain()
        values = run(source)
        if make is plain:
            source.close()
        return values

    def again():
        numbers = Numbers()
        return [once(numbers) for _ in range(size)][-1], numbers.closed

    return again


def stops_async(size, make):
    """The same in an event loop of trio or asyncio."""
    if make is here:
        import pullstream as ps

        program = here(STOP_STAGES, summed=False)

        @ps.source
        async def endless(ctx, numbers):
            async with aclosing(numbers.waiting()) as values:
                async for n in values:
                    yield n

        async def once(numbers):
            async with program(endless(numbers)).open() as running:
                return await running.result()
    else:
        run = make(STOP_STAGES, summed=False)

        async def once(numbers):
            return await run(numbers.waiting())

    async def again():
        numbers = Numbers()
        return [await once(numbers) for _ in range(size)][-1], numbers.closed

    return (in_asyncio if make is aiostream else in_trio)(again)


STOP.limit(partial(stops, make=plain))
STOP.way(HERE)(partial(stops_async, make=here))
STOP.way(BY_HAND, note="async generators, closed by hand")(partial(stops_async, make=by_hand))
STOP.way("streamable", note="closed by garbage collection")(partial(stops, make=streamable))
STOP.way("aiostream")(partial(stops_async, make=aiostream))
STOP.way("reactivex", note="closed by garbage collection")(partial(stops, make=reactivex))


# ---- a service

NUMBERS = range(100)


def requests(size, make, *, look=False):
    """A task for each request; return the answer to the last one."""
    import asyncio

    import trio

    # A program by hand would not have a limit that is never reached.
    run = make(SERVICE_STAGES[:2] if make is by_hand else SERVICE_STAGES, summed=False)
    program = run(NUMBERS) if make is here else None

    async def handle():
        if make is here:
            async with program.open() as running:
                if look:
                    running.progress.explain(0)
                return await running.result()
        return await run(NUMBERS) if make in (by_hand, aiostream) else run(NUMBERS)

    async def keep(answers):
        answers[:] = [await handle()]

    async def main():
        answers = []
        for _ in range(size):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(keep, answers)
        return answers[0]

    async def main_asyncio():
        return [await asyncio.create_task(handle()) for _ in range(size)][-1]

    return in_asyncio(main_asyncio) if make is aiostream else in_trio(main)


def in_one(stages, *, summed):
    """Return the limit of a service: one list comprehension."""
    return lambda values: [kept for n in values if even(kept := more(n))]


SERVICE.limit(partial(requests, make=in_one))
SERVICE.way(HERE, "progress read", note="its progress is read once")(partial(requests, make=here, look=True))
LESS = {"bytewax": {"share": 0.2}, "pathway": {"share": 0.01, "note": f"{APPLIED}; rows sorted by hand"}}
for toolkit, (make, options) in SUM_WAYS.items():
    own = LESS.get(toolkit, {"note": options["note"]} if toolkit == BY_HAND else {})
    SERVICE.way(toolkit, **own)(partial(requests, make=make))
