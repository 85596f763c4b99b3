"""A dead end with every transformer upstream or downstream of it, and every kind of consumer, in one table.

The clock is virtual: a scene that waits for ever ends at once, and fails.
"""

import pytest

import pullstream as ps
from pullstream.conformance.ready import TRANSFORMERS
from tests.pullstream.common import READY, in_virtual_time, per_time, timed


def dead_end():
    """One value enters, and none leaves: a second one cannot enter."""
    return ps.in_flight(ps.filter(lambda _: False), 1)


MOVED = {"timeout", "stamp_epochs by the clock", "abortable", "worker_pool, dynamic"}
"""Modules that a clock or a handle may move on."""
SILENT = {row.name for row in TRANSFORMERS if row.silent}
MODULES = {name: make() for name, make in READY.items() if name not in MOVED | SILENT} | {"per_time": per_time()}
"""Modules to put before or after a dead end: every ready-made transformer that emits values."""


@ps.sink
async def awaiting(upstream, ctx, box):
    """Waits for the completion of a batch that it has not acknowledged."""
    async for batch in ctx.batches(upstream):
        await box[0].progress.completed(batch.time)


def through_a_pair(source):
    (reading, writing) = ps.duplex.pair()
    return ps.duplex.connect(ps.duplex.Duplex(source, ps.collect()), ps.duplex.Duplex(reading, writing))


def consumers(box):
    """Pipelines of a source, with one more dead end if there are several sources."""
    other = ps.pipe(timed(1, 2, 3), dead_end())
    return {
        "collect": lambda source: ps.pipe(source, ps.collect()),
        "awaiting": lambda source: ps.pipe(source, awaiting(box)),
        "tee": lambda source: ps.pipe(source, ps.tee(ps.drain(), awaiting(box))),
        "tee and prefetch": lambda source: ps.pipe(
            source, ps.prefetch(2), ps.tee(ps.drain(), ps.pipe(ps.prefetch(1), ps.drain()))
        ),
        "partition": lambda source: ps.pipe(source, ps.partition(str, {"1": ps.drain()}, other=ps.drain())),
        "merge": lambda source: ps.pipe(ps.merge(source, other), ps.collect()),
        "zip": lambda source: ps.pipe(ps.zip(source, other), ps.collect()),
        "concat": lambda source: ps.pipe(ps.concat(source, other), ps.collect()),
        "join": lambda source: ps.pipe(ps.join(source, other, on=str), ps.collect()),
        "pair": through_a_pair,
        "group_by": lambda source: ps.pipe(source, ps.group_by(str, ps.prefetch(1)), ps.drain()),
    }


def outcome(main, *args):
    """What a trio program returns or raises in virtual time; a TooSlowError if it does not end."""
    try:
        return in_virtual_time(main, *args)
    except BaseException as exc:
        while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
            exc = exc.exceptions[0]
        return exc


async def result(pipeline, box):
    async with pipeline.open() as running:
        box.append(running)
        return await running.result()


async def read(source):
    async with ps.aiterate(source) as values:
        return [value async for value in values]


def scenes(module):
    """Every scene with a module: its name, and its outcome."""
    for where, source in [
        ("before", ps.pipe(timed(1, 2, 3), module, dead_end())),
        ("after", ps.pipe(timed(1, 2, 3), dead_end(), module)),
    ]:
        box = []
        for name, pipeline in consumers(box).items():
            box.clear()
            yield f"{where}, {name}", outcome(result, pipeline(source), box)
        yield f"{where}, aiterate", outcome(read, source)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", MODULES)
def test_a_dead_end_stalls(name):
    wrong = {scene: found for scene, found in scenes(MODULES[name]) if not isinstance(found, ps.StalledError)}
    assert not wrong
