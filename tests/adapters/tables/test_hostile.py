"""Names and values that look like SQL: they are names and values, or refused with the reason."""

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.conftest import PACKAGES, SQL, quoted
from tests.adapters.tables.helpers import sold, write

NAMES = [
    'a"b', "a'b", "select", 'x"; DROP TABLE sales; --', "ä ö", "%s {} ? $1", "A b", "a.b", "a`b", "a:b", "1 OR 1", "'",
]  # fmt: skip


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
@pytest.mark.parametrize("name", ["a\nb", "a\\b", "a/b", "_x", ".x", "..", " "])
def test_names_that_no_folder_has(base, name):
    """The lakes refuse names that are no folders, or not seen by readers; databases have no such limits."""
    if base.kind in PACKAGES and name != " ":
        with pytest.raises(ps.CompositionError, match="a table is a folder of that name"):
            write(rows_of("n", [1]), base, name)
        return
    write(rows_of(name, [1]), base, name)
    assert sold(base, quoted(name)) == [1]


@pytest.mark.sampled
@pytest.mark.parametrize("base", [kind for kind in [*SQL, *PACKAGES] if kind != "sqlite"], indirect=True)
@pytest.mark.parametrize("schema", ['a"b', "a'b", 'x"; DROP SCHEMA y; --', "%s $1", "ä ö"])
def test_hostile_schemas(base, schema):
    """A schema of the database, or a folder in the lake; the records are in it, too."""
    if base.kind in SQL:
        base.query(f"CREATE SCHEMA {quoted(schema)}")
    for count in (1, 2):
        sink = tables.write_rows(base.target, (schema, "sales"), mode="upsert", key="n")
        assert ps.run(ps.pipe(rows_of("n", range(count)), sink)) == [count - 1]
    assert base.rows(schema, "sales") == [(0, 0), (1, 1)]
    if base.kind in SQL:
        base.query(f"DROP SCHEMA {quoted(schema)} CASCADE")


VALUES = sorted(
    [
        "'); DROP TABLE sales; --",
        "'",
        "''",
        '"',
        "\\",
        "\\'",
        "$1",
        "%s",
        "{}",
        "a\nb",
        "NULL",
        "ä €",
        "x' OR '1' = '1",
        "\t",
        " ",
    ]
)


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["append", "upsert", "replace_time"])
def test_hostile_values(base, mode):
    source = ps.values([{"moment": text, "item": text} for text in VALUES], time=lambda row: row["moment"])
    options = {"append": {}, "upsert": {"key": "item"}, "replace_time": {"time": "moment"}}[mode]
    for times in VALUES, VALUES if mode == "replace_time" else []:
        assert write(source, base, mode=mode, **options) == times
    assert sorted(base.query("SELECT moment, item FROM sales")) == [(text, text) for text in VALUES]


def test_text_that_is_none(base):
    """Half a character is in no database; it is refused by its row."""
    with pytest.raises((tables.SchemaError, tables.TableError), match="sales"):
        write(ps.values([{"item": "fine"}, {"item": "\ud800"}]), base)
    assert not base.has("sales")
