"""Refusals when composing or at a row, their messages, and the times that are committed before them."""

import datetime as dt
import pickle
from contextlib import nullcontext
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import pullstream as ps
from pullstream import CompositionError, tables
from tests.adapters.tables.conftest import SQL
from tests.adapters.tables.helpers import modes, sales, sold, write
from tests.programs import printed


@pytest.mark.sampled
@pytest.mark.parametrize("day", [dt.date(2026, 3, 2), "2026-03-02", 2])
def test_times_of_another_type_than_the_column(base, day):
    for time in {"2026-03-02", dt.date(2026, 3, 2), 2} - {day}:
        with pytest.raises(tables.SchemaError) as refused:
            write(ps.values([{"day": day}], time=lambda _, time=time: time), base, time="day")
        assert f"row 1 of the time {time!r} has {day!r} in the column 'day': the time of the row is" in str(
            refused.value
        )
        if isinstance(time, str) or isinstance(day, str):
            assert f"is {time!r} ({type(time).__name__}), and the column is " in str(refused.value)
            assert "stamp the rows by the column with ps.stamp, or convert" in str(refused.value)


@pytest.mark.parametrize("base", ["duckdb"], indirect=True)
def test_times_that_are_equal_in_python(base):
    """Such as those in the hour that clocks show twice."""
    twice = [dt.datetime(2026, 10, 25, 2, fold=fold, tzinfo=ZoneInfo("Europe/Berlin")) for fold in (0, 1)]
    with pytest.raises(tables.SchemaError, match=r"row 2 of .* has .*fold=1.*: stamp the rows in UTC"):
        write(ps.values([{"day": day} for day in twice], time=lambda row: row["day"]), base, time="day")


WRITES = [
    ({"table": ""}, "needs the name of a table, or a pair"),
    ({"table": "a\0b"}, "needs the name of a table, or a pair"),
    ({"table": ("a", "b", "c")}, "needs the name of a table, or a pair"),
    ({"table": "PULLSTREAM_TARGETS"}, "are reserved for its records"),
    ({"table": "pullstream_times"}, "are reserved for its records"),
    ({"target": "mysql://host/x"}, "got the scheme 'mysql': give the path of a file that ends with .sqlite"),
    ({"target": "sales.txt"}, "got 'sales.txt': give the path"),
    ({"target": 5}, "got 5: give the path"),
    ({"target": "sqlite://"}, "needs a persistent database, but got 'sqlite://'"),
    ({"target": "delta://lake"}, "got 'delta://lake': for the path 'lake', write delta:///lake"),
    ({"target": "delta:///lake", "table": "../sales"}, "must not contain slashes or control characters"),
    ({"target": "iceberg:///lake", "table": ("..", "sales")}, "begin with a dot or an underscore"),
    ({"target": "postgresql://host/x", "table": "a" * 64}, "PostgreSQL cuts names off after 63 bytes"),
    ({"table": ("a", "b")}, "SQLite has only the schema 'main'"),
    ({"table": "main.sales"}, r"give the schema and the name as a pair, \('main', 'sales'\)"),
    ({"table": "q1.sales"}, r"as a pair, \('main', 'q1.sales'\)"),
    ({"table": ".sales"}, r"as a pair, \('main', '.sales'\)"),
    ({"target": "s.duckdb", "table": "sales."}, r"the name as a pair also for"),
    ({"target": "s.duckdb", "table": "db.main.sales"}, r"as a pair, \('db.main', 'sales'\)"),
    ({"mode": "insert"}, "got mode='insert': it must be 'append', 'upsert' or 'replace_time'"),
    ({"mode": "upsert"}, "mode='upsert' needs the key's column"),
    ({"key": "a"}, "and the other modes take none"),
    ({"mode": "replace_time"}, "give the name of the column with the time"),
    ({"schema": {"a": "int65"}}, "got schema="),
]
CALLS = {
    tables.read_rows: {"target": "sales.db", "query": "SELECT 1", "time": "day"},
    tables.read_changes: {"target": "delta:///lake", "table": "sales"},
    tables.write_rows: {"target": "sales.db", "table": "sales"},
}


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (tables.read_rows, {"target": "delta:///lake"}, "For Delta Lake, use read_changes"),
        (tables.read_rows, {"every": 60}, "got every=60, which needs follow=True"),
        (tables.read_rows, {"target": "x.txt"}, "got 'x.txt'"),
        (tables.read_rows, {"query": " "}, "needs text for its argument 'query', but got ' '"),
        (tables.read_rows, {"time": None}, "needs text for its argument 'time', but got None"),
        (tables.read_rows, {"key": 5}, "needs text for its argument 'key', but got 5"),
        (tables.read_rows, {"parameters": "60"}, "needs a list of values as parameters, but got '60': write \\$1, "),
        (tables.read_rows, {"parameters": {"n": 60}}, "needs a list of values as parameters, but got {'n': 60}"),
        (tables.read_rows, {"parameters": 60}, "needs a list of values as parameters, but got 60"),
        (tables.read_rows, {"lateness": 1}, "need follow=True"),
        (tables.read_rows, {"every": 0}, "needs a positive number of seconds for its argument 'every'"),
        (tables.read_rows, {"as_": "sets"}, "got as_='sets'"),
        (tables.read_rows, {"query": ...}, r"needs the argument 'query'\. Write read_rows\(target, query, time"),
        (tables.read_rows, {"time": ...}, r"needs the argument 'time'\. Write read_rows\("),
        (tables.read_changes, {"target": "sales.db"}, "got 'sales.db': only Delta Lake has a change feed here, .*"),
        (tables.read_changes, {"target": "postgresql://ann:x1@h/x"}, r"got 'postgresql://ann:\*\*\*@h/x': only"),
        (tables.read_changes, {"begin": -1}, "for its argument 'begin', but got -1"),
        (tables.read_changes, {"table": ...}, r"needs the argument 'table'\. Write read_changes\(target, table, "),
        *((tables.write_rows, *row) for row in WRITES),
        (tables.write_rows, {"table": ...}, r"needs the argument 'table'\. Write write_rows\(target, table, mode="),
        (tables.write_rows, {"keys": "a"}, r"has no argument 'keys'"),
    ],
)
def test_refused_when_composing(function, given, says):
    with pytest.raises(CompositionError, match=says):
        function(**{name: value for name, value in {**CALLS[function], **given}.items() if value is not ...})


def test_mismatched_values(base):
    """The error has table, column, time, row and a fix; the time before is written, and nothing of this one."""
    rows = ps.values([{"n": 1}, {"n": 2}, {"n": "x"}], time=lambda row: 1 if row["n"] == 1 else 2)
    for schema, name in ({"n": "int64"}, "sales"), (None, "derived"):
        with pytest.raises(tables.SchemaError) as refused:
            write(rows, base, name, schema=schema)
        message = str(refused.value)
        place = base.target.removeprefix(f"{base.kind}:///")
        assert message.startswith(f"write_rows() to the table {base.shown(name)!r} in {place}: the column 'n' ")
        assert "cannot hold 'x' (str), row 2 of the time 2: " in message
        assert "convert the values with ps.map" in message
        assert base.query(f"SELECT n FROM {name}") == [(1,)]


CHANGED = {
    ("a", float("nan")): {
        "sqlite": r"'f1' is double, and cannot hold nan \(float\), row 2 of the time 0: SQLite would store NaN as",
        "iceberg": r"'f1' is double, and cannot hold nan \(float\), row 2 of the time 0: the driver finds no row",
    },
    ("a\0", 1.0): {"postgresql": r"cannot hold 'a\\x00' \(str\), row 2 of the time 0: PostgreSQL cannot"},
}


@pytest.mark.parametrize("row", CHANGED, ids=ascii)
def test_values_that_the_database_would_change(base, row):
    says = CHANGED[row].get(base.kind)
    with pytest.raises(tables.SchemaError, match=says) if says else nullcontext():
        write(ps.values([("fine", 1.0), row]), base, mode="upsert", key=["f0", "f1"])


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
@pytest.mark.parametrize("long", ["abc ", "abcd"])
@pytest.mark.parametrize("options", [{}, {"mode": "upsert", "key": "item"}])
def test_text_that_is_longer_than_its_column(base, long, options):
    """PostgreSQL would cut off the spaces, and then take the keys for the same."""
    base.query("CREATE TABLE sales (item VARCHAR(3) PRIMARY KEY)")
    says = f"cannot hold {long!r} .*, row 3 of the time 0: PostgreSQL cannot .* here more than 3 characters"
    with pytest.raises(tables.SchemaError, match=says):
        write(ps.values([{"item": "abc"}, {"item": "äöü"}, {"item": long}]), base, **options)


ARROW_ONLY = {
    "sqlite": [
        (pa.array([0, 253402300800], pa.timestamp("s")), "SQLite's dates have the years 1 to 9999"),
        (pa.array([0, -719163], pa.date32()), "SQLite's dates have the years 1 to 9999"),
    ],
    "duckdb": [(pa.array([1000, 1], pa.duration("ns")), "DuckDB would round an interval to microseconds")],
}


def test_arrow_values_that_the_database_would_change(base):
    for values, says in ARROW_ONLY.get(base.kind, ()):
        with pytest.raises(tables.SchemaError, match=f"row 2 of the time 0.*{says}"):
            write(ps.values([pa.record_batch({"v": values})]), base)
        write(ps.values([pa.record_batch({"v": values[:1]})]), base, f"kept_{values.type.bit_width}")


NAIVE = dt.datetime(2026, 3, 2, 12)  # noqa: DTZ001 - one without a zone
AWARE = NAIVE.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("kind", "good", "bad", "says"),
    [
        ("timestamp[us]", NAIVE, AWARE, "the type has no time zone, but the value has one"),
        ("timestamp[us]", NAIVE, 1_772_452_800_000_000, "a number is not a timestamp"),
        (pa.timestamp("us", "UTC"), AWARE, NAIVE, "the type has a time zone, but the value has none"),
        (pa.timestamp("us", "UTC"), AWARE, 5, "a number is not a timestamp"),
    ],
)
def test_timestamps_that_would_be_changed(base, kind, good, bad, says):
    """The error names the row, also in Arrow batches and in an existing table."""
    if base.kind == "sqlite" and good is AWARE:
        return
    write(ps.values([{"at": good}, {"at": None}], time=lambda _: 1), base, schema={"at": kind})
    batch = pa.record_batch({"at": pa.array([None, bad])})
    for rows in [{"at": good}, {"at": bad}], [batch]:
        with pytest.raises(tables.SchemaError) as refused:
            write(ps.values(rows, time=lambda _: 2), base)
        assert "the column 'at' is timestamp[us" in str(refused.value)
        assert ", row 2 of the time 2: " in str(refused.value)
        assert says in str(refused.value)
    assert base.query("SELECT count(*) FROM sales") == [(2,)]


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_a_time_may_be_the_number_of_a_timestamp(base):
    write(ps.values([{"at": NAIVE, "sold": 1}]), base)
    micros = round(NAIVE.replace(tzinfo=dt.UTC).timestamp() * 1e6)
    for row in {"sold": 2}, {"sold": 3, "at": NAIVE}:
        write(ps.values([row], time=lambda _: micros), base, mode="replace_time", time="at")
    (stored,) = base.query("SELECT * FROM sales")
    assert str(stored[0])[:19] == str(NAIVE)
    assert stored[1] == 3


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_column_name_that_is_too_long(base):
    with pytest.raises(tables.SchemaError, match="PostgreSQL cuts names off after 63 bytes: rename the column 'nnn"):
        write(ps.values([{"n" * 64: 1}]), base)
    assert write(ps.values([{"n" * 63: 1}]), base) == [0]


def test_columns_with_equal_or_no_names(base):
    with pytest.raises(tables.SchemaError, match="the rows have no columns: give them one"):
        write(ps.values([{}]), base)
    rows = ps.values([{"a": 1, "A": 2}])
    if base.kind in {"postgresql", "iceberg"}:
        write(rows, base)
        assert base.has("sales")
        return
    with pytest.raises(tables.SchemaError, match=f"{base.kind} does not distinguish names .* case, and .* are a, A: "):
        write(rows, base)


@pytest.mark.parametrize(
    ("base", "kind"),
    [("sqlite", "UUID"), ("postgresql", "uuid"), ("postgresql", "date[]"), ("postgresql", "timestamp[]")],
    indirect=["base"],
)
def test_a_required_column_of_an_unsupported_type(base, kind):
    base.query(f"CREATE TABLE sales (id {kind} NOT NULL, n INT)")
    with pytest.raises(tables.SchemaError, match=f"the type of its column 'id', {kind[:4]}.*, is not supported"):
        write(ps.values([{"id": "a", "n": 1}]), base)


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_timestamps_with_fewer_digits(base):
    base.query("CREATE TABLE sales (second timestamp(0), milli timestamptz(3))")
    second, milli = NAIVE.replace(second=5), NAIVE.replace(microsecond=7000, tzinfo=dt.UTC)
    for row in (second.replace(microsecond=1), milli), (second, milli.replace(microsecond=7001)):
        with pytest.raises(tables.SchemaError, match="would lose data"):
            write(ps.values([row]), base)
    assert write(ps.values([(second, milli)]), base) == [0]
    assert base.query("SELECT * FROM sales") == [(second, milli)]


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_declared_types_of_sqlite(base):
    """Text and numbers have many names there; the error names an unknown type."""
    base.query(
        "CREATE TABLE sales (item varchar(20), mark CHAR(1), note nvarchar, n unsigned big int, sold NUMERIC(9, 2), "
        "price decimal, at datetime, x double precision)"
    )
    row = ("tea and more than twenty letters", "ab", "", 2**62, 2.5, 3.0, NAIVE, 1.0)
    write(ps.values([row]), base)
    assert base.query("SELECT * FROM sales") == [(*row[:6], "2026-03-02 12:00:00.000000", 1.0)]
    base.query("CREATE TABLE places (item TEXT, place GEOMETRY, other)")
    for rows, options in ({"item": "a", "place": "b"}, {}), ({"other": 1}, {"schema": {"other": "int64"}}):
        with pytest.raises(tables.SchemaError) as refused:
            write(ps.values([rows]), base, "places", **options)
        what = "'other', no declared type" if options else "'place', GEOMETRY"
        assert f"the type of its column {what}, is not supported: give a schema= without that column" in str(
            refused.value
        )
    assert write(ps.values([{"item": "a"}]), base, "places", schema={"item": "string"}) == [0]


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_a_missing_folder(base, tmp_path):
    with pytest.raises(tables.TableError, match=r"unable to open database file: there is no folder .*none\. Create it"):
        ps.run(ps.pipe(sales(3), tables.write_rows(tmp_path / "none" / "sales.db", "sales")))


def test_mismatched_columns(base):
    write(sales(3), base)
    with pytest.raises(tables.SchemaError, match=r"no column 'price'.*change the columns of the existing table"):
        write(ps.values([{"price": 1}], time=lambda _: 9), base)
    with pytest.raises(tables.SchemaError, match="its column 'sold' is int64, not string"):
        write(sales(9), base, schema={"sold": "string"})
    with pytest.raises(tables.SchemaError, match="only nulls at the first time, 0, so it has no type: give a schema="):
        write(ps.values([{"a": None}]), base, "empty")
    with pytest.raises(tables.SchemaError, match="there is no column 'id'; the columns are"):
        write(sales(3), base, "keyed", mode="upsert", key="id")
    options = {"schema": {"item": "string", "n": "int64"}, "mode": "upsert", "key": "item"}
    with pytest.raises(tables.SchemaError, match="'item' allows no null, but row 1 of the time 0 has one"):
        write(ps.values([{"item": None, "n": 1}]), base, "keyed", **options)


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_a_user_s_table(base):
    base.query("CREATE TABLE sales (sold BIGINT PRIMARY KEY, item TEXT, note TEXT DEFAULT 'none')")
    rows = [{"sold": n, "item": "x"} for n in (1, 2)]
    write(ps.values(rows), base, schema={"sold": "int64", "item": "string"})
    assert base.query("SELECT note FROM sales") == [("none",), ("none",)]

    rows = [{"sold": n, "item": f"item {n}"} for n in (8, 9, 2, 10)]
    with pytest.raises(tables.TableError) as failed:
        write(ps.values(rows, time=lambda _: 5), base, schema={"sold": "int64", "item": "string"})
    assert "at the time 5, in its row 3, {'sold': 2, 'item': 'item 2'}: " in str(failed.value)
    assert "none of it was committed. The next run continues with this time" in str(failed.value)
    assert sold(base) == [1, 2]
    write(ps.values(rows[:2], time=lambda _: 5), base, schema={"sold": "int64", "item": "string"})
    assert sold(base) == [1, 2, 8, 9]


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_columns_that_the_database_fills(base):
    """Generated ones need no schema=; for a default, the error says that it does."""
    twice = "twice BIGINT GENERATED ALWAYS AS (sold * 2)" + " STORED" * (base.kind != "duckdb")
    base.query(f"CREATE TABLE sales (sold BIGINT, {twice}, n INT DEFAULT 5 NOT NULL)")
    with pytest.raises(tables.SchemaError, match="'n' allows no null, but row 1 .* without that column"):
        write(ps.values([{"sold": 1}]), base)
    write(ps.values([{"sold": 1, "n": 2}], time=lambda _: 1), base)
    write(ps.values([{"sold": 2}], time=lambda _: 2), base, schema={"sold": "int64"})
    assert base.query("SELECT * FROM sales") == [(1, 2, 2), (2, 4, 5)]
    with pytest.raises(tables.SchemaError, match="it has no column 'twice'|there is no column 'twice'"):
        write(ps.values([{"sold": 1, "n": 2, "twice": 2}], time=lambda _: 3), base)


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_an_upsert_into_a_table_without_its_key(base):
    """The message says what the table needs, and blames no row."""
    base.query("CREATE TABLE sales (sold BIGINT, item TEXT)")
    with pytest.raises(tables.TableError) as failed:
        write(ps.values([{"sold": 1, "item": "x"}]), base, mode="upsert", key=["item", "sold"])
    assert "at the time 0: " in str(failed.value)
    assert 'The table needs a PRIMARY KEY or a UNIQUE constraint on "item", "sold": add one' in str(failed.value)
    base.query("CREATE UNIQUE INDEX once ON sales (item, sold)")
    assert write(ps.values([{"sold": 1, "item": "x"}]), base, mode="upsert", key=["item", "sold"]) == [0]


@pytest.mark.parametrize(
    "target",
    [
        "postgresql://ann:zyx/wvu@host/sales",
        "postgresql://ann:zyx?wvu@host/sales",
        "postgresql://ann:zyx#wvu@host/sales",
        "postgresql://ann:zyx@wvu@host/sales",
        "ann:zyxwvu@host/sales",
        "host=h user=ann password=zyxwvu",
        "postgre://ann:zyxwvu@host/sales",
        "host=h password = 'zyx wvu' user=ann",
        r"host=h password='zyx\' wvu' user=ann",
        r"host=h sslpassword =zyx\ wvu",
        "postgre://host/sales?password=zyx wvu",
    ],
)
def test_a_wrong_url_is_refused_without_its_password(target):
    """Even where libpq would show a part of the password as the host or port."""
    with pytest.raises(ps.CompositionError) as refused:
        tables.write_rows(target, "sales")
    assert "zyx" not in str(refused.value)
    assert "wvu" not in str(refused.value)


PASSWORD = "postgresql://ann:se%20cret@127.0.0.1:1/sales?sslpassword=hidden"


@pytest.mark.parametrize(
    "made", [tables.write_rows(PASSWORD, "sales"), tables.read_rows(PASSWORD, "SELECT 1", time="day")], ids=repr
)
def test_passwords_appear_nowhere(made, tmp_path, caplog):
    pipeline = ps.pipe(made, ps.drain()) if isinstance(made, ps.Source) else ps.pipe(sales(3), made)
    journal = tmp_path / "journal"
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(tables.TableError) as failed:
        ps.run(pipeline, journal=journal)
    shown = f"{pipeline!r} {made.modules[0].make!r} {failed.value} {caplog.text} {journal.read_bytes()!r}"
    for secret in ("se%20cret", "se cret", "hidden"):
        assert secret not in shown
    assert "postgresql://ann:***@127.0.0.1:1/sales?sslpassword=***" in str(failed.value)
    assert PASSWORD.encode() in pickle.dumps(made)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("options", modes("sold").values(), ids=modes("sold"))
@pytest.mark.parametrize("first", [4, 14, 10_000])
@pytest.mark.parametrize("bad", ["text", float("nan"), 2**70, "another day"])
def test_times_before_a_refused_row_are_committed(base, options, first, bad, monkeypatch):
    """Even from the same batch, whether or not its own time helped to derive the columns; the next run resumes."""
    monkeypatch.setattr("adapters.tables.writing.FIRST_ROWS", first)
    rows = [((n // 4), {"day": n // 4, "sold": n}) for n in range(20)]
    broken = rows.copy()
    broken[13] = (3, {"day": 9, "sold": 13} if "time" in options and bad == "another day" else {"day": 3, "sold": bad})

    def source(given):
        return ps.pipe(ps.values(given, time=lambda row: row[0]), ps.map(lambda row: row[1]))

    with pytest.raises(tables.SchemaError, match="row 2 of the time 3"):
        write(source(broken), base, **options)
    assert sold(base) == list(range(12))
    assert write(source(rows), base, **options)[-2:] == [3, 4]
    assert sold(base) == list(range(20))


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_a_time_with_rows_after_a_refused_one_is_not_committed(base):
    """With a schema the run ends at the row, before any time is complete; else when the columns are derived."""
    rows = [{"day": day, "sold": n} for n, day in enumerate([0, 1, 0, 2, 3, 1, 4])]
    rows[4]["sold"] = "text"
    source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row["day"], lateness=10))
    for schema, found in ({"day": "int64", "sold": "int64"}, None), (None, [0, 2]):
        with pytest.raises(tables.SchemaError, match="row 1 of the time 3"):
            write(source, base, schema=schema)
        assert (sold(base) if base.has("sales") else None) == found


def test_without_pyarrow_the_error_names_the_target_s_extra():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pullstream as ps; from pullstream import tables\n"
        "for target in 'a.db', 'a.duckdb', 'postgresql://user@host/a', 'delta:///lake', 'iceberg:///lake':\n"
        "    for schema in None, {'n': 'int64'}:\n"
        "        try: ps.run(ps.pipe(ps.values([{'n': 1}]), tables.write_rows(target, 'a', schema=schema)))\n"
        "        except tables.ArrowMissing as exc: print(exc)"
    )
    extras = "sqlite", "duckdb", "postgresql", "delta", "iceberg"
    assert printed("-c", code).splitlines() == [
        f"pyarrow is not installed: `pip install 'pullstream[{extra}]'`" for extra in extras for _ in range(2)
    ]
