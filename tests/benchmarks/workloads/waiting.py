"""Calls that wait, one after another and sixteen at a time, in order: W3a and W3b."""

from collections import deque
from functools import partial

from tests.benchmarks.peers import in_asyncio, in_trio, pathway_rows, pathway_table
from tests.benchmarks.workload import BY_HAND, HERE, Target, Workload

WIDTH = 16
SAYS = "An async function waits for one step of the scheduler and adds one. It is called with every number, "
SIZES = {"full": 50_000, "quick": 10_000, "smoke": 50}
ONE = Workload(
    "W3a", "async map, one at a time", SAYS + "one call after another.", **SIZES, target=Target(1.2, BY_HAND)
)
MANY = Workload(
    "W3b",
    "async map, 16 at a time",
    SAYS + "sixteen calls at a time; results keep the order of the numbers.",
    **SIZES,
    target=Target(1.3, BY_HAND),
)
SORTED = "unordered: sorted by hand"


async def call_trio(n):
    import trio

    await trio.lowlevel.checkpoint()
    return n + 1


async def call_asyncio(n):
    import asyncio

    await asyncio.sleep(0)
    return n + 1


async def one_by_one(call, data):
    return [await call(n) for n in data]


async def work(call, data, results):
    """Work as one of several workers: take the next number, and put its result in its place."""
    for place, n in data:
        results[place] = await call(n)


@ONE.limit
def one_plain(size):
    return in_asyncio(lambda: one_by_one(call_asyncio, range(size)))


@MANY.limit
def many_plain(size):
    import asyncio

    async def main():
        results, numbers = [0] * size, enumerate(range(size))
        await asyncio.gather(*(work(call_asyncio, numbers, results) for _ in range(WIDTH)))
        return results

    return in_asyncio(main)


@ONE.way(BY_HAND)
def one_by_hand(size):
    return in_trio(lambda: one_by_one(call_trio, range(size)))


@MANY.way(BY_HAND, note="workers that write results by index: a list at the end, not a stream")
def many_by_hand(size):
    import trio

    async def main():
        results, numbers = [0] * size, enumerate(range(size))
        async with trio.open_nursery() as nursery:
            for _ in range(WIDTH):
                nursery.start_soon(work, call_trio, numbers, results)
        return results

    return in_trio(main)


@MANY.way(BY_HAND, "a stream", note="a window of workers that emits results in order during the run")
def window_by_hand(size):
    import trio

    async def main():
        results, window, values = [], deque(), iter(range(size))
        changed, done = trio.Event(), False

        async def working():
            for n in values:
                slot = []
                window.append(slot)
                slot.append(await call_trio(n))
                if window[0]:
                    changed.set()

        async def all_workers():
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


def here(size, width):
    import pullstream as ps

    program = ps.pipe(ps.values(list(range(size))), ps.map_async(call_trio, width), ps.collect())
    return lambda: ps.run(program)


def streamable(size, width):
    from streamable import stream

    async def main():
        return [n async for n in stream(range(size)).map(call_asyncio, concurrency=width)]

    return in_asyncio(main)


def aiostream(size, width):
    from aiostream import pipe, stream

    async def call(n, *_):
        return await call_asyncio(n)

    async def main():
        values = stream.iterate(range(size)) | pipe.map(call, ordered=True, task_limit=width)
        return await (values | pipe.list())

    return in_asyncio(main)


def reactivex(size, width):
    import asyncio

    import reactivex as rx
    from reactivex import operators as ops
    from reactivex.scheduler.eventloop import AsyncIOScheduler

    def calling(n):
        return rx.defer(lambda _: rx.from_future(asyncio.ensure_future(call_asyncio(n))))

    async def main():
        calls = rx.from_iterable(range(size)).pipe(ops.map(calling), ops.merge(max_concurrent=width), ops.to_list())
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        calls.subscribe(done.set_result, done.set_exception, scheduler=AsyncIOScheduler(loop))
        return sorted(await done)

    return in_asyncio(main)


def streamz(size, width):
    import asyncio

    from streamz import Stream

    async def main():
        results, done = [], asyncio.Event()
        source = Stream(asynchronous=True)

        def add(n):
            results.append(n)
            if len(results) == size:
                done.set()

        calls = source.map_async(call_asyncio, parallelism=width)
        calls.sink(add)
        for n in range(size):
            await source.emit(n)
        await done.wait()
        calls.stop()
        return results

    return in_asyncio(main)


def pathway(size, width):
    def build(pw):
        async def call(n: int) -> int:
            return await call_asyncio(n)

        udf = pw.udf(executor=pw.udfs.async_executor(capacity=width))(call)
        return pathway_table(pw, [(n,) for n in range(size)], n=int).select(n=udf(pw.this.n))

    run = pathway_rows(build)
    return lambda: sorted(n for (n,) in run())


for workload, width in ((ONE, 1), (MANY, WIDTH)):
    workload.way(HERE)(partial(here, width=width))
    workload.way("streamable")(partial(streamable, width=width))
    workload.way("aiostream", share=0.2)(partial(aiostream, width=width))
    workload.way("reactivex", share=0.2, note=SORTED if width > 1 else "")(partial(reactivex, width=width))
    workload.way("streamz", share=0.2)(partial(streamz, width=width))
    workload.way("pathway", share=0.2, note=SORTED)(partial(pathway, width=width))
