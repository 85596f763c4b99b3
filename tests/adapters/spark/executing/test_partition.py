"""The run of a partition, without Spark: back-pressure, endings, keys and times, and no leftover thread."""

import itertools
import threading
import time
import traceback

import pyarrow as pa
import pytest
import trio
from hypothesis import given, settings, strategies as st

import pullstream as ps
from adapters.arrow import arrow_rows
from adapters.spark.executing import partition as partition_module
from adapters.spark.executing.input import Answers, Cursor, KeyBatch, Keys, Rows, Splitting
from adapters.spark.executing.partition import ROWS, ResultQueue
from pullstream.blueprint import Module, Site, Source
from pullstream.conformance import Subject, conformance
from pullstream.engine import assembly

N = pa.schema([("n", pa.int64())])


class Oops(Exception):
    """The exception of these tests."""


def test_first_results_arrive_before_the_last_rows_are_read(partition):
    read = []

    def batches():
        for number in range(200):
            read.append(number)
            yield pa.record_batch({"c0": [number] * 1000})

    results = partition(batches(), ps.map(lambda row: row.n), schema=N).results()
    first = next(results)
    assert first.column(0)[0].as_py() == 0
    time.sleep(0.2)
    most = len(read)
    assert most <= 2 * ROWS / 1000 + 8
    rest = sum(batch.num_rows for batch in results)
    assert first.num_rows + rest == 200_000
    assert len(read) == 200


def test_results_are_delivered_while_the_input_blocks(partition):
    go_on = threading.Event()

    def batches():
        yield pa.record_batch({"c0": [1]})
        assert go_on.wait(10)
        yield pa.record_batch({"c0": [2]})

    results = partition(batches(), ps.map(lambda row: row.n), schema=N).results()
    assert next(results).to_pylist() == [{"n": 1}]
    go_on.set()
    assert next(results).to_pylist() == [{"n": 2}]
    assert next(results, None) is None


def test_rows_stay_in_columns(partition, monkeypatch):
    pl, columns = pytest.importorskip("polars"), pytest.importorskip("pullstream.columns")
    made = []
    monkeypatch.setattr(arrow_rows, "_rows", lambda batch, form: made.append(len(batch)))
    modules = columns.filter(pl.col("n") % 2 == 1), columns.select(n=3 * pl.col("n")), ps.skip(1)
    batches = (pa.record_batch({"c0": range(start, start + 1000)}) for start in range(0, 20_000, 1000))

    results = list(partition(batches, *modules, schema=N).results())

    assert [n for batch in results for n in batch.column("n").to_pylist()] == list(range(9, 60_000, 6))
    assert made == []


def test_timestamps_are_in_utc(ran):
    """As `from_dataframe` gives them, in any time zone of the session."""
    at = pa.array([0], pa.timestamp("us", "Asia/Tokyo"))
    of = ps.map(lambda batch: str(batch.schema.field("n").type))
    rows, _ = ran([pa.record_batch({"c0": at})], of, schema=pa.schema([("zone", pa.string())]), as_="batches")
    assert rows == [{"zone": "timestamp[us, tz=UTC]"}]


@pytest.mark.parametrize("result", [lambda n: n, lambda n: pa.record_batch({"n": [n]})], ids=["values", "batches"])
def test_small_results_are_joined(partition, numbers, result):
    @ps.transformer
    async def singly(upstream, ctx):
        async for batch in ctx.batches(upstream):
            for row in batch.values:
                yield ps.Batch(batch.time, [result(row.n)])

    results = list(partition(numbers(2000), singly(), schema=N).results())
    assert sum(batch.num_rows for batch in results) == 2000
    assert len(results) < 100


def test_an_empty_partition_gives_nothing(ran):
    empty = pa.record_batch({"c0": pa.array([], pa.int64())})
    for batches in ([], [empty, empty]):
        assert ran(batches, ps.map(len), schema=N) == ([], None)
        assert ran(batches, ps.reduce_by_time(ps.agg.count()), schema=N) == ([], None)


def test_closing_the_generator_aborts_the_stream(partition, numbers):
    ended, pending = [], threading.Event()

    @ps.transformer
    async def watched(upstream, ctx):
        try:
            async for batch in ctx.batches(upstream):
                yield ps.Batch(batch.time, [row.n for row in batch.values])
        finally:
            ended.append("transformer")

    async def slowly(number):
        try:
            if number > 20:
                pending.set()
                await trio.sleep_forever()
        except trio.Cancelled:
            ended.append("call")
            raise
        return number

    results = partition(itertools.cycle(numbers(10)), watched(), ps.map_async(slowly, 30), schema=N).results()
    next(results)
    results.close()
    assert ended[-1] == "transformer"

    results = partition(numbers(1000), watched(), ps.map_async(slowly, 30), schema=N).results()
    next(results)
    assert pending.wait(10)
    results.close()
    assert "call" in ended


def test_a_transformer_that_ends_stops_the_input(ran):
    rows, failure = ran(
        (pa.record_batch({"c0": [n]}) for n in itertools.count()),
        ps.map(lambda row: row.n),
        ps.take(3),
        schema=N,
    )
    assert (rows, failure) == ([{"n": 0}, {"n": 1}, {"n": 2}], None)


def test_a_user_s_failure_has_no_internal_frames(ran, numbers):
    def bad(row):
        if row.n == 57:
            raise Oops(row.n)
        return row.n

    rows, failure = ran(numbers(100), ps.map(bad), schema=N)
    assert type(failure) is Oops
    assert [row["n"] for row in rows] == list(range(57))
    message = traceback.format_exception(failure)
    assert len([line for line in message if line.startswith("  File")]) == 1
    assert "in bad" in message[1]
    assert failure.__notes__[0].startswith("raised in map(bad), composed at ")
    assert __file__ in failure.__notes__[0]
    assert failure.__notes__[1] == "on an executor, partition ?"


def test_a_failure_names_the_key(ran, numbers):
    batch = pa.record_batch({"c0": [1, 2], "m0": ["a", "b"]})
    _, failure = ran([batch], ps.map(lambda row: 1 // (2 - row.n)), schema=N, keys=["k"])
    assert isinstance(failure, ZeroDivisionError)
    assert failure.__notes__[1] == "on an executor, partition ?, k='b'"


def test_a_failure_of_the_input_is_raised(ran, numbers):
    def batches():
        yield from numbers(20)
        raise Oops

    rows, failure = ran(batches(), ps.map(lambda row: row.n), schema=N)
    assert len(rows) == 20
    assert type(failure) is Oops


def test_a_result_that_is_not_a_row_fails(ran, numbers):
    _, failure = ran(numbers(5), ps.map(lambda row: "x" if row.n == 3 else row.n), schema=N)
    assert str(failure).startswith("the column 'n' is int64, and cannot hold 'x' (str)")
    assert failure.__notes__[0].startswith("raised in on_executors, composed at ")
    assert failure.__notes__[1] == "on an executor, partition ?"


def batches_of(rows, size):
    """Batches of (key, time, n), as Spark would send them."""
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        keys, times, numbers = zip(*part, strict=True)
        columns = {"c0": pa.array(numbers, pa.int64()), "m0": pa.array(keys, pa.string()), "m1": pa.array(times)}
        yield pa.record_batch(columns)


keyed = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", "c"]), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40
)


@settings(max_examples=30, deadline=None)
@given(rows=keyed, size=st.integers(1, 12), as_=st.sampled_from(["rows", "batches"]))
def test_every_key_has_its_own_stream_and_times(rows, size, as_):
    """Each key and time has a per-time result, including nulls, wherever the batches are cut."""
    rows = sorted(rows, key=lambda row: (row[0] is not None, row[0] or "", row[1]))
    split = Splitting(as_, ["n"], 1, "t")
    expected = {}
    for key, at, number in rows:
        expected.setdefault((key, at), []).append(number)

    def numbers(value):
        return value.column(0).to_pylist() if as_ == "batches" else [value.n]

    fold = ps.Fold(list, lambda seen, value: [*seen, *numbers(value)])
    site = Site.here()
    reading = Cursor(batches_of(rows, size), split)
    keys = Module("keys", Keys, (reading, ps.reduce_by_time(fold).modules, site), site=site)
    source = Source((keys, *ps.flatten().modules))
    portions = ps.run(ps.pipe(source, ps.collect()), check=True)
    reading.close(None)
    found = []
    for portion in portions:
        batch = portion.batch
        found += [((*portion.key, at), value) for at, value in zip(batch.times, batch.values, strict=True)]
    assert found == list(expected.items())


@pytest.mark.parametrize("time", [None, "t"])
@pytest.mark.parametrize(
    "row",
    [
        ps.pipe(ps.map(lambda row: row.n), ps.filter(lambda n: n % 3)),
        ps.pipe(ps.map(lambda row: row.n), ps.reduce_by_time(ps.agg.sum()), ps.map(lambda n: -n)),
        ps.pipe(ps.take(5), ps.map(lambda row: row.n), ps.reduce_by_time(ps.agg.sum())),
        ps.pipe(ps.map(lambda row: row.n), ps.batch(4), ps.map(sum)),
    ],
)
def test_keys_of_stages_and_folds_need_no_stream(ran, monkeypatch, row, time):
    made = []
    installed = assembly.install

    def counting(*args):
        made.append(args)
        return installed(*args)

    monkeypatch.setattr(assembly, "install", counting)
    counts, results = [], []
    schema = pa.schema([("k", pa.string()), *([("t", pa.int64())] if time else []), ("n", pa.int64())])
    for keys, alone in ((3, True), (30, True), (30, False)):
        rows = [(f"{number // 10:02}", number % 10 // 4, number) for number in range(10 * keys)]
        batches = [batch if time else batch.drop_columns("m1") for batch in batches_of(rows, 7)]
        if not alone:
            monkeypatch.setattr(partition_module, "runs_in_a_row", lambda _: False)
        made.clear()
        results.append(ran(batches, row, schema=schema, keys=["k"], time=time))
        counts.append(len(made))
    assert results[1] == results[2]
    assert results[1][1] is None
    assert counts[0] == counts[1]
    assert counts[1] + 30 < counts[2]


@pytest.mark.parametrize("keys", [[], ["k"]])
def test_rows_of_many_times_are_processed_together(ran, keys, monkeypatch):
    answers, put = [], ResultQueue.put

    async def counting(self, portion):
        answers.append(portion)
        await put(self, portion)

    monkeypatch.setattr(ResultQueue, "put", counting)
    batches = [
        batch if keys else batch.drop_columns("m0") for batch in batches_of([("a", n, n) for n in range(400)], 200)
    ]
    schema = pa.schema([("t", pa.int64()), ("n", pa.int64())])
    rows, failure = ran(
        batches, ps.map(lambda row: row.n), ps.filter(lambda n: n % 2), schema=schema, keys=keys, time="t"
    )
    assert failure is None
    assert [tuple(row.values()) for row in rows] == [(n, n) for n in range(1, 400, 2)]
    assert len(answers) < 40


def test_a_key_that_ends_early_does_not_affect_others(ran):
    rows = [(key, 0, n) for key in "abc" for n in range(100)]
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    rows, failure = ran(
        batches_of(rows, 30), ps.map(lambda row: row.n), ps.take(2), schema=schema, keys=["k"], time="t"
    )
    assert failure is None
    assert [tuple(row.values()) for row in rows] == [(key, n) for key in "abc" for n in (0, 1)]


def test_only_one_key_is_kept(ran):
    """A key's state is released when the next one begins, so memory is bounded by one key."""
    alive = []

    class State:
        def __init__(self):
            alive.append(self)
            assert len(alive) == 1

    def end(state):
        alive.remove(state)
        return 1

    rows = [(str(key), 0, 1) for key in range(100, 150)]
    fold = ps.Fold(State, lambda state, _: state, end)
    found, failure = ran(batches_of(rows, 7), ps.reduce_by_time(fold), schema=N, keys=["k"], time="t")
    assert failure is None
    assert len(found) == 50


def test_a_null_time_is_refused(ran):
    batch = pa.record_batch({"c0": [1, 2], "m0": pa.array([None, 3])})
    _, failure = ran([batch], ps.map(lambda row: row.n), schema=N, time="day")
    assert str(failure).startswith("no time in 1 of the next 2 rows: day is null")


class FakeInput(Cursor):
    def __init__(self, stretches):
        super().__init__(iter(()), list)
        self.stretches = iter(stretches)

    async def more(self):
        await trio.sleep(0.5)
        return next(self.stretches, None)


def test_the_source_of_a_partition_conforms():
    def stretch(key, time, values):
        return KeyBatch(ps.Batch(time, values), key)

    def many():
        stretches = [[KeyBatch(ps.Batch.of([1, 1, 2, 3], [1, 2, 3, 4])), stretch((), 4, [5])]]
        return Source((Module("rows", Rows, (FakeInput(stretches),)),))

    def plain():
        stretches = [[stretch((), 1, [1, 2, 3]), stretch((), 2, [4])], [], [stretch((), 2, [5, 6])]]
        return Source((Module("rows", Rows, (FakeInput(stretches),)),))

    def keys():
        stretches = [[stretch(("a",), 1, [1, 2, 3]), stretch(("b",), 1, [4])], [stretch(("b",), 2, [5, 6])]]
        modules = ps.map(lambda n: n + 1).modules
        source = Module("keys", Keys, (FakeInput(stretches), modules, Site.here()))
        return Source((source, *ps.flatten().modules, *ps.flat_map(lambda portion: portion.batch.values).modules))

    # Here an answer is one value at the earliest of its times, so it depends on the limit of the ask.
    values = ps.flat_map(lambda part: part.batch.values)
    answers = Subject("answers", lambda: ps.pipe(as_answers(), values), batches=True)
    conformance(
        Subject("rows", plain), Subject("rows of many times", many), Subject("keys", keys), answers, cells=60
    ).check()


as_answers = ps.transformer(Answers)


def test_an_answer_counts_its_rows():
    batch = pa.record_batch({"n": [1, 2, 3]})
    assert KeyBatch(ps.Batch(0, [batch, batch])).rows == 6
    assert KeyBatch(ps.Batch(0, [1, 2])).rows == 2
