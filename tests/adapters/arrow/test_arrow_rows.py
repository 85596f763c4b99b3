"""Rows that stay in Arrow: equal to the rows, sliced and joined without copying, and created once."""

import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

import pullstream as ps
from adapters.arrow import ArrowRows, arrow_rows, joined_rows
from pullstream.authoring import Backlog

pa = pytest.importorskip("pyarrow")


def numbers(count, form="tuples"):
    return ArrowRows(pa.record_batch({"n": pa.array(range(count), pa.int64())}), form)


def count_made(monkeypatch):
    made, rows = [], arrow_rows._rows
    monkeypatch.setattr(arrow_rows, "_rows", lambda batch, form: made.append(len(batch)) or rows(batch, form))
    return made


@settings(deadline=None)
@given(
    st.integers(0, 30),
    st.integers(-35, 35) | st.none(),
    st.integers(-35, 35) | st.none(),
    st.sampled_from([None, 1, 2, -1, -3]),
)
def test_slices_equal_list_slices(count, start, stop, step):
    """For every start, stop and step, for a slice of a slice, and for each position."""
    rows, expected = numbers(count), [(n,) for n in range(count)]
    part, wanted = rows[start:stop:step], expected[start:stop:step]

    assert part == wanted
    assert part[1:-1] == wanted[1:-1]
    assert [part[at] for at in range(-len(wanted), len(wanted))] == [*wanted, *wanted]
    assert list(reversed(part)) == wanted[::-1]
    assert (len(part), bool(part)) == (len(wanted), bool(wanted))


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), max_size=5))
def test_adjacent_slices_are_joined_without_copying(cuts):
    rows = numbers(20)
    places = [0, *sorted(cuts), 20]
    parts = [rows[begin:end] for begin, end in pairwise(places)]
    joined = joined_rows(parts)

    assert joined == rows
    assert joined.batch.column("n").buffers()[1].address == rows.batch.column("n").buffers()[1].address


def test_mismatched_parts_become_rows():
    """Rows with different columns or forms cannot share a record batch; batches with the same columns can."""
    other = ArrowRows(pa.record_batch({"m": [1]}), "tuples")

    assert isinstance(joined_rows([numbers(2), numbers(3)]), ArrowRows)
    assert joined_rows([numbers(2), other]) == [(0,), (1,), (1,)]
    assert joined_rows([numbers(1), numbers(1, "dicts")]) == [(0,), {"n": 0}]


def test_rows_are_created_at_most_twice_and_only_those_needed(monkeypatch):
    """The first pass keeps no row, a second one keeps all; a single row is created along with its neighbours."""
    made = count_made(monkeypatch)
    rows = numbers(5000)

    assert len(rows[1000:3000]) == 2000
    assert made == []
    part = rows[:4096]
    assert list(part) == list(part) == list(part)
    assert made == [4096, 4096]
    single = numbers(5000)
    assert [single[at][0] for at in range(2048)] == list(range(2048))
    assert made == [4096, 4096, 1024, 1024]


def test_mutable_rows_are_created_only_once():
    """The next consumer sees what one consumer changes in a dict."""
    rows = numbers(1000, "dicts")
    for row in rows:
        row["seen"] = True

    assert all(row["seen"] for row in rows)


def test_a_pickled_slice_is_small():
    """A pickled slice does not include the rows around it."""
    rows = numbers(100_000)[5:7]
    data = pickle.dumps(rows)

    assert len(data) < 2000
    assert pickle.loads(data) == rows == [(5,), (6,)]


def test_a_backlog_keeps_columns():
    """Queued batches that form one answer stay columns; with other values they become a list."""
    rows, backlog = numbers(6), Backlog()
    for part in (rows[:2], rows[2:5], rows[5:]):
        backlog.put(ps.Batch(0, part))
    backlog.put(ps.Batch(0, ["other"]))

    assert isinstance(backlog.take(4).values, ArrowRows)
    assert backlog.take(4) == ps.Batch(0, [(4,), (5,), "other"])


@ps.source
async def columns(ctx):
    rows = numbers(1000)
    for time in range(10):
        yield ps.Batch(time, rows[100 * time : 100 * time + 100])


@pytest.mark.parametrize("limit", [7, 4096])
def test_pass_through_modules_create_no_rows(limit, no_rows):
    kinds = []

    @ps.sink
    async def seen(upstream, ctx):
        while (batch := await upstream.ask(ctx.limit)) is not ps.DONE:
            kinds.append((type(batch.values), len(batch.values)))

    some = ps.pipe(ps.merge(columns(), columns()), ps.take(900), ps.skip(50), ps.prefetch(200), ps.take_times(5))
    many = ps.pipe(ps.concat(some, columns()), ps.map_time(lambda time: 0))
    ps.run(ps.pipe(many, ps.tee(seen(), seen())), limit=limit)

    assert {kind for kind, _ in kinds} == {ArrowRows}
    assert sum(count for _, count in kinds) > 2000
