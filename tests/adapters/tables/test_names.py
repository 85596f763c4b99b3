"""Names and values that look like SQL are stored as they are, or refused; and several names of one table."""

import threading
from urllib.parse import quote

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.conftest import PACKAGES, SQL, quoted
from tests.adapters.tables.helpers import sales, sold, write

# The first is for SQLite, where such a name needs its schema.
NAMES = ["a.b", 'x"; DROP TABLE sales; --', "select", "it's %s {} ? $1", "Ä b:c`d", "1 OR 1"]


def rows_of(name, numbers):
    return ps.values([{name: n, "sold": n} for n in numbers], time=lambda row: row["sold"])


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_hostile_names(base, name):
    for count in (1, 2):
        write(rows_of(name, range(count)), base, name, mode="upsert", key=name)
    for _ in "twice", "the same":
        write(rows_of(name, [7]), base, f"{name}2", mode="replace_time", time=name)
    assert base.query(f"SELECT {quoted(name)} FROM {quoted(name)} ORDER BY 1") == [(0,), (1,)]
    assert base.query(f"SELECT {quoted(name)} FROM {quoted(f'{name}2')}") == [(7,)]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["a\nb", "a\\b", "a/b", "_x", "..", " "])
def test_names_no_folder_can_have(base, name):
    """The lakes refuse names that cannot be folders, or that readers skip; databases have no such limits."""
    if base.kind in PACKAGES and name != " ":
        with pytest.raises(ps.CompositionError, match="a table is a folder of that name"):
            write(rows_of("n", [1]), base, name)
        return
    write(rows_of(name, [1]), base, name)
    assert sold(base, quoted(name)) == [1]


@pytest.mark.sampled
@pytest.mark.parametrize("base", [kind for kind in [*SQL, *PACKAGES] if kind != "sqlite"], indirect=True)
@pytest.mark.parametrize("schema", ['x"; DROP SCHEMA y; --', "it's %s $1", "ä ö"])
def test_hostile_schemas(base, schema):
    """A database schema or a folder in the lake, which has the records, too."""
    if base.kind in SQL:
        base.query(f"CREATE SCHEMA {quoted(schema)}")
    for count in (1, 2):
        sink = tables.write_rows(base.target, (schema, "sales"), mode="upsert", key="n")
        assert ps.run(ps.pipe(rows_of("n", range(count)), sink)) == [count - 1]
    assert base.rows(schema, "sales") == [(0, 0), (1, 1)]
    if base.kind in SQL:
        base.query(f"DROP SCHEMA {quoted(schema)} CASCADE")


VALUES = sorted(
    ["'); DROP TABLE sales; --", "'", "''", '"', "\\", "\\'", "$1", "%s", "{}", "a\nb", "NULL", "ä €", "\t", " "]
)


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["append", "upsert", "replace_time"])
def test_hostile_values(base, mode):
    source = ps.values([{"moment": text, "item": text} for text in VALUES], time=lambda row: row["moment"])
    options = {"append": {}, "upsert": {"key": "item"}, "replace_time": {"time": "moment"}}[mode]
    for times in VALUES, VALUES if mode == "replace_time" else []:
        assert write(source, base, mode=mode, **options) == times
    assert sorted(base.query("SELECT moment, item FROM sales")) == [(text, text) for text in VALUES]


def test_invalid_text(base):
    """No database stores half a surrogate pair."""
    with pytest.raises((tables.SchemaError, tables.TableError), match="sales"):
        write(ps.values([{"item": "fine"}, {"item": "\ud800"}]), base)
    assert not base.has("sales")


@pytest.mark.parametrize("base", ["sqlite", "duckdb"], indirect=True)
def test_case_folds_as_in_databases(base):
    """Only ASCII letters are folded, so these are two tables with separate records."""
    for name in "Ärger", "ärger":
        assert write(sales(3), base, name) == [0]
        assert sold(base, f'"{name}"') == [0, 1, 2]
    assert write(sales(3), base, "äRGER") == []


def spellings(base):
    """Targets and names of one table, and another table."""
    if base.kind == "delta":
        return [(base.target, ("a", "t")), (f"{base.target}/a", "t"), (f"{base.target}/../lake", ("a", "t"))]
    schema = {"sqlite": None, "duckdb": "main", "iceberg": "default"}.get(base.kind, getattr(base, "schema", None))
    if base.kind == "postgresql":
        path = quote('-c search_path="{}"'.format(schema.replace(" ", r"\ ")))
        # The second path finds the table in its second schema.
        second = path.replace("%3D%22", "%3Dpublic%2C%22")
        assert second != path
        return [
            (f"{base.target}?options={path}", "t"),
            (base.target, (schema, "t")),
            (f"{base.target}?options={second}", "t"),
        ]
    named = [(base.target, "t")]
    if schema is not None:
        named.append((base.target, (schema, "t")))
    return named if base.kind == "iceberg" else [*named, (base.target, "T")]


def test_all_spellings_of_a_table_have_one_lock(base, monkeypatch):
    first, *others = spellings(base)
    holds, go_on = threading.Event(), threading.Event()

    def stays(row):
        holds.set()
        assert go_on.wait(60)
        return row

    def writes():
        written.append(ps.run(ps.pipe(sales(3), ps.map(stays), tables.write_rows(*first))))

    written = []
    ps.run(ps.pipe(sales(3), tables.write_rows(*first)))
    # The second run asks for rows once it holds the lock.
    run = threading.Thread(target=writes)
    run.start()
    try:
        assert holds.wait(60)
        with monkeypatch.context() as patch:
            patch.setattr("adapters.tables.postgresql.PATIENCE", 0.01)
            for other in others:
                with pytest.raises(tables.TableBusyError, match="is writing"):
                    ps.run(ps.pipe(sales(3), tables.write_rows(*other)))
    finally:
        go_on.set()
        run.join(60)
    assert written == [[]]
    again = [ps.run(ps.pipe(sales(6), tables.write_rows(*other))) for other in others]
    assert again == [[1], *[[]] * (len(others) - 1)]
