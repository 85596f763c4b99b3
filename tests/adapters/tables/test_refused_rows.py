"""`write_rows`: which times are committed when a row is refused."""

import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.helpers import sold, write

WRITES = {}, {"mode": "upsert", "key": "sold"}, {"mode": "replace_time", "time": "day"}


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("options", WRITES, ids=lambda options: options.get("mode", "append"))
@pytest.mark.parametrize("first", [4, 14, 10_000])
@pytest.mark.parametrize("bad", ["text", float("nan"), 2**70, "another day"])
def test_times_before_a_refused_row_are_committed(base, options, first, bad, monkeypatch):
    """In one batch with it, whether its own time helped to derive the columns or not; then the next run goes on."""
    from adapters.tables import writing

    monkeypatch.setattr(writing, "FIRST_ROWS", first)
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
def test_a_time_that_has_rows_after_a_refused_one_is_not_committed(base):
    """With a schema the run ends at the row, before any time is complete; without one, when the columns are derived."""
    rows = [{"day": day, "sold": n} for n, day in enumerate([0, 1, 0, 2, 3, 1, 4])]
    rows[4]["sold"] = "text"
    source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row["day"], lateness=10))
    for schema, found in ({"day": "int64", "sold": "int64"}, None), (None, [0, 2]):
        with pytest.raises(tables.SchemaError, match="row 1 of the time 3"):
            write(source, base, schema=schema)
        assert (sold(base) if base.has("sales") else None) == found
