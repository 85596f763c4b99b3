"""A million values through every transformer: the memory that is in use does not grow with their number."""

import gc
import sys
import time

import pytest
import trio
from trio.testing import MockClock

import pullstream as ps
from tests.pullstream.common import READY


def through(make, count):
    """Run so many values through a module; how many blocks of memory were in use after a tenth, and at the end."""
    blocks = []

    def numbers():
        for n in range(count):
            if n in (count // 10, count - 1):
                gc.collect()
                blocks.append(sys.getallocatedblocks())
            yield n * 5 // count

    async def main():
        async with ps.pipe(ps.values(numbers()), make(), ps.drain()).open() as running:
            await running.result()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return blocks


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_a_million_values(name):
    """A million values; a hundred thousand through modules that make many steps of the scheduler for each."""
    began = time.perf_counter()
    through(READY[name], 2_000)
    quick = time.perf_counter() - began < 0.04
    blocks = through(READY[name], 1_000_000 if quick else 100_000)
    # Modules that end early have read no further; what a window may keep at most is less than this.
    assert len(blocks) < 2 or blocks[1] - blocks[0] < 40_000
