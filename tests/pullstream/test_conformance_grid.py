"""Every module, ended in every way, at every position: nothing breaks a rule, hangs or leaks.

The ready-made modules, and one for each way of writing a module: as a generator, as a generator that is told of
completed times, as a kernel.
"""

import random
from contextlib import nullcontext
from functools import cache
from inspect import isfunction, signature
from typing import get_origin

import attrs
import pytest
import trio
from more_itertools import collapse

import pullstream as ps
from pullstream.conformance import READY, Cell, Subject, conformance
from pullstream.conformance.ready import SINKS, TRANSFORMERS, calling
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
    """The ways in which a module's partners may behave, the checker on both faces; by default a sample."""
    report = conformance(subject, cells=amount(12, None), seeds=amount(1, 2)).check()
    print(f"{report.cells.total():,} cells of {subject.name}")
    assert report.cells.total() > 0


def test_the_grid_is_large():
    """The whole is tens of thousands of cells: it has not shrunk unnoticed."""
    sizes = {subject.name: len(Trial(subject).cells) for subject in SUBJECTS}
    assert sum(sizes.values()) > 100_000
    assert min(sizes[subject.name] for subject in SUBJECTS if subject not in SINKS) > 200


def gives_numbers(subject: Subject) -> bool:
    """Whether what it makes of numbers are numbers, which do not go back, so that any other can stand below it."""

    async def main():
        outcome, _ = await Trial(attrs.evolve(subject, ascending=True)).drive(Cell(values=5))
        numbers = [value for _, value in outcome.values]
        return all(isinstance(value, int) for value in numbers) and numbers == sorted(numbers)

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@cache
def stackable() -> list[Subject]:
    return [subject for subject in TRANSFORMERS if subject.ordered and gives_numbers(subject)]


def row_of(chosen: list[Subject]) -> Subject:
    """Some transformers, one below the other, expected of only what is expected of each."""

    def make(function):
        given = [[function] * subject.around + [nullcontext()] * subject.resource for subject in chosen]
        return ps.pipe(*(subject.make(*arguments) for subject, arguments in zip(chosen, given, strict=True)))

    flags = ("batches", "timing", "flushes", "grows", "reopens", "keeps")
    return Subject(
        " -> ".join(subject.name for subject in chosen),
        make,
        around=True,
        ascending=True,
        # What one makes of the numbers may be nothing to the next.
        silent=True,
        # What is asked for ahead may fail when nobody wants it any more; and a `take` that has enough ends what is
        # above it, where something below may still fail of what it gave.
        absorbs=any(subject.absorbs or subject.grows or subject.name.startswith("take") for subject in chosen),
        **{flag: any(getattr(subject, flag) for subject in chosen) for flag in flags},
    )


def ends_unseen(chosen: list[Subject]) -> bool:
    """Whether a `take` may have enough, and end what is above it, though nobody has asked what is below for more."""
    takes = [number for number, subject in enumerate(chosen) if subject.name.startswith("take")]
    return bool(takes) and any(subject.grows or subject.timing for subject in chosen[takes[0] + 1 :])


def rows(number: int, seed: int) -> list[Subject]:
    """Some rows of two to four transformers of the table, without two of the same name."""
    chance = random.Random(seed)
    drawn = [[chance.choice(stackable()) for _ in range(chance.randint(2, 4))] for _ in range(number)]
    made = [row_of(chosen) for chosen in drawn if not ends_unseen(chosen)]
    return list({row.name: row for row in made}.values())


def test_rows_of_modules():
    """What holds for each module holds for any row of them, in any order of the scheduler."""
    for seed in range(amount(1, 20)):
        conformance(*rows(amount(8, 30), 1 + seed), cells=amount(12, 40), seeds=2).check()


ELSEWHERE = {
    "map_thread": "threads do not know of virtual time: test_concurrent_threads.py",
    "map_process": "nor do processes: test_concurrent_processes.py",
    "from_asyncio": "nor does asyncio's loop: test_sources_asyncio.py",
    "once": "made of values",
    "empty": "made of values",
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
    """What the package exports, and gives a blueprint, is in the table, or named above with the reason why not."""
    rows = set().union(*(names_of(Trial(subject).made.modules) for subject in READY))
    exported = {
        name
        for name in ps.__all__
        if isfunction(function := getattr(ps, name))
        and get_origin(signature(function).return_annotation) in (ps.Source, ps.Transformer, ps.Sink)
    }

    assert exported - rows == set(ELSEWHERE)
