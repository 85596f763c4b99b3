"""What an abort costs: from the sink's to its confirmation, through five stages in mid-stream."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import trio

import pullstream as ps
from tests.benchmarks.driving import piped

ABORTS = 500


@ps.transformer
class Passing(ps.authoring.Kernel[int]):
    """A stage that is not made one loop with its neighbours."""

    async def produce(self, limit: int) -> Any:
        return await self.upstream.ask(limit)


@ps.transformer
async def generated(upstream, ctx):
    """The same as a generator, which has a task of its own."""
    async for batch in ctx.batches(upstream):
        yield batch


async def call(n: int) -> int:
    await trio.lowlevel.checkpoint()
    return n + 1


async def abort_five(stage: Callable[[], Any]) -> float:
    """The median, in microseconds."""

    async def aborting(upstream: ps.Reader[int], ctx: ps.Context) -> float:
        await upstream.ask(1)
        start = time.perf_counter()
        await upstream.abort()
        return (time.perf_counter() - start) * 1e6

    program = piped(ps.integers(), *(stage() for _ in range(5)), ps.sink(aborting)())
    times: list[float] = []
    for _ in range(ABORTS):
        async with program.open() as running:
            times.append(await running.result())
    return statistics.median(times)


def main() -> None:
    kinds = {"kernels": Passing, "generators": generated, "map_async(call, 16)": lambda: ps.map_async(call, 16)}
    for name, stage in kinds.items():
        print(f"abort through five {name:24} {trio.run(abort_five, stage):8.0f} µs")


if __name__ == "__main__":
    main()
