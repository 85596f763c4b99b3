"""What the counters of a run say."""

import time

import trio
import trio.testing

import pullstream as ps


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


async def test_the_one_who_works_is_busy_and_those_below_wait():
    pipeline = ps.pipe(ps.values(range(5)), ps.map(lambda n: time.sleep(0.02) or n), ps.collect())
    rows = await counters_of(pipeline)
    slow, sink, source = rows["map"], rows["collect"], rows["values"]
    assert slow.busy >= 0.1 > slow.waiting_for_upstream + slow.waiting_for_downstream
    assert sink.waiting_for_upstream >= 0.1 > sink.busy
    assert source.waiting_for_downstream >= 0.1 > source.busy


async def test_a_branch_that_asks_for_all_waits_for_upstream():
    """It is not busy with what is above the branches."""
    rows = await counters_of(ps.pipe(ps.values([1] * 5), ps.tap(lambda _: time.sleep(0.02)), ps.tee(ps.collect())))
    assert rows["tee[0]"].busy < 0.1 <= rows["tap"].busy
    assert rows["tee[0]"].waiting_for_upstream >= 0.1


async def test_an_ask_under_way_counts_already():
    async def stuck(value):
        await trio.sleep_forever()

    async with ps.pipe(ps.values([1]), ps.map_async(stuck, 1), ps.collect()).open() as running:
        await trio.testing.wait_all_tasks_blocked()
        time.sleep(0.01)  # noqa: ASYNC251 - it is the wall clock that counts
        rows = {row.module: row for row in running.counters()}
        await running.abort()
    assert rows["collect"].waiting_for_upstream >= 0.01
    assert rows["map_async"].values_in == 1
    assert rows["map_async"].values_out == 0


async def test_a_module_says_how_it_is_doing():
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
