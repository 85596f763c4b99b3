"""Calls that wait, one after another and sixteen at a time in order: W3a and W3b."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from tests.benchmarks.driving import in_asyncio, in_trio, pathway_rows, pathway_table, piped
from tests.benchmarks.workload import BY_HAND, HERE, Prepare, Run, Target, Workload

WIDTH = 16
SAYS = "An async function waits for one step of the scheduler and adds one. It is called with every number, "
ONE = Workload(
    "W3a",
    "async map, one at a time",
    SAYS + "one call after another.",
    full=50_000,
    quick=10_000,
    smoke=50,
    target=Target(1.2, BY_HAND),
)
MANY = Workload(
    "W3b",
    "async map, 16 at a time",
    SAYS + "sixteen calls at a time; results keep the order of the numbers.",
    full=50_000,
    quick=10_000,
    smoke=50,
    target=Target(1.3, BY_HAND),
)
SORTED = "unordered: sorted by hand"

Call = Callable[[int], Awaitable[int]]


async def call_trio(n: int) -> int:
    import trio

    await trio.lowlevel.checkpoint()
    return n + 1


async def call_asyncio(n: int) -> int:
    import asyncio

    await asyncio.sleep(0)
    return n + 1


async def one_by_one(call: Call, data: list[int]) -> list[int]:
    return [await call(n) for n in data]


async def work(call: Call, data: Any, results: list[int]) -> None:
    """What one of several workers does: the next number, and its result at its place."""
    for place, n in data:
        results[place] = await call(n)


@ONE.limit
def one_plain(size: int) -> Run:
    data = list(range(size))
    return in_asyncio(lambda: one_by_one(call_asyncio, data))


@MANY.limit
def many_plain(size: int) -> Run:
    import asyncio

    data = list(range(size))

    async def main() -> list[int]:
        results = [0] * len(data)
        numbers = enumerate(data)
        await asyncio.gather(*(work(call_asyncio, numbers, results) for _ in range(WIDTH)))
        return results

    return in_asyncio(main)


@ONE.way(BY_HAND)
def one_by_hand(size: int) -> Run:
    data = list(range(size))
    return in_trio(lambda: one_by_one(call_trio, data))


@MANY.way(BY_HAND, note="workers that write results by index: a list at the end, not a stream")
def many_by_hand(size: int) -> Run:
    import trio

    data = list(range(size))

    async def main() -> list[int]:
        results = [0] * len(data)
        numbers = enumerate(data)
        async with trio.open_nursery() as nursery:
            for _ in range(WIDTH):
                nursery.start_soon(work, call_trio, numbers, results)
        return results

    return in_trio(main)


@MANY.way(BY_HAND, "a stream", note="a window of workers that emits results in order during the run")
def window_by_hand(size: int) -> Run:
    import trio

    data = list(range(size))

    async def main() -> list[int]:
        results: list[int] = []
        window: deque[list[int]] = deque()
        values = iter(data)
        changed = trio.Event()
        done = False

        async def working() -> None:
            for n in values:
                slot: list[int] = []
                window.append(slot)
                slot.append(await call_trio(n))
                if window[0]:
                    changed.set()

        async def all_workers() -> None:
            nonlocal done
            async with trio.open_nursery() as nursery:
                for _ in range(WIDTH):
                    nursery.start_soon(working)
            done = True
            changed.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(all_workers)
            while not done or window:
                while window and window[0]:
                    results.append(window.popleft()[0])
                if not done:
                    await changed.wait()
                    changed = trio.Event()
        return results

    return in_trio(main)


def here(width: int) -> Prepare:
    def prepare(size: int) -> Run:
        import pullstream as ps

        program = piped(ps.values(list(range(size))), ps.map_async(call_trio, width), ps.collect())
        return lambda: ps.run(program)

    return prepare


def streamable(width: int) -> Prepare:
    def prepare(size: int) -> Run:
        from streamable import stream

        data = list(range(size))

        async def main() -> list[int]:
            return [n async for n in stream(data).map(call_asyncio, concurrency=width)]

        return in_asyncio(main)

    return prepare


def aiostream(width: int) -> Prepare:
    def prepare(size: int) -> Run:
        from aiostream import pipe, stream

        data = list(range(size))

        async def call(n: int, *_: int) -> int:
            return await call_asyncio(n)

        async def main() -> list[int]:
            values: Any = stream.iterate(data) | pipe.map(call, ordered=True, task_limit=width)
            return await (values | pipe.list())

        return in_asyncio(main)

    return prepare


def reactivex(width: int) -> Prepare:
    def prepare(size: int) -> Run:
        import asyncio

        import reactivex as rx
        from reactivex import operators as ops
        from reactivex.scheduler.eventloop import AsyncIOScheduler

        data = list(range(size))

        def calling(n: int) -> Any:
            return rx.defer(lambda _: rx.from_future(asyncio.ensure_future(call_asyncio(n))))

        async def main() -> list[int]:
            calls = rx.from_iterable(data).pipe(ops.map(calling), ops.merge(max_concurrent=width), ops.to_list())
            loop = asyncio.get_running_loop()
            done: asyncio.Future[list[int]] = loop.create_future()
            calls.subscribe(done.set_result, done.set_exception, scheduler=AsyncIOScheduler(loop))
            return sorted(await done)

        return in_asyncio(main)

    return prepare


def streamz(width: int) -> Prepare:
    def prepare(size: int) -> Run:
        import asyncio

        from streamz import Stream

        data = list(range(size))

        async def main() -> list[int]:
            results: list[int] = []
            done = asyncio.Event()
            source = Stream(asynchronous=True)

            def add(n: int) -> None:
                results.append(n)
                if len(results) == len(data):
                    done.set()

            calls = source.map_async(call_asyncio, parallelism=width)
            calls.sink(add)
            for n in data:
                await source.emit(n)
            await done.wait()
            calls.stop()
            return results

        return in_asyncio(main)

    return prepare


def pathway(width: int) -> Prepare:
    def prepare(size: int) -> Run:
        rows = [(n,) for n in range(size)]

        def build(pw: Any) -> Any:
            async def call(n: int) -> int:
                return await call_asyncio(n)

            udf = pw.udf(executor=pw.udfs.async_executor(capacity=width))(call)
            return pathway_table(pw, rows, n=int).select(n=udf(pw.this.n))

        run = pathway_rows(build)
        return lambda: sorted(n for (n,) in run())

    return prepare


for workload, concurrency in ((ONE, 1), (MANY, WIDTH)):
    workload.way(HERE)(here(concurrency))
    workload.way("streamable")(streamable(concurrency))
    workload.way("aiostream", share=0.2)(aiostream(concurrency))
    workload.way("reactivex", share=0.2, note=SORTED if concurrency > 1 else "")(reactivex(concurrency))
    workload.way("streamz", share=0.2)(streamz(concurrency))
    workload.way("pathway", share=0.2, note=SORTED)(pathway(concurrency))
