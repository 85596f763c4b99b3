"""`read_rows`: order, parameters, resuming, and refusals."""

import datetime as dt
import sqlite3
import subprocess
from contextlib import nullcontext
from decimal import Decimal

import pytest
import trio

import pullstream as ps
from adapters.tables.sqlite import SqliteTable
from pullstream import tables
from pullstream.incremental import integrate, upserts
from tests.adapters.tables.conftest import SQL
from tests.adapters.tables.helpers import add, begun, numbers, query, read
from tests.programs import started

sql = pytest.mark.parametrize("base", SQL, indirect=True)


@sql
def test_many_rows_in_many_batches(base, monkeypatch):
    for module in ("postgresql", "sqlite"):
        monkeypatch.setattr(f"adapters.tables.{module}.FETCHED", 100)
    begun(base)
    tables_sink = tables.write_rows(base.target, base.name("many"))
    ps.run(ps.pipe(ps.values([{"day": n % 7, "number": n} for n in range(1000)]), tables_sink))
    many = query(base).replace("sales", "many")

    got = numbers(tables.read_rows(base.target, many, time="day"))

    assert sorted(got) == sorted((n % 7, n) for n in range(1000))
    assert [day for day, _ in got] == sorted(n % 7 for n in range(1000))
    first = ps.run(ps.pipe(tables.read_rows(base.target, many, time="day"), ps.first()))
    assert first.day == 0


@sql
def test_parameters_are_bound(base):
    begun(base, [(1, 1), (2, 2), (3, 3)])
    hostile = "item 2' OR '1' = '1"

    chosen = f"{query(base)} WHERE item = $1"

    assert numbers(tables.read_rows(base.target, chosen, time="day", parameters=["item 2"])) == [(2, 2)]
    assert numbers(tables.read_rows(base.target, chosen, time="day", parameters=[hostile])) == []


@sql
@pytest.mark.parametrize("follow", [False, True])
def test_a_table_in_place_of_a_query_and_semicolons(base, follow):
    begun(base, [(1, 1), (2, 2)])
    name = query(base).partition(" FROM ")[2]

    for table in (name, f" {name};\n", name.replace("sales", '"sales"'), query(base) + ";\n ;"):
        rows = tables.read_rows(base.target, table, time="day", follow=follow)
        assert numbers(ps.pipe(rows, ps.take(1))) == [(1, 1)]


@pytest.mark.parametrize("base", ["duckdb", "postgresql"], indirect=True)
def test_dates_and_timestamps(base, tmp_path):
    """A timestamp is a number of microseconds, as in all sources; a journal resumes there."""
    moments = [dt.datetime(2020, 1, day) for day in (1, 2, 3)]  # noqa: DTZ001 - one without a zone
    rows = ps.values([{"day": moment.date(), "at": moment, "number": moment.day} for moment in moments])
    ps.run(ps.pipe(rows, tables.write_rows(base.target, base.name("sales"))))

    assert numbers(read(base)) == [(moment.date(), moment.day) for moment in moments]
    first = round(moments[0].replace(tzinfo=dt.UTC).timestamp() * 1e6)
    expected = [(first + n * 86400 * 10**6, n + 1) for n in range(3)]
    for _ in "twice":
        assert numbers(read(base, time="at"), journal=tmp_path / "journal")[-1:] == expected[-1:]


@sql
def test_a_journal_continues_after_the_last_complete_time(base, tmp_path):
    """The next run asks the database only for the rest, including the last time, which may have new rows."""
    begun(base, [(1, 1), (2, 2), (2, 3)])
    journal, seen = tmp_path / "journal", []
    pipeline = ps.pipe(
        read(base),
        ps.tap(lambda row: seen.append(row.number)),
        ps.reduce_by_time(ps.agg.sum(lambda row: row.number)),
        ps.map(lambda total: {"total": total}),
        tables.write_rows(base.target, base.name("sums"), mode="replace_time", time="day"),
    )
    assert ps.run(pipeline, journal=journal) == [1, 2]
    add(base, (2, 10), (3, 4))
    base.query("DELETE FROM sales WHERE day = 1")
    seen.clear()

    assert ps.run(pipeline, journal=journal) == [2, 3]

    assert sorted(seen) == [2, 3, 4, 10]
    totals = base.query(query(base, "day, total").replace("sales", "sums") + " ORDER BY day")
    assert totals == [(1, 1), (2, 15), (3, 4)]


@sql
def test_an_upserted_table_is_a_collection_of_changes(base):
    prices = [(1, "tea", 3), (1, "rye", 2), (2, "tea", 4)]
    stamped = ps.pipe(ps.values(prices, time=lambda row: row[0]), ps.map(lambda row: {"item": row[1], "price": row[2]}))
    upserted = tables.write_rows(base.target, base.name("sales"), mode="upsert", key="item", time="day")
    changes = ps.pipe(
        read(base), upserts(lambda row: row.item), ps.map(lambda pair: ((pair[0].item, pair[0].price), pair[1]))
    )
    collection = ps.pipe(changes, integrate(), ps.last())

    ps.run(ps.pipe(stamped, ps.take(2), upserted))
    assert ps.run(collection) == {("tea", 3): 1, ("rye", 2): 1}
    ps.run(ps.pipe(stamped, upserted))
    assert ps.run(collection) == {("rye", 2): 1, ("tea", 4): 1}


NO_TIMES = r"read_rows\(\): the column 'day' of .* is .*(list|numeric).* CAST it"
NO_COLUMN = "is not in the result of .*, whose columns are 'day', 'number', 'item'"
NO_TYPE = r"SQLite has no type for \$1, .*: give a number or text in parameters="
NO_VALUE = r"has no value: write \$1, \$2 and so on, for the values in parameters="
INFINITE = "column 'day' has an infinite date or time"
INFINITIES = [f"{sign}infinity'::{kind}" for sign in ("'", "'-") for kind in ("date", "timestamp")]
LATE_TEXT = "lateness=2 cannot be subtracted from the time '2020-01-01'"
UNREADABLE = [
    *((kind, "SELECT * FROM nothing", {}, r"\(\) cannot read 'SELECT \* FROM nothing' in .*nothing") for kind in SQL),
    *((kind, query, {"time": "week"}, "cannot read .*week") for kind in SQL for query in ("{}", "{} WHERE day > 1")),
    ("duckdb", "SELECT [1] AS day", {}, NO_TIMES),
    ("postgresql", "SELECT 1.5::numeric AS day", {}, NO_TIMES),
    # ADBC turns infinity into the least number, which would be read as a time long ago.
    *(("postgresql", f"SELECT {value} AS day", {}, INFINITE) for value in INFINITIES),
    *(
        (
            "postgresql",
            f"SELECT {value} AS at, 1 AS day",
            {},
            r"column 'at' has an infinite.*nullif\(\"at\", 'infinity'\)",
        )
        for value in INFINITIES
    ),
    *(("duckdb", f"SELECT {value} AS day", {}, "'day' of .* is not in the years 1 to 9999") for value in INFINITIES),
    *(
        ("postgresql", f"SELECT 1 AS day, {value} AS at", {}, r"'at' has the type inet, .*\"at\"::text in the query")
        for value in ("'10.0.0.1'::inet", "ARRAY['10.0.0.1'::inet]")
    ),
    ("sqlite", "SELECT '2020-01-01' AS day", {"follow": True, "lateness": 2}, LATE_TEXT),
    ("sqlite", "SELECT 1 AS day, 5 AS n UNION SELECT 2, 'x'", {}, r"cannot read .*the column 'n' has .*'x'.* Use CAST"),
    *((kind, "{}", {"time": "DAY"}, NO_COLUMN) for kind in ("sqlite", "duckdb")),
    *((kind, "{}", {"key": "Number", "follow": True}, NO_COLUMN) for kind in ("sqlite", "duckdb")),
    *(
        ("sqlite", "{} WHERE number = $1", {"parameters": [value]}, NO_TYPE)
        for value in (Decimal("1.5"), [1], dt.timedelta(1))
    ),
    *(("sqlite", f"{{}} WHERE number = {mark}", {"parameters": [1]}, NO_VALUE) for mark in ("?", ":n", "$2")),
]


@pytest.mark.parametrize(("base", "given", "options", "says"), UNREADABLE, indirect=["base"])
def test_unreadable_queries(base, given, options, says):
    begun(base, [(1, 1)])
    source = tables.read_rows(base.target, given.format(query(base)), **{"time": "day", **options})
    with pytest.raises(tables.TableError, match=says):
        ps.run(ps.pipe(source, ps.drain()))


@pytest.mark.parametrize("name", ["sales.db", "sales.duckdb"])
def test_a_missing_file(tmp_path, name):
    with pytest.raises(tables.TableError, match=rf"cannot read 'SELECT 1' in .*{name}: there is no such file"):
        ps.run(ps.pipe(tables.read_rows(str(tmp_path / name), "SELECT 1", time="day"), ps.drain()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("base", ["duckdb"], indirect=True)
def test_a_file_that_another_process_has_open(base):
    begun(base, [(1, 1)])
    holder = f"import duckdb; held = duckdb.connect({base.target!r}); print(flush=True); input()"
    with started("-c", holder, stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(tables.TableBusyError, match="another process has .* open"):
            ps.run(ps.pipe(tables.read_rows(base.target, query(base), time="day"), ps.drain()))
        process.communicate("\n")


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_connection_is_closed_if_a_source_fails_to_start(base, cancelled, monkeypatch):
    events, scope = [], trio.CancelScope()
    connect, disconnect = SqliteTable.connect, SqliteTable.disconnect

    def connects(table):
        connect(table)
        events.append("connected")
        if not cancelled:
            raise sqlite3.OperationalError("no")
        trio.from_thread.run_sync(scope.cancel)

    monkeypatch.setattr(SqliteTable, "connect", connects)
    monkeypatch.setattr(SqliteTable, "disconnect", lambda table: (disconnect(table), events.append("closed")))
    begun(base)
    pipeline = ps.pipe(tables.read_rows(base.target, "SELECT 1 AS day", time="day"), ps.collect())

    async def main():
        with scope:
            await ps.arun(pipeline)

    with nullcontext() if cancelled else pytest.raises(tables.TableError, match="no"):
        trio.run(main)
    assert events == ["connected", "closed"]
