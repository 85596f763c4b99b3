"""The counters of a run."""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import never


class Hand:
    """A clock moved by hand, and never at 0: work on a value takes a second."""

    now = 1.0

    def work(self, value):
        self.now += 1
        return value


@pytest.fixture
def hand(monkeypatch):
    """The clock of the counters."""
    hand = Hand()
    for module in ("counters", "location"):
        monkeypatch.setattr(f"pullstream.engine.sidecar.{module}.perf_counter", lambda: hand.now)
    return hand


async def counters_of(pipeline, **options):
    async with pipeline.open(**options) as running:
        await running.result()
    return {row.module: row for row in running.counters()}


async def test_values_are_counted_at_every_edge():
    pipeline = ps.pipe(ps.values(range(100)), ps.filter(lambda n: n % 2), ps.take(20), ps.collect())
    for limit in (1, 7, 1000):
        rows = await counters_of(pipeline, limit=limit)
        given = rows["values"].values_out
        assert list(rows) == ["values", "filter", "take", "collect"]
        assert (rows["filter"].values_in, rows["filter"].values_out) == (given, 20)
        assert (rows["take"].values_in, rows["take"].values_out) == (20, 20)
        assert (rows["collect"].values_in, rows["collect"].values_out) == (20, 0)
        assert given == 40 or limit > 1


def times_of(row):
    return row.busy, row.waiting_for_upstream, row.waiting_for_downstream


async def test_a_working_module_is_busy_and_consumers_wait(hand):
    rows = await counters_of(ps.pipe(ps.values(range(5)), ps.map(hand.work), ps.collect()))
    assert {name: times_of(row) for name, row in rows.items()} == {
        "values": (0, 0, 5),
        "map": (5, 0, 0),
        "collect": (0, 5, 0),
    }


async def test_a_branch_that_asks_for_all_waits_for_upstream(hand):
    """The work of modules upstream of the branches does not make it busy."""
    rows = await counters_of(ps.pipe(ps.values([1] * 5), ps.tap(hand.work), ps.tee(ps.collect())))
    assert times_of(rows["tee[0]"]) == (0, 5, 0)


async def test_a_pending_ask_counts_already(hand):
    async with ps.pipe(ps.values([1]), ps.map_async(never, 1), ps.collect()).open() as running:
        await trio.testing.wait_all_tasks_blocked()
        hand.work(None)
        rows = {row.module: row for row in running.counters()}
        await running.abort()
    assert rows["collect"].waiting_for_upstream == 1
    assert (rows["map_async"].values_in, rows["map_async"].values_out) == (1, 0)


async def test_a_module_reports_its_status():
    @ps.transformer
    class Through(ps.authoring.Kernel):
        asked = 0

        async def produce(self, limit):
            self.asked += 1
            return await self.upstream.ask(limit)

        def status(self):
            return f"asked {self.asked} times"

    @ps.transformer
    async def marking(upstream, ctx):
        async for batch in ctx.batches(upstream):
            ctx.status(f"at {batch.values[-1]}")
            yield batch

    @ps.sink
    async def telling(upstream, ctx, text):
        seen = []
        ctx.status(lambda: text(seen))
        async for batch in ctx.batches(upstream):
            seen += batch.values

    sinks = (
        telling(lambda seen: f"{len(seen)} seen").named("counting"),
        telling(lambda _: 1 / 0),
        telling(len).named("n"),
    )
    rows = await counters_of(ps.pipe(ps.values("ab"), Through(), marking(), ps.map(str), ps.tee(*sinks)), limit=1)
    assert {name: row.status for name, row in rows.items() if row.status} == {
        "Through": "asked 3 times",
        "marking": "at b",
        "counting": "2 seen",
        "telling": "its status() raised ZeroDivisionError('division by zero')",
        "n": "2",
    }
    assert rows["telling"].values_in == 2
