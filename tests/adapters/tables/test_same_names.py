"""Names that mean the same table, and names that don't."""

import threading
from urllib.parse import quote

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.helpers import sales, sold, write


@pytest.mark.parametrize("base", ["sqlite", "duckdb"], indirect=True)
def test_names_fold_as_in_the_database(base):
    """Only ASCII letters, so these are two tables with records of their own."""
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
        # The second path finds the table in the second schema.
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


def test_all_spellings_of_a_table_have_one_lock(base):
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
    # Rows of a second run are asked for once it holds the lock.
    run = threading.Thread(target=writes)
    run.start()
    try:
        assert holds.wait(60)
        for other in others:
            with pytest.raises(tables.TableBusyError, match="is writing"):
                ps.run(ps.pipe(sales(3), tables.write_rows(*other)))
    finally:
        go_on.set()
        run.join(60)
    assert written == [[]]
    assert [ps.run(ps.pipe(sales(6), tables.write_rows(*other))) for other in others] == [
        [1],
        *[[]] * (len(others) - 1),
    ]
