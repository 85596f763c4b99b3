"""Lanes and modules in one step: late failures, acknowledgements, indications, rights, wrong answers.

`test_orders.py` has the rules for requests of several lanes, in every order.
"""

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.authoring import NOT_YET, WAIT, PolledKernel
from pullstream.checker import Checker
from pullstream.resuming.resuming import drop_in
from tests.pullstream.common import Answers, steps, until_failure


@pytest.fixture(autouse=True)
def dice(monkeypatch):
    """Let trio order tasks at random, not sorted."""
    monkeypatch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", False)


CHECKS = pytest.mark.parametrize("check", [False, True, "strict"])


class OneThenEnough(ps.authoring.Kernel):
    """Ends its stream with an indication; the kernel does the rest (R7, R8)."""

    def __init__(self, failure, *, lane=False):
        self.given, self.error, self.other = False, failure, lane

    async def produce(self, limit):
        if not self.given:
            self.given = True
            return await self.upstream.ask(1)
        lane = self.upstream.lane() if self.other else self.upstream
        if self.error is not None:
            lane.error_nowait(self.error)
            raise self.error
        lane.abort_nowait()
        return ps.DONE


@CHECKS
@pytest.mark.parametrize("lane", [False, True])
@pytest.mark.parametrize("failure", [None, OSError("line is dead")], ids=str)
def test_a_module_and_its_kernel_end_a_stream_once(failure, lane, check):
    """The kernel's second termination breaks no rule (R9); the diagram shows only the first."""
    checker = Checker(strict=check == "strict")
    pipeline = ps.pipe(ps.integers(), ps.transformer(OneThenEnough)(failure, lane=lane), ps.collect())
    if failure is None:
        assert ps.run(pipeline, check=checker) == [0]
    else:
        with pytest.raises(OSError, match="line is dead"):
            ps.run(pipeline, check=checker)
    assert not checker.violations
    assert sum("done" in line or "error" in line for line in checker.diagram("integers").splitlines()) == 1


@ps.transformer
class ByAFurtherLane(ps.authoring.Kernel):
    """Asks on a lane of its own, and answers while that batch is in flight; at time 2 it answers at 1."""

    async def acquire(self):
        self.lane = self.upstream.lane()

    async def produce(self, limit):
        batch = await self.lane.ask(limit)
        if batch is not ps.DONE and batch.time == 2:
            return ps.Batch(1, batch.values)
        return batch


@pytest.mark.parametrize("check", [False, True])
def test_a_batch_on_a_second_lane_allows_answers_at_its_time(check):
    """Any lane of an input counts, but a batch gives no right to an earlier time."""

    def ran(count):
        return ps.run(ps.pipe(ps.values(range(count), time=int), ByAFurtherLane(), ps.collect()), check=check)

    assert ran(2) == [0, 1]
    with pytest.raises(ps.errors.CapabilityError, match=r"^ByAFurtherLane, .* answered at 1, but may not"):
        ran(3)


@ps.source
class Polled(PolledKernel):
    """Answers a batch, NOT_YET, another batch, and the end."""

    def __init__(self):
        self.rest = [ps.Batch(0, [0]), NOT_YET, ps.Batch(1, [1]), ps.DONE]

    def poll(self, limit):
        return self.rest.pop(0)


@ps.sink
async def by_polls(upstream, ctx):
    """Polls an edge that drops the first time, as if an earlier run had completed it."""
    drop_in(upstream.edge, lambda time: time == 0)
    return [upstream.poll(1) for _ in range(4)]


@ps.sink
async def at_once(upstream, ctx):
    """Asks such an edge instead."""
    drop_in(upstream.edge, lambda time: time == 0)
    return await upstream.ask(1)


NONE_BETWEEN = Answers(ps.Batch(0, [0]), None, ps.Batch(1, [1]))


def test_a_poll_without_an_answer_says_why():
    assert ps.run(ps.pipe(Polled(), by_polls())) == [NOT_YET, NOT_YET, ps.Batch(1, [1]), ps.DONE]
    assert ps.run(ps.pipe(NONE_BETWEEN, by_polls())) == [WAIT] * 4


def test_an_answer_of_none_is_refused():
    with pytest.raises(ps.errors.ProtocolError, match=r"^R2: Answers, .* answered None"):
        ps.run(ps.pipe(NONE_BETWEEN, at_once()))


@pytest.mark.parametrize("limit", [1, 50])
@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([1, 2, 3], "abc", r"a string.*Batch\.of\(times, list"),
        ([1, 2], ["a"], r"numbers of times \(2\) and values \(1\)"),
        ([1, None], ["a", "b"], "the time None"),
        ([1, 2], [], r"numbers of times \(2\) and values \(0\)"),
        ([], [], "0 values to an ask for|a batch without values"),
        (map(int, "12"), ["a", "b"], r"whose times are not a sequence: make a list, Batch\.of\(list"),
        ({1, 2}, ["a", "b"], "whose times are not a sequence"),
        (3, ["a"], "whose times are not a sequence"),
        ([1], [*"abc"], r"numbers of times \(1\) and values \(3\)"),
        ([1], iter("a"), "whose values are not a sequence"),
    ],
)
def test_a_bad_multi_time_answer_is_refused(times, values, message, limit):
    """R2 for multi-time batches: two sequences of equal length, not empty; otherwise no values pass."""

    @ps.source
    class Mistaken(ps.authoring.Kernel):
        async def produce(self, limit):
            return ps.Batch.of(times, values)

    @ps.source
    async def mistaken(ctx):
        yield ps.Batch.of(times, values)

    for source in (Mistaken(), mistaken()):
        assert not until_failure(ps.errors.ProtocolError, source, match=message, limit=limit)[0]


async def test_a_lane_created_while_the_first_waits(autojump_clock):
    """A module wakes one lane only; both asks are answered."""
    others = []

    @ps.transformer
    async def splits(upstream, ctx):
        async def beside():
            await trio.sleep(1.5)
            lane = upstream.lane()
            others.extend((await lane.ask()).values)
            lane.ack()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(beside)
            async for event in ctx.events(upstream):
                if isinstance(event, ps.Batch):
                    ctx.notify_at(event.time + 10)
                    yield event

    async with ps.pipe(steps(4), splits(), ps.collect()).open() as running:
        assert sorted(await running.result() + others) == [0, 1, 2, 3]
    assert len(others) == 1
