"""`write_rows`: rows of open times in memory and in temporary files."""

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.helpers import sales, sold, write


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("lateness", [0, 1000])
def test_all_times_together_have_a_limit_in_memory(base, lateness, monkeypatch):
    from adapters.arrow import spools
    from adapters.tables import writing

    monkeypatch.setattr(spools, "SORTED_BYTES", 100)
    monkeypatch.setattr(spools, "IN_MEMORY", 5_000)
    monkeypatch.setattr(writing, "FIRST_ROWS", 50)
    held, spilled = [], []
    relieve, spill = writing.RowsCommitter._relieve, spools.Spool.spill

    async def relieved(self, opened):
        await relieve(self, opened)
        held.append(opened.held)

    monkeypatch.setattr(writing.RowsCommitter, "_relieve", relieved)
    monkeypatch.setattr(spools.Spool, "spill", lambda self: (spilled.append(self.time), spill(self)))
    rows = ps.values([{"day": n // 20, "sold": n} for n in range(2000)])

    source = ps.pipe(rows, ps.stamp(lambda row: row["day"], lateness=lateness))
    ps.run(ps.pipe(source, tables.write_rows(base.target, "sales")), limit=16)

    assert sold(base) == list(range(2000))
    assert bool(spilled) == bool(lateness)
    assert held
    assert max(held) <= 5_000


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_few_large_rows_have_the_same_limit_in_memory(base, monkeypatch):
    from adapters.arrow import spools

    monkeypatch.setattr(spools, "IN_MEMORY", 50_000)
    spilled = []
    spill = spools.Spool.spill
    monkeypatch.setattr(spools.Spool, "spill", lambda self: (spilled.append(self.rows), spill(self)))
    monkeypatch.setattr(spools, "SORTED_BYTES", 1_000)
    rows = ps.values([{"day": n % 10, "sold": n, "text": "x" * 4_000} for n in range(40)])
    source = ps.pipe(rows, ps.stamp(lambda row: row["day"], lateness=10))
    schema = {"day": "int64", "sold": "int64", "text": "string"}
    ps.run(ps.pipe(source, tables.write_rows(base.target, "sales", schema=schema)), limit=1)
    assert sold(base) == list(range(40))
    # No time alone has as much.
    assert spilled


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_a_table_is_released_although_its_rows_cannot_be(base, monkeypatch):
    from adapters.arrow import OpenTimes

    def fails(_):
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(OpenTimes, "close", fails)
        with pytest.raises(OSError, match="no"):
            write(sales(3), base)
    assert write(sales(6), base) == [1]
