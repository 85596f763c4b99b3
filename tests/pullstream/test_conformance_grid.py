"""Every module, ended in every way, at every position: nothing breaks a rule, hangs or leaks.

The ready-made modules, and one for each way of writing a module: as a generator, as a generator that receives
completions, as a kernel.
"""

from inspect import isfunction, signature
from typing import get_origin

import pytest
import trio
from more_itertools import collapse

import pullstream as ps
from pullstream.conformance import READY, Subject, conformance
from pullstream.conformance.ready import SINKS, calling
from pullstream.conformance.trial import Trial
from tests.sampling import amount


@ps.transformer
async def by_generator(upstream, ctx, function):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [function(value) for value in batch.values])


@ps.transformer
async def by_events(upstream, ctx, function):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                yield ps.Batch(time, [function(value) for value in values])


@ps.transformer
class ByKernel(ps.authoring.Kernel):
    def __init__(self, function):
        self.function = function

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        await trio.sleep(0.1)
        return ps.Batch(batch.time, [self.function(value) for value in batch.values])


@ps.source
async def generated(ctx, resource):
    async with resource:
        for value in range(4):
            await trio.sleep(1)
            yield ps.Batch(value // 2, [value])


def several(function):
    return ps.pipe(
        ps.map(function),
        by_generator(lambda value: value),
        ps.flat_map(lambda value: [value]),
        by_events(lambda value: value),
        ps.take(99),
    )


def later(function):
    return ps.map_async(calling(function), 1)


OWN = (
    Subject("a generator", by_generator, around=True, batches=True),
    Subject("a generator with completions", by_events, around=True, batches=True),
    Subject("a kernel", ByKernel, around=True, batches=True),
    Subject("a source that is a generator", generated, resource=True),
    Subject("a row of all kinds", several, around=True),
    Subject("streams by key", lambda f: ps.group_by(lambda n: n % 2, later(f)), around=True, ordered=False),
    Subject("one stream at a time", lambda f: ps.group_by(f, later(f), capacity=1), around=True, ordered=False),
)

SUBJECTS = (*READY, *OWN)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_grid(subject):
    """The ways in which a module's partners may behave, the checker on both faces; by default a sample.

    A process for each module costs more than its sample: only the full run, which takes long, survives one that spins.
    """
    report = conformance(subject, cells=amount(5, None), seeds=amount(1, 2), limit=amount(None, 20)).check()
    print(f"{report.cells.total():,} cells of {subject.name}")
    assert report.cells.total() > 0


def test_the_grid_is_large():
    sizes = {subject.name: len(Trial(subject).cells) for subject in SUBJECTS}
    assert sum(sizes.values()) > 100_000
    assert min(sizes[subject.name] for subject in SUBJECTS if subject not in SINKS) > 200


ELSEWHERE = {
    "map_thread": "threads do not use virtual time: test_concurrent_threads.py",
    "map_process": "nor do processes: test_concurrent_processes.py",
    "from_asyncio": "nor does asyncio's loop: test_sources_asyncio.py",
}


def names_of(modules) -> set[str]:
    """The names of modules, and of those inside them."""
    found = set()
    for module in modules:
        found.add(module.name)
        for argument in collapse(module.args, base_type=ps.types.Blueprint):
            if isinstance(argument, ps.types.Blueprint):
                found |= names_of(argument.modules)
    return found


def test_every_module_has_a_row():
    """Every exported function that returns a blueprint is in the table, or named above with the reason why not."""
    rows = set().union(*(names_of(Trial(subject).made.modules) for subject in READY))
    exported = {
        name
        for name in ps.__all__
        if isfunction(function := getattr(ps, name))
        and get_origin(signature(function).return_annotation) in (ps.Source, ps.Transformer, ps.Sink)
    }

    assert exported - rows == set(ELSEWHERE)
