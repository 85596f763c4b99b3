"""Programs whose runs are traced in tests, in virtual time and repeatable."""

import functools
import io
from datetime import date

import pytest
import trio

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.checker import Violation
from tests.pullstream.common import in_virtual_time, per_time
from tests.pullstream.shake.scenes import merged, side_by_side, windows


def traced(pipeline, *, seed=0, **options):
    """Run a pipeline in virtual time; return the text of its trace."""
    file = io.StringIO()

    async def main():
        try:
            async with pipeline.open(trace=file, **options) as running:
                await running.result()
        except* ZeroDivisionError:
            pass

    in_virtual_time(main, seed=seed)
    return file.getvalue()


@functools.total_ordering
class Decade:
    """A time of a type that the toolkit does not know."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Decade) and self.number == other.number

    def __le__(self, other):
        return self.number <= other.number

    def __hash__(self):
        return self.number


async def slowly(value):
    await trio.sleep(value % 3 + value / 100)
    return value


def days():
    return ps.pipe(
        ps.values([1, 2, 14, 30], time=lambda n: date(2024, 2, 20 + n // 10)),
        ps.map_async(slowly, 2),
        per_time(),
        ps.collect(),
    )


def rounds():
    return ps.pipe(ps.values([6, 5, 8]), ps.loop(ps.map(lambda n: ps.Again(n // 2) if n % 2 == 0 else n)), ps.collect())


def failing():
    return ps.pipe(ps.values([2, 1, 0]), ps.map(lambda n: 1 // n), ps.collect())


PIPELINES = [days, rounds, failing, windows, side_by_side, merged]


@ps.source
class TooMany(ps.authoring.Kernel):
    """Answers more than it was asked for."""

    traits = Traits(trusted=True)

    async def produce(self, limit):
        return ps.Batch(0, [1, 2, 3])


@ps.transformer
async def back(upstream, ctx):
    """Answers at a time that it has no right to."""
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time - 1, batch.values)


def refused(pipeline, error, **options):
    """The trace of a run that fails."""
    file = io.StringIO()
    with pytest.raises(error):
        ps.run(pipeline, limit=1, trace=file, **options)
    return file.getvalue()


def broken():
    """A run that the checker ends."""
    return refused(ps.pipe(TooMany(), ps.take(5), ps.collect()), Violation, check=True)


def too_late():
    """A run that is not checked."""
    return refused(ps.pipe(ps.values("ab", time=lambda _: 1), back(), ps.collect()), ps.errors.CapabilityError)
