"""Fixtures for tests of the core: sources that keep a record, and an edge that a test drives by hand."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from trio._core import _run as trio_scheduler

import pullstream as ps
from tests.pullstream.counting import stop_clocks


@attrs.define
class Probe:
    """A record of the events at a source."""

    acquired: int = 0
    released: int = 0
    asked: list[int] = attrs.field(factory=list)
    reasons: list[BaseException | None] = attrs.field(factory=list)
    listens: bool = False  # whether `reasons` is kept at all
    ended: bool = False  # by itself

    @property
    def balanced(self) -> bool:
        """Whether everything acquired was released, both at most once."""
        return self.acquired == self.released <= 1


@ps.source
class Counting(ps.authoring.Kernel[int]):
    """Answers 0, 1, ... up to `count`, each at its own time if `timed`, `delay` seconds after the ask."""

    def __init__(self, probe, count, *, delay=0.0, failure=None, timed=False):
        self.probe = probe
        self.count = count
        self.delay = delay
        self.end = failure
        self.timed = timed
        self.given = 0
        probe.listens = True

    async def acquire(self):
        self.probe.acquired += 1

    async def produce(self, limit):
        self.probe.asked.append(limit)
        if self.delay:
            await trio.sleep(self.delay)
        values = list(range(self.given, min(self.count, self.given + (1 if self.timed else limit))))
        self.given += len(values)
        if values:
            return ps.Batch(values[0] if self.timed else 0, values)
        self.probe.ended = True
        if self.end is not None:
            raise self.end
        return ps.DONE

    async def dismiss(self, reason):
        self.probe.reasons.append(reason)
        await super().dismiss(reason)

    async def release(self):
        await trio.lowlevel.checkpoint()
        self.probe.released += 1


@asynccontextmanager
async def edge_of(source, *, release_timeout: float = 5.0) -> AsyncIterator[ps.Reader[Any]]:
    """Open a source with a sink that does nothing, and yield its reader."""
    readers: list[ps.Reader[Any]] = []
    ready, finished = trio.Event(), trio.Event()

    async def held(upstream, ctx):
        readers.append(upstream)
        ready.set()
        await finished.wait()

    pipeline = ps.pipe(source, ps.sink(held)())
    with trio.fail_after(1000):
        async with pipeline.open(release_timeout=release_timeout) as running:
            await ready.wait()
            yield readers[0]
            finished.set()
            await running.result()


async def all_values(reader, limit: int = 1024) -> list[Any]:
    """Ask until the end."""
    values: list[Any] = []
    while (batch := await reader.ask(limit)) is not ps.DONE:
        assert 1 <= len(batch.values) <= limit, "R2"
        values.extend(batch.values)
    return values


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
def new_probe() -> type[Probe]:
    return Probe


@pytest.fixture
def counting() -> Callable[..., ps.Source[int]]:
    return Counting


@pytest.fixture
def edge() -> Callable[..., Any]:
    return edge_of


@pytest.fixture
def drained() -> Callable[..., Any]:
    return all_values


@pytest.fixture
def no_clocks(monkeypatch):
    """The sizes of asks do not depend on how quickly values arrive, as the machine may be busy."""
    stop_clocks(monkeypatch.setattr)


@pytest.fixture(params=[1, 2, 7, 4096])
def limit(request) -> int:
    """The most values that a run asks for at once."""
    return request.param


@pytest.fixture(params=range(6))
def schedule(request) -> None:
    """An order in which trio runs tasks, one for each seed."""
    trio_scheduler._r.seed(request.param)
