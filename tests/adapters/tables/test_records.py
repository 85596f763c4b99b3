"""`write_rows`: whether a table, its records and the journal match, and whether another process is writing."""

import shutil
from functools import partial

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.conftest import PACKAGES, SQL
from tests.adapters.tables.helpers import sales, sold, write
from tests.programs import started


def test_a_journal_and_its_table(base, tmp_path):
    first, other = tmp_path / "first.journal", tmp_path / "other.journal"
    write(sales(6), base, journal=first)
    with pytest.raises(tables.TableError, match="was written with the journal .*first.journal, and this run has"):
        write(sales(9), base, journal=other)
    with pytest.raises(tables.TableError, match="and this run has none: its times may differ"):
        write(sales(9), base)
    if base.kind != "delta":
        with pytest.raises(
            tables.TableError, match="remove its records, and the rows of these times, which are written"
        ):
            write(sales(9), base, journal=other)
    first.unlink()
    assert write(sales(9), base, journal=first) == [2]
    assert sold(base) == list(range(9))


@pytest.mark.parametrize("base", SQL, indirect=True)
def test_a_dropped_table(base):
    write(sales(6), base)
    base.query("DROP TABLE sales")
    with pytest.raises(
        tables.TableError, match="the table does not exist. If that is intended, remove its records first: DEL"
    ):
        write(sales(12), base)


def stopped(base, journal, time):
    """Stop a run when a time is complete; return a function that resumes it."""

    async def stop(running):
        await running.progress.completed(time)
        await running.abort()

    pipeline = ps.pipe(sales(900), ps.rate_limit(3, per=0.01), tables.write_rows(base.target, base.name("sales")))
    with pytest.raises(ps.errors.Abandoned):
        ps.run(pipeline, journal=journal, beside=stop)
    return partial(ps.run, pipeline, journal=journal)


def test_a_table_that_was_cleared(base, tmp_path):
    """The journal records times that the database does not have."""
    go_on = stopped(base, tmp_path / "journal", 0)
    base.clear("sales")
    with pytest.raises(tables.TableError, match="the database has no record of them.*Start over with a new journal"):
        go_on()


@pytest.mark.parametrize("base", ["sqlite", "delta"], indirect=True)
def test_a_table_restored_as_of_an_earlier_time(base, tmp_path):
    """The journal would skip the times that the table has lost."""
    place = base.target.removeprefix(f"{base.kind}:///")
    copied = shutil.copytree if base.kind in PACKAGES else shutil.copy
    stopped(base, tmp_path / "journal", 0)
    copied(place, tmp_path / "copy")
    go_on = stopped(base, tmp_path / "journal", 25)
    if base.kind in PACKAGES:
        shutil.rmtree(place)
    copied(tmp_path / "copy", place)
    with pytest.raises(tables.TableError, match=r"says that \d+ times were committed there, but the database has \d+"):
        go_on()


@pytest.mark.parametrize(
    "base",
    # All but DuckDB and PostgreSQL have the same lock.
    [*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("sqlite", "iceberg")), "duckdb", "postgresql", "delta"],
    indirect=True,
)
def test_another_process_is_refused(base):
    program = (
        "import sys, trio, pullstream as ps; from pullstream import tables\n"
        "async def first(running):\n"
        "    await running.progress.completed(0)\n"
        "    print('writes', flush=True)\n"
        "rows = ps.pipe(ps.integers(), ps.map(lambda n: {'day': n // 3, 'item': 'x', 'sold': n}), ps.rate_limit(100),"
        " ps.stamp(lambda row: row['day']))\n"
        "table = (sys.argv[2], 'sales') if sys.argv[2] else 'sales'\n"
        "ps.run(ps.pipe(rows, tables.write_rows(sys.argv[1], table)), beside=first)"
    )
    with started("-c", program, base.target, getattr(base, "schema", "")) as other:
        assert other.stdout.readline() == "writes\n"
        with pytest.raises(tables.TableBusyError, match="is writing|has .* open"):
            write(sales(3), base)
        other.kill()
    assert write(sales(3), base) == []
