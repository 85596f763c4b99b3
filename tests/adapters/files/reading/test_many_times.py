"""Files whose rows have a time each: multi-time batches have the same effect as single rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import files
from adapters.arrow.columns import ColumnTimes

ROWS = 40


@ps.sink
async def answers(upstream, ctx, seen):
    """Keeps the batches that it receives."""
    while (answer := await upstream.ask_many(ctx.limit)) is not ps.DONE:
        seen.append(answer)


def of_csv(put, times, **options):
    path = put("data", "t,n\n" + "".join(f"{t},{n}\n" for n, t in enumerate(times)))
    return files.read_csv(path, as_="tuples", **options)


def of_jsonl(put, times, **options):
    options = {**options, "time": (lambda row: row[0])} if options.get("time") == "t" else options
    path = put("data", "".join(f"[{t}, {n}]\n" for n, t in enumerate(times)))
    return ps.pipe(files.read_jsonl(path, **options), ps.map(tuple))


def of_parquet(put, times, **options):
    path = put("data", b"")
    pq.write_table(pa.table({"t": pa.array(times, pa.int64()), "n": range(len(times))}), path)
    return files.read_parquet(path, as_="tuples", **options)


READERS = {"csv": of_csv, "jsonl": of_jsonl, "parquet": of_parquet}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
def test_rows_arrive_at_once_each_at_its_time(form, put, limit):
    """As many as requested, at the same times as one by one."""
    times = [n // 2 for n in range(ROWS)]
    expected = [(t, (t, n)) for n, t in enumerate(times)]
    seen = []

    ps.run(ps.pipe(READERS[form](put, times, time="t"), answers(seen)), limit=limit, check=True)

    assert [(t, v) for each in seen for t, v in zip(each.times, each.values, strict=True)] == expected
    most = max(len(each.values) for each in seen)
    assert most <= limit
    if limit > 2:
        assert max(len(set(each.times)) for each in seen) > 2, "as many times as are asked for at once"
    one_by_one = ps.run(ps.pipe(READERS[form](put, times, time="t"), ps.collect(timed=True)), limit=limit, check=True)
    assert one_by_one == expected


@pytest.mark.parametrize("form", READERS)
def test_rows_before_a_decreasing_time_arrive(form, put):
    """Each at its time, and then the failure; no values after it (R8)."""
    seen = []
    with pytest.raises(ps.errors.CapabilityError, match="goes back in time, to 4 after 5"):
        ps.run(ps.pipe(READERS[form](put, [1, 2, 3, 5, 4, 6], time="t"), answers(seen)), check=True)
    assert [t for each in seen for t in each.times] == [1, 2, 3, 5]


def test_times_are_converted_only_if_used(put, monkeypatch):
    """Modules that do not use a column's times leave them in Arrow, and completion still works."""

    def made(self):
        raise AssertionError("somebody looked")

    @ps.sink
    async def by_all_rows(upstream, ctx):
        # A sink that sets a pace may ask for fewer values than were read, and later for the rest.
        while await upstream.ask_many(ROWS) is not ps.DONE:
            pass

    monkeypatch.setattr(ColumnTimes, "_made", made)
    ps.run(ps.pipe(of_parquet(put, range(ROWS), time="t"), ps.map(lambda row: row[1]), by_all_rows()), limit=ROWS)
