"""The rows of open times as Arrow data, without Spark."""

from collections import defaultdict

import pyarrow as pa
import pytest

import pullstream as ps
from adapters.arrow import OpenTimes, Packing, SchemaError, spools
from adapters.spark.writing.table_partitions import Partition

ROWS = pa.schema([("n", pa.int64()), ("item", pa.string())])
FULL = ROWS.append(pa.field("time", pa.int64()))


class Counted(Partition):
    adds = 0

    def add(self, batch):
        Counted.adds += 1
        super().add(batch)


@pytest.fixture
def open_times():
    Counted.adds = 0
    opened = OpenTimes(Packing(ROWS, SchemaError), lambda time: Counted(FULL, time), OSError)
    yield opened
    opened.close()


def taken(opened, time):
    with opened.complete([time]) as [spool]:
        return [row for batch in spool.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("most", [1, 1000, 8 << 20])
def test_rows_stay_in_order_within_their_time(open_times, monkeypatch, most):
    """However many rows are sorted at once, each time gets its own rows in order of arrival."""
    monkeypatch.setattr(spools, "SORTED_BYTES", most)
    expected = defaultdict(list)
    for begin in range(0, 1000, 100):
        numbers = list(range(begin, begin + 100))
        times = [n * n % 7 for n in numbers]
        open_times.add(ps.Batch.of(times, [(n, str(n)) for n in numbers]))
        for n, time in zip(numbers, times, strict=True):
            expected[time].append({"n": n, "item": str(n), "time": time})
    assert {time: taken(open_times, time) for time in list(expected)} == expected


def test_interleaved_times_need_one_batch_each(open_times):
    for begin in range(0, 10_000, 500):
        numbers = list(range(begin, begin + 500))
        open_times.add(ps.Batch.of([n % 4 for n in numbers], [(n, "") for n in numbers]))
    assert [len(taken(open_times, time)) for time in range(4)] == [2500] * 4
    assert Counted.adds == 4


@pytest.mark.parametrize("most", [1, 8 << 20])
def test_an_error_counts_the_rows_of_a_time(open_times, monkeypatch, most):
    """The bad value is the fourth to arrive and the third at its time, whether or not earlier rows were sorted."""
    monkeypatch.setattr(spools, "SORTED_BYTES", most)
    open_times.add(ps.Batch(4, [(1, "a"), (2, "b")]))
    open_times.add(ps.Batch.of([3, 4, 5], [(3, "c"), ("four", "d"), (5, "e")]))
    for time in 4, 5:
        with pytest.raises(SchemaError, match="row 3 of the time 4"), open_times.complete([time]):
            pass


WIDE = pa.schema([(f"n{place}", pa.int64()) for place in range(400)])


def test_rows_of_a_wide_table_are_converted_together():
    """Converting one row costs nearly as much as converting fifty; a row that does not match is still found."""
    packing = Packing(WIDE, SchemaError)
    converted = []
    packing.batches = lambda portions: converted.append(portions) or Packing.batches(packing, portions)
    opened = OpenTimes(packing, lambda time: spools.Spool(WIDE, time), OSError)
    for number in range(1000):
        opened.add(ps.Batch(number // 10, [(number,) * 400]))
    assert len(converted) == 20
    assert [row["n399"] for row in taken(opened, 99)] == [*range(990, 1000)]
    for number, last in (100, 1), (101, "two"), (101, 3), (102, 4):
        opened.add(ps.Batch(number, [(number,) * 399 + (last,)]))
    assert opened.refusal is None
    assert len(taken(opened, 100)) == 1
    with pytest.raises(SchemaError, match=r"'n399' is int64.*'two' .*row 1 of the time 101"), opened.complete([102]):
        pass
    opened.add(ps.Batch.of([98, 103], [(103,) * 400] * 2))
    assert opened.taken == 0
    given = []
    with pytest.raises(SchemaError, match="row 1 of the time 101"), opened.complete([95, 96, 101, 102]) as complete:
        given += [spool.time for spool in complete]
    assert given == [95, 96]
    for refused in 101, 103:
        with pytest.raises(SchemaError, match="row 1 of the time 101"), opened.complete([refused]):
            pass
    assert len(taken(opened, 97)) == 10
    opened.close()


def test_few_values_wait_to_be_converted(monkeypatch):
    """The memory of the open times does not include rows that still wait as Python objects."""
    monkeypatch.setattr(spools, "WAITING", 4000)
    opened = OpenTimes(Packing(WIDE, SchemaError), lambda time: spools.Spool(WIDE, time), OSError)
    waiting = []
    for number in range(100):
        opened.add(ps.Batch(number, [(number,) * 400]))
        waiting.append(number + 1 - opened._packing.rows)
    assert max(waiting) == 4000 // 400 - 1
    opened.close()


def test_a_row_of_an_open_time_keeps_no_others(monkeypatch):
    """Each block has many rows, of which one is at the open time."""
    monkeypatch.setattr(spools, "SORTED_BYTES", 100_000)
    opened = OpenTimes(Packing(ROWS, SchemaError), lambda time: spools.Spool(ROWS, time), OSError)
    for begin in range(0, 100_000, 10_000):
        numbers = range(begin, begin + 10_000)
        opened.add(ps.Batch.of([begin + 1, *[-1], *[begin + 1] * 9_998], [(n, "tea") for n in numbers]))
        assert len(taken(opened, begin + 1)) == 9_999
    with opened.complete([-1]) as [spool]:
        kept = [batch.get_total_buffer_size() for batch in spool.batches()]
    assert len(kept) == 10
    assert sum(kept) < 1_000
    assert opened.held == 0


def test_held_memory_is_the_rows_memory(monkeypatch):
    monkeypatch.setattr(spools, "SORTED_BYTES", 20_000)
    monkeypatch.setattr(spools, "IN_MEMORY", 30_000)
    opened = OpenTimes(Packing(ROWS, SchemaError), lambda time: spools.Spool(ROWS, time), OSError)
    for begin in range(0, 6_000, 1_000):
        opened.add(ps.Batch.of([n % 3 for n in range(1_000)], [(begin + n, "tea") for n in range(1_000)]))
        if opened.full:
            opened.spill()
            assert not opened.full
        assert opened.held == opened._size + sum(spool.held for spool in opened._spools.values())
    assert [len(taken(opened, time)) for time in range(3)] == [2_004, 1_998, 1_998]
    assert opened.held == 0
