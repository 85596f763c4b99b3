"""Modules of several streams, ended in every way at every position: all that was opened is released and notified.

The conformance grid ends each of them in more ways; here every stream above and inside has a record of its own.
"""

from itertools import product

import attrs
import pytest
import trio
from trio._core import _run as trio_scheduler

import pullstream as ps

LIMITS = (1, 4)
STOPS = ("abort", "error", "abort under way", "cancel", "end")
"""The ways to end below, and to ask until the end."""


class Boom(Exception):
    """The failure of a module above."""


class Unwanted(Exception):
    """The reason of an error from below."""


@ps.transformer
class Working(ps.authoring.Kernel):
    """Passes every batch on after some time; fails at a value. Every opening has a probe of its own."""

    def __init__(self, case, seconds=0):
        self.case, self.seconds = case, seconds
        self.probe = case.opened()

    async def acquire(self):
        self.probe.acquired += 1

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        await trio.sleep(self.seconds)
        if self.case.way == "inner fails" and batch is not ps.DONE and self.case.position in batch.values:
            raise self.case.boom
        return batch

    async def release(self):
        self.probe.released += 1


@attrs.define
class Case:
    """One way to end, after so many values, with the probes of the stream outside and of those inside."""

    way: str
    position: int
    limit: int
    counting: object
    new_probe: type
    outer: object
    inners: list = attrs.field(factory=list)
    boom: Boom = attrs.field(factory=Boom)
    reason: Unwanted = attrs.field(factory=Unwanted)

    def opened(self):
        """A new probe for a stream inside."""
        self.inners.append(self.new_probe())
        return self.inners[-1]

    def source(self, count):
        """The stream outside: so many values, or as many as the position and then a failure."""
        fails = self.way == "outer fails"
        return self.counting(
            self.outer, self.position if fails else count, delay=1, failure=self.boom if fails else None
        )

    def two(self, number):
        """A stream inside of two values; one of them fails after them."""
        fails = self.way == "inner fails" and number == self.position // 2
        return self.counting(self.opened(), 2, delay=1, failure=self.boom if fails else None)

    def inputs(self, number, *, timed=False):
        """Several streams of four values each; one of them fails after two."""
        fails = [self.way == "inner fails" and each == self.position % number for each in range(number)]
        return [
            self.counting(
                self.opened(), 2 if failed else 4, delay=1, failure=self.boom if failed else None, timed=timed
            )
            for failed in fails
        ]

    def key(self, value):
        if self.way in {"key fails", "way fails"} and value == self.position:
            raise self.boom
        return value % 2

    def failing(self):
        """A stream outside that fails after two values."""
        return self.counting(self.outer, 2, delay=1, failure=Boom())

    def instead(self, _):
        """The stream after a failure that is caught."""
        return self.counting(self.opened(), 3, delay=1)

    def deferred(self, kind):
        inside = ps.take(self.position) if self.way == "takes" else ps.map(lambda value: value)
        handle = ps.deferred(kind)
        handle.resolve(ps.pipe(self.source(3), inside) if kind == "source" else inside)
        return handle if kind == "source" else ps.pipe(self.source(3), handle)


@attrs.frozen
class Stream:
    """How a stream is made for a case, the ways to end it, the number of positions, and all its values."""

    make: object
    ways: tuple
    positions: int
    whole: list
    each: int = 1  # values for each one outside
    ordered: bool = True
    reopens: bool = False


def flattened(make, *, ordered=True):
    """A stream outside of six values, each of which becomes a stream of two."""
    ways = (*STOPS, "outer fails", "inner fails")
    return Stream(lambda case: ps.pipe(case.source(6), make(case)), ways, 6, [0, 1] * 6, each=2, ordered=ordered)


def fanned_in(module, whole, *, number=3, timed=False, ordered=True):
    """Several streams as one."""
    return Stream(
        lambda case: module(*case.inputs(number, timed=timed)), (*STOPS, "inner fails"), 6, whole, ordered=ordered
    )


def added(*sources):
    """A capped `dynamic_merge`."""
    many = ps.dynamic_merge()
    many.add(*sources)
    many.cap()
    return many


def forked(capacity):
    """Two ways for each of six values, one of which may fail."""
    return Stream(
        lambda case: ps.pipe(case.source(6), ps.fork(ps.tap(case.key), ps.take(99), capacity=capacity)),
        (*STOPS, "outer fails", "way fails"),
        6,
        sorted([*range(6)] * 2),
        each=2,
        ordered=False,
    )


def grouped(capacity):
    """Two groups of three values each."""

    def make(case):
        groups = ps.group_by(case.key, Working(case), capacity=capacity)
        return ps.pipe(case.source(6), groups, ps.map(lambda pair: pair[1]))

    return Stream(make, (*STOPS, "outer fails", "inner fails", "key fails"), 6, [*range(6)], ordered=False)


def deferred(kind):
    """A deferred module, which may take only as many values as the position."""
    return Stream(lambda case: case.deferred(kind), (*STOPS, "outer fails", "takes"), 4, [*range(3)])


STREAMS = {
    "flat_map": flattened(lambda case: ps.flat_map(case.two)),
    "flatten": flattened(lambda case: ps.pipe(ps.map(case.two), ps.flatten())),
    "flatten, side by side": flattened(
        lambda case: ps.pipe(ps.map(case.two), ps.flatten(concurrency=3)), ordered=False
    ),
    "group_by": grouped(None),
    "group_by, one at a time": grouped(1),
    "worker_pool": Stream(
        lambda case: ps.pipe(case.source(5), ps.worker_pool(Working(case, 1), Working(case, 1))),
        (*STOPS, "outer fails"),
        5,
        [*range(5)],
    ),
    "catch": Stream(lambda case: ps.pipe(case.failing(), ps.catch(case.instead)), STOPS, 7, [0, 1, 0, 1, 2]),
    "retry": Stream(lambda case: ps.retry(case.failing(), 9, delay=1), STOPS[:-1], 7, [0, 1] * 10, reopens=True),
    "deferred source": deferred("source"),
    "deferred transformer": deferred("transformer"),
    "concat": fanned_in(ps.concat, [*range(4)] * 3),
    "merge": fanned_in(ps.merge, [*range(4)] * 3, ordered=False),
    "merge_sorted": fanned_in(ps.merge_sorted, sorted([*range(4)] * 3)),
    "zip": fanned_in(ps.zip, [(n, n, n) for n in range(4)]),
    "zip, strict": fanned_in(lambda *inputs: ps.zip(*inputs, mode="strict"), [(n, n, n) for n in range(4)]),
    "zip, padded": fanned_in(lambda *inputs: ps.zip(*inputs, mode="padded"), [(n, n, n) for n in range(4)]),
    "combine_latest": fanned_in(lambda *inputs: ps.pipe(ps.combine_latest(*inputs), ps.map(len)), [3] * 10),
    "dynamic_merge": fanned_in(added, [*range(4)] * 3, ordered=False),
    "join": fanned_in(lambda *both: ps.join(*both, on=int), [(n, n) for n in range(4)], number=2, timed=True),
    "join, left": fanned_in(
        lambda *both: ps.join(*both, on=int, how="left"), [(n, n) for n in range(4)], number=2, timed=True
    ),
    "fork": forked(0),
    "fork, with a capacity": forked(3),
}
CELLS = [
    (name, way, position, limit)
    for name, stream in STREAMS.items()
    for way, position, limit in product(stream.ways, range(stream.positions), LIMITS)
]


async def asked(reader, case, values):
    """Ask until as many values as the position have come, then end the stream in the way of the case."""
    while True:
        stops = case.way in STOPS[:-1] and len(values) >= case.position
        if stops and case.way == "abort under way":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(reader.lane().ask, case.limit)
                await trio.sleep(0.5)
                await reader.abort()
            return
        if stops and case.way != "cancel":
            await (reader.abort() if case.way == "abort" else reader.error(case.reason))
            return
        with trio.move_on_after(0.5 if stops else 1000) as scope:
            batch = await reader.ask(case.limit)
        if scope.cancelled_caught or batch is ps.DONE:
            return
        values.extend(batch.values)


@pytest.fixture
def case(request, counting, new_probe):
    return Case(*request.param, counting, new_probe, new_probe())


@pytest.mark.parametrize(("name", "case"), [(name, cell) for name, *cell in CELLS], indirect=["case"], ids=str)
async def test_every_ending(name, case, edge, autojump_clock):
    """Every stream is released as often as it was opened, and notified; a failure arrives as itself, after the rest."""
    stream, way, values, outcome = STREAMS[name], case.way, [], None
    trio_scheduler._r.seed(case.position)
    async with edge(stream.make(case)) as reader:
        try:
            await asked(reader, case, values)
        except Boom as exc:
            outcome = exc
            with pytest.raises(Boom) as again:
                await reader.ask()
            assert again.value is outcome
        if outcome is None and way != "error":
            assert await reader.ask() is ps.DONE
        opened = [probe.acquired for probe in (case.outer, *case.inners)]
        assert [probe.released for probe in (case.outer, *case.inners)] == opened
        assert stream.reopens or max(opened) <= 1
        await trio.sleep(20)
        assert [probe.acquired for probe in (case.outer, *case.inners)] == opened, "opened again after the end"
    assert outcome is (case.boom if "fails" in way else None)

    # The values: all, or those before the ending.
    assert not stream.ordered or values == stream.whole[: len(values)]
    if way == "end":
        assert sorted(values) == sorted(stream.whole)
    elif way in {"outer fails", "key fails", "takes"}:
        assert sorted(values) == sorted(stream.whole[: stream.each * case.position])
    elif way in STOPS:
        assert len(values) >= min(case.position, len(stream.whole)), "ended before"

    # The reasons.
    probes = [probe for probe in (case.outer, *case.inners) if probe.acquired and probe.listens]
    interrupted = [probe for probe in probes if not probe.ended]
    if way == "error":
        assert not stream.reopens or case.outer.reasons[-1:] in ([], [None], [case.reason])
        assert interrupted or stream.each == 1 or not case.position
    elif way in STOPS and not case.position:
        assert way in {"cancel", "abort under way", "end"} or not probes, "opened to be ended"
    reason = {"error": case.reason, "inner fails": case.boom, "key fails": case.boom, "way fails": case.boom}.get(way)
    if way != "outer fails":
        assert all(probe.reasons == [reason] for probe in interrupted)
