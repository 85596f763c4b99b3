"""Short runs inside a program that goes on: one that stops early, and many of a few values: W6 and W13."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from itertools import count, islice
from typing import Any

from tests.benchmarks.driving import bytewax_list, in_asyncio, in_trio, pathway_rows, pathway_table, piped
from tests.benchmarks.workload import BY_HAND, HERE, Run, Target, Workload

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


def more(n: int) -> int:
    return n + 1


def even(n: int) -> bool:
    return n % 2 == 0


Stopped = tuple[list[int], int]
"""The values of the last run, and how many sources have been closed."""


class Numbers:
    """Endless sources that count how many of them have been closed."""

    def __init__(self) -> None:
        self.closed = 0

    def plain(self) -> Iterator[int]:
        try:
            yield from count()
        finally:
            self.closed += 1

    async def waiting(self) -> AsyncIterator[int]:
        try:
            for n in count():
                yield n
        finally:
            self.closed += 1


def again(size: int, once: Callable[[Numbers], list[int]]) -> Run:
    def run() -> Stopped:
        numbers = Numbers()
        values: list[int] = []
        for _ in range(size):
            values = once(numbers)
        return values, numbers.closed

    return run


async def again_async(size: int, once: Callable[[Numbers], Any]) -> Stopped:
    numbers = Numbers()
    values: list[int] = []
    for _ in range(size):
        values = await once(numbers)
    return values, numbers.closed


@STOP.limit
def stop_plain(size: int) -> Run:
    def once(numbers: Numbers) -> list[int]:
        source: Any = numbers.plain()
        values = list(islice(map(more, source), 10))
        source.close()
        return values

    return again(size, once)


@STOP.way(HERE)
def stop_here(size: int) -> Run:
    import pullstream as ps

    @ps.source
    async def endless(ctx: ps.Context, numbers: Numbers) -> AsyncIterator[int]:
        async with aclosing(numbers.waiting()) as values:
            async for n in values:
                yield n

    async def once(numbers: Numbers) -> list[int]:
        program = piped(endless(numbers), ps.map(more), ps.take(10), ps.collect())
        async with program.open() as running:
            return await running.result()

    return in_trio(lambda: again_async(size, once))


async def mapped(values: AsyncIterator[int]) -> AsyncIterator[int]:
    async for n in values:
        yield more(n)


@STOP.way(BY_HAND, note="async generators, closed by hand")
def stop_by_hand(size: int) -> Run:
    async def once(numbers: Numbers) -> list[int]:
        found: list[int] = []
        async with aclosing(numbers.waiting()) as source, aclosing(mapped(source)) as values:
            async for n in values:
                found.append(n)
                if len(found) == 10:
                    break
        return found

    return in_trio(lambda: again_async(size, once))


@STOP.way("streamable", note="closed by garbage collection")
def stop_streamable(size: int) -> Run:
    from streamable import stream

    return again(size, lambda numbers: list(stream(numbers.plain()).map(more).take(10)))


@STOP.way("aiostream")
def stop_aiostream(size: int) -> Run:
    from aiostream import pipe, stream

    async def once(numbers: Numbers) -> list[int]:
        values: Any = stream.iterate(numbers.waiting()) | pipe.map(more) | pipe.take(10)
        return await (values | pipe.list())

    return in_asyncio(lambda: again_async(size, once))


@STOP.way("reactivex", note="closed by garbage collection")
def stop_reactivex(size: int) -> Run:
    import reactivex as rx
    from reactivex import operators as ops

    stages = (ops.map(more), ops.take(10), ops.to_list())
    return again(size, lambda numbers: rx.from_iterable(numbers.plain()).pipe(*stages).run())


# ---- a service


def requests(size: int, handle: Callable[[], Any]) -> Run:
    """So many tasks of trio's, each of which handles a request; the answer to the last."""
    import trio

    async def task(answers: list[Any]) -> None:
        answers[:] = [await handle()]

    async def main() -> list[int]:
        answers: list[list[int]] = []
        for _ in range(size):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(task, answers)
        return answers[0]

    return in_trio(main)


def requests_asyncio(size: int, handle: Callable[[], Any]) -> Run:
    """The same of asyncio's."""
    import asyncio

    async def main() -> list[int]:
        answer: list[int] = []
        for _ in range(size):
            answer = await asyncio.create_task(handle())
        return answer

    return in_asyncio(main)


def at_once(function: Callable[[], list[int]]) -> Callable[[], Any]:
    async def handle() -> list[int]:
        return function()

    return handle


NUMBERS = range(100)


@SERVICE.limit
def service_plain(size: int) -> Run:
    return requests(size, at_once(lambda: [kept for n in NUMBERS if even(kept := more(n))]))


@SERVICE.way(HERE)
def service_here(size: int) -> Run:
    import pullstream as ps

    program = piped(ps.values(NUMBERS), ps.map(more), ps.filter(even), ps.take(1_000), ps.collect())

    async def handle() -> list[int]:
        async with program.open() as running:
            return await running.result()

    return requests(size, handle)


@SERVICE.way(HERE, "progress read", note="its progress is read once")
def service_looked_at(size: int) -> Run:
    import pullstream as ps

    program = piped(ps.values(NUMBERS), ps.map(more), ps.filter(even), ps.take(1_000), ps.collect())

    async def handle() -> list[int]:
        async with program.open() as running:
            running.progress.explain(0)
            return await running.result()

    return requests(size, handle)


@SERVICE.way(BY_HAND, note="async generators")
def service_by_hand(size: int) -> Run:
    async def given() -> AsyncIterator[int]:
        for n in NUMBERS:
            yield n

    async def kept(values: AsyncIterator[int]) -> AsyncIterator[int]:
        async for n in values:
            if even(n):
                yield n

    async def handle() -> list[int]:
        return [n async for n in kept(mapped(given()))]

    return requests(size, handle)


@SERVICE.way("streamable")
def service_streamable(size: int) -> Run:
    from streamable import stream

    return requests(size, at_once(lambda: list(stream(NUMBERS).map(more).filter(even).take(1_000))))


@SERVICE.way("aiostream")
def service_aiostream(size: int) -> Run:
    from aiostream import pipe, stream

    async def handle() -> list[int]:
        values: Any = stream.iterate(NUMBERS) | pipe.map(more) | pipe.filter(even) | pipe.take(1_000)
        return await (values | pipe.list())

    return requests_asyncio(size, handle)


@SERVICE.way("reactivex")
def service_reactivex(size: int) -> Run:
    import reactivex as rx
    from reactivex import operators as ops

    stages = (ops.map(more), ops.filter(even), ops.take(1_000), ops.to_list())
    return requests(size, at_once(lambda: rx.from_iterable(NUMBERS).pipe(*stages).run()))


@SERVICE.way("streamz")
def service_streamz(size: int) -> Run:
    from streamz import Stream

    def handle() -> list[int]:
        source = Stream()
        out: list[int] = source.map(more).filter(even).slice(end=1_000).sink_to_list()
        for n in NUMBERS:
            source.emit(n)
        return out

    return requests(size, at_once(handle))


@SERVICE.way("bytewax", share=0.2)
def service_bytewax(size: int) -> Run:
    def build(op: Any, given: Any) -> Any:
        return op.filter("even", op.map("more", given(NUMBERS), more), even)

    return requests(size, at_once(bytewax_list(build)))


@SERVICE.way("pathway", share=0.01, note="`pw.apply` of the same functions; rows sorted by hand")
def service_pathway(size: int) -> Run:
    rows = [(n,) for n in NUMBERS]

    def build(pw: Any) -> Any:
        table = pathway_table(pw, rows, n=int).select(n=pw.apply(more, pw.this.n))
        return table.filter(pw.apply(even, pw.this.n))

    run = pathway_rows(build)
    return requests(size, at_once(lambda: sorted(n for (n,) in run())))
