"""What concurrency costs: `map_async` against the trio one would write by hand, and an abort through five stages.

    python tests/benchmarks/bench_async.py

Ratios are medians over interleaved repeats; absolute times are of this machine, now.
"""

import statistics
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable

import trio

import pullstream as ps

REPEATS = 25
COUNT = 20_000
WIDTH = 16
ABORTS = 500


async def call(n: int) -> int:
    """One step of the scheduler, as a call that is answered at once would take."""
    await trio.lowlevel.checkpoint()
    return n + 1


async def by_hand_one(data: list[int]) -> list[int]:
    """One call after another."""
    results: list[int] = []
    for n in data:
        results.append(await call(n))  # noqa: PERF401 - what one would write, whatever is done with a result
    return results


async def by_hand_window(data: list[int]) -> list[int]:
    """A window of 16 calls, their results in order: workers that are used again, and no task for each value."""
    results: list[int] = []
    window: deque[list[int]] = deque()
    values = iter(data)
    changed = trio.Event()
    done = False

    async def work() -> None:
        nonlocal changed
        for n in values:
            slot: list[int] = []
            window.append(slot)
            slot.append(await call(n))
            if window[0]:
                changed.set()

    async def workers() -> None:
        nonlocal done
        async with trio.open_nursery() as nursery:
            for _ in range(WIDTH):
                nursery.start_soon(work)
        done = True
        changed.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers)
        while not done or window:
            while window and window[0]:
                results.append(window.popleft()[0])
            if not done:
                await changed.wait()
                changed = trio.Event()
    return results


async def by_hand_limiter(data: list[int]) -> list[int]:
    """The same with a task for each value and a limiter, which is shorter to write."""
    results: dict[int, int] = {}
    limiter = trio.Semaphore(WIDTH)

    async def one(number: int, n: int) -> None:
        results[number] = await call(n)
        limiter.release()

    async with trio.open_nursery() as nursery:
        for number, n in enumerate(data):
            await limiter.acquire()
            nursery.start_soon(one, number, n)
    return [results[number] for number in range(len(data))]


async def piped(data: list[int], concurrency: int) -> list[int]:
    """The same as a pipeline."""
    async with ps.pipe(ps.values(data), ps.map_async(call, concurrency), ps.collect()).open() as running:
        return await running.result()


def compare(name: str, baseline: Callable[[], Awaitable[object]], candidate: Callable[[], Awaitable[object]]) -> None:
    """Print the candidate's time as a ratio to the baseline's, run in turns."""
    pairs: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        times: list[float] = []
        results: list[object] = []
        for function in (baseline, candidate):
            start = time.perf_counter()
            results.append(trio.run(function))
            times.append(time.perf_counter() - start)
        assert results[0] == results[1], f"{name}: the two give different results"
        pairs.append((times[0], times[1]))
    ratio = statistics.median(b / a for a, b in pairs)
    base, cost = (statistics.median(column) / COUNT * 1e6 for column in zip(*pairs, strict=True))
    print(f"{name:<58} x {ratio:5.2f}   {cost:6.2f} us a value   (baseline {base:.2f})")


async def abort_five_stages(stages: Callable[[], ps.Transformer[int, int]]) -> float:
    """The median time, in microseconds, from an abort to its confirmation through five stages in mid-stream."""

    async def aborting(upstream: ps.Reader[int], ctx: ps.Context) -> float:
        del ctx
        await upstream.ask(1)
        start = time.perf_counter()
        await upstream.abort()
        return (time.perf_counter() - start) * 1e6

    pipeline = ps.pipe(ps.count(), stages(), stages(), stages(), stages(), stages(), ps.sink(aborting)())
    times: list[float] = []
    for _ in range(ABORTS):
        async with pipeline.open() as running:
            times.append(await running.result())
    return statistics.median(times)


@ps.transformer
class Passing(ps.Kernel[int]):
    """A stage that is not fused with its neighbours."""

    async def produce(self, limit: int) -> ps.Batch[int] | ps.Done:
        return await self.upstream.ask(limit)  # type: ignore[return-value]


@ps.transformer
async def generated(upstream, ctx):  # type: ignore[no-untyped-def]
    """The same as a generator, which has a task of its own."""
    async for batch in ctx.batches(upstream):
        yield batch


def main() -> None:
    data = list(range(COUNT))
    compare("map_async, concurrency 1, ordered", lambda: by_hand_one(data), lambda: piped(data, 1))
    compare("map_async, concurrency 16, against workers", lambda: by_hand_window(data), lambda: piped(data, WIDTH))
    compare(
        "map_async, concurrency 16, against a task a value", lambda: by_hand_limiter(data), lambda: piped(data, WIDTH)
    )
    kinds = {"kernels": Passing, "generators": generated, "map_async(call, 16)": lambda: ps.map_async(call, WIDTH)}
    for name, stages in kinds.items():
        print(f"abort through five {name:<39} {trio.run(abort_five_stages, stages):8.0f} us")


if __name__ == "__main__":
    sys.exit(main())
