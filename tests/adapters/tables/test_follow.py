"""`read_rows` and `read_changes` follow new rows and changes."""

import pytest
import trio

import pullstream as ps
from adapters.tables.cursors import SqlCursor
from adapters.tables.target import Address
from pullstream import tables
from pullstream.incremental import change_of, integrate
from tests.adapters.tables.conftest import SQL
from tests.adapters.tables.helpers import add, begun, read
from tests.programs import until


@pytest.mark.sampled
@pytest.mark.parametrize("base", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("options", "steps"),
    [
        pytest.param(
            {}, [([(1, 1), (2, 2)], [1]), ([(1, 9), (2, 3), (3, 4)], [1, 2, 3])], id="times before the newest"
        ),
        pytest.param(
            {"lateness": 2},
            [([(1, 1), (3, 2)], []), ([(2, 3), (4, 4)], [1]), ([(6, 5)], [1, 2, 3])],
            id="late rows within the lateness",
        ),
        pytest.param(
            {}, [([(1, 1), (5, 2)], [1]), ([(3, 9), (7, 3)], [1, 2])], id="a later row at a time before the newest"
        ),
        pytest.param(
            {"lateness": 2, "key": "number"},
            [([(1, 1), (5, 2)], [1]), ([(2, 8), (3, 9), (9, 4)], [1, 2, 9])],
            id="a later row at a time that was read, with a key",
        ),
        pytest.param(
            {"key": "number"},
            [([(1, 1), (2, 2)], [1, 2]), ([(2, 3)], [1, 2, 3]), ([(2, 4), (3, 5)], [1, 2, 3, 4, 5])],
            id="a key within the newest time",
        ),
    ],
)
async def test_new_rows_are_followed(base, options, steps):
    begun(base)
    seen = []
    pipeline = ps.pipe(read(base, follow=True, every=0.01, **options), ps.drain(lambda row: seen.append(row.number)))
    async with pipeline.open() as running:
        for rows, expected in steps:
            await trio.to_thread.run_sync(add, base, *rows)
            await until(lambda expected=expected: sorted(seen) == expected)
        await trio.sleep(0.1)
        assert sorted(seen) == expected, "no row arrives twice"
        await running.abort()


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
async def test_a_followed_time_completes_at_a_later_one(base):
    begun(base, [(1, 1), (5, 2)])
    pipeline = ps.pipe(read(base, follow=True, every=0.01), ps.collect())
    with trio.fail_after(30):
        async with pipeline.open() as running:
            await running.progress.completed(4)
            await running.abort()


@pytest.mark.parametrize("base", ["delta"], indirect=True)
def test_the_change_feed_of_delta_lake(base, tmp_path):
    prices = [(1, "tea", 3), (1, "rye", 2), (2, "tea", 4), (3, "figs", 1)]
    rows = ps.pipe(ps.values(prices, time=lambda row: row[0]), ps.map(lambda row: {"item": row[1], "price": row[2]}))
    write = tables.write_rows(base.target, "sales", mode="upsert", key="item")
    journal, versions = tmp_path / "journal", []
    changes = ps.pipe(
        tables.read_changes(base.target, "sales"),
        ps.tap(lambda row: versions.append((row.commit_version, row._asdict()["_commit_version"]))),
        ps.map(change_of),
        integrate(),
        ps.collect(timed=True),
    )
    expected = [
        (0, {("tea", 3): 1, ("rye", 2): 1}),
        (1, {("rye", 2): 1, ("tea", 4): 1}),
        (2, {("rye", 2): 1, ("tea", 4): 1, ("figs", 1): 1}),
    ]

    ps.run(ps.pipe(rows, ps.take(3), write))
    assert ps.run(changes, journal=journal) == expected[:2]
    ps.run(ps.pipe(rows, write))
    versions.clear()
    assert ps.run(changes, journal=journal) == expected
    assert set(versions) == {(1, 1), (2, 2)}

    base.clear("sales")
    ps.run(ps.pipe(rows, write))
    with pytest.raises(tables.TableError, match="after version 1 of .* belongs to an earlier table of that name"):
        ps.run(changes, journal=journal)


@pytest.mark.parametrize("base", ["delta"], indirect=True)
async def test_new_versions_are_followed(base):
    def write(day):
        rows = ps.values([{"n": day}], time=lambda _: day)
        ps.run(ps.pipe(rows, tables.write_rows(base.target, "sales")))

    await trio.to_thread.run_sync(write, 0)
    source = tables.read_changes(base.target, "sales", follow=True, every=0.01)
    with trio.fail_after(60):
        async with ps.pipe(source, ps.take(2), ps.map(lambda row: row.n), ps.collect()).open() as running:
            await running.progress.completed(0)
            await trio.to_thread.run_sync(write, 1)
            assert await running.result() == [0, 1]


@pytest.mark.sampled
@pytest.mark.parametrize("base", SQL, indirect=True)
@pytest.mark.parametrize(
    ("options", "row", "column"),
    [
        ({}, "NULL, 7", "day"),
        ({"follow": True}, "NULL, 7", "day"),
        ({"follow": True, "lateness": 1}, "NULL, 7", "day"),
        ({"follow": True, "key": "number"}, "NULL, 7", "day"),
        ({"follow": True, "key": "number"}, "2, NULL", "number"),
    ],
)
async def test_rows_without_a_time_or_key_are_refused(base, options, row, column, tmp_path):
    """The error names the row, which no condition on the column would find. A journal and `follow` add conditions."""
    begun(base, [(1, 1), (2, 2)])
    journal = None if options else tmp_path / "journal"
    for _ in range(0 if options else 2):
        await ps.arun(ps.pipe(read(base), ps.drain()), journal=journal)
    base.query(f"INSERT INTO sales VALUES ({row}, 'x')")
    says = rf"read_rows\(\): the column '{column}' is null in the row {{.*'item': 'x'}} of .*leave out such rows in"
    with trio.fail_after(30), pytest.raises(tables.NullTimeError, match=says):
        await ps.arun(ps.pipe(read(base, **options), ps.drain()), journal=journal)


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_polling_for_rows_does_not_read_the_table(base):
    """If there is an index on the times, and the key is not nullable."""
    base.query("CREATE TABLE sales (day INTEGER, number INTEGER PRIMARY KEY)")
    base.query("CREATE INDEX days ON sales (day, number)")
    numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 5000)"
    cursor = SqlCursor(
        Address.of("read_rows", base.target), "SELECT * FROM sales", ["day", "number"], (), None, follow=True
    )
    cursor.open(None, None)
    try:
        assert cursor.next() is None
        base.query(f"{numbers} INSERT INTO sales SELECT n / 10, n FROM n")
        assert sum(batch.num_rows for batch in iter(cursor.next, None)) == 5000
        hundreds = []
        cursor.table._connection.set_progress_handler(lambda: hundreds.append(1), 100)
        assert cursor.next() is None
    finally:
        cursor.table.close()
    assert len(hundreds) < 10
