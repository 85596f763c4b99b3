"""Keyed streams without Spark: random pipelines give the same in micro-batches as in one run."""

import random
import threading
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import Row

import pullstream as ps
from adapters.spark import NullTimeError, RowError, StateMismatch
from adapters.spark.executing.keyed import KeyedPlan
from adapters.spark.executing.shipping import keyed, pickled
from pullstream.authoring import Site
from tests.pullstream.common import totals

TwsTester = pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="from PySpark 4.2 on").TwsTester

SECOND = 1_000_000
SCHEMA = pa.schema([("at", pa.int64()), ("value", pa.int64())])
KEYED = SCHEMA.append(pa.field("key", pa.string()))
SHOWN = pa.schema([("value", pa.string())])
END = 10_000


def windowed(window):
    return ps.pipe(window, ps.map(lambda each: each.value))


PARTS = [
    lambda dice: ps.map(lambda value: value + 1),
    lambda dice: ps.filter(lambda value: value % 3),
    lambda dice: ps.flat_map(lambda value: [value, -value][: value % 3]),
    lambda dice: ps.map_async(asynchronously, concurrency=2),
    lambda dice: ps.map_time(coarser(dice.choice([2, 5]) * SECOND)),
    lambda dice: ps.reduce_by_time(ps.agg.sum()),
    lambda dice: ps.pipe(ps.reduce_by_key(ps.agg.max(), key=lambda value: value % 2), ps.map(lambda pair: pair[1])),
    lambda dice: ps.accumulate(ps.agg.sum()),
    lambda dice: ps.scan(lambda state, value: 2 * state % 97 + value, 1),
    lambda dice: ps.unique(),
    lambda dice: ps.take(dice.randrange(1, 9)),
    lambda dice: ps.take_times(dice.randrange(1, 9)),
    lambda dice: ps.skip(dice.randrange(1, 5)),
    lambda dice: ps.pipe(ps.batch(3), ps.map(sum)),
    lambda dice: totals(),
    lambda dice: windowed(ps.tumbling(dice.choice([3, 10]) * SECOND, ps.agg.sum())),
    lambda dice: windowed(ps.sliding(6 * SECOND, dice.choice([2, 8]) * SECOND, ps.agg.sum())),
    lambda dice: windowed(ps.sessions(4 * SECOND, ps.agg.sum())),
    lambda dice: windowed(ps.sessions(2 * SECOND, ps.Fold(list, lambda row, value: [*row, value], len))),
]


def coarser(size):
    return lambda time: time // size * size


async def asynchronously(value):
    return value + 2


def pipeline(dice):
    parts = dice.choices(PARTS, k=dice.randrange(1, 4))
    return ps.pipe(ps.map(lambda row: row.value), *[part(dice) for part in parts], ps.map(int))


def history(dice):
    """Micro-batches: rows (key, second, value), and the second up to which all rows have arrived by then."""
    batches, now = [], 0
    for _ in range(dice.randrange(1, 14)):
        count = dice.randrange(9)
        new = [(dice.choice("abc"), dice.randrange(now + 1, now + 12), dice.randrange(50)) for _ in range(count)]
        now += dice.choice([0, 0, 1, 2, 7])
        batches.append((new, now))
    return [*batches, ([], END)]


class Keys:
    """The keys of a DataFrame with the columns `value` and `at`, its time, and their state."""

    def __init__(self, *transformers, as_="rows", schema=SCHEMA, **given):
        columns = pa.schema([("c0", pa.int64()), ("c1", pa.timestamp("us", "UTC")), ("m0", pa.string())])
        modules, names = ps.pipe(*transformers).modules, ("value", "at")
        given = {name: place for name, place in {"at": 0, **given}.items() if name in schema.names}
        plan = KeyedPlan(modules, Site.here(), as_, names, ("key",), "at", schema, given, columns=columns)
        self.tester = TwsTester(
            keyed(pickled(modules, plan)), timeMode="EventTime", eventTimeExtractor=lambda row: row.t // 1000
        )
        self.now = 0

    def batch(self, rows, second):
        tester = self.tester
        self.begun()
        made = []
        for key in sorted({row[0] for row in rows}):
            cells = [
                Row(c0=value, c1=datetime.fromtimestamp(at, UTC), m0=key, t=at * SECOND)
                for name, at, value in rows
                if name == key
            ]
            made += tester.test(key, cells)
        if second > self.now:
            self.now = second
            made += tester.setWatermark(second * 1000)
        tester.processor.close()
        return made

    def begun(self):
        processor = self.tester.processor
        processor.close()
        processor.init(self.tester.handle)
        return processor._streams

    def take_over(self, others):
        self.tester.handle = others.tester.handle
        self.now = others.now
        self.tester._currentWatermarkMs = others.now * 1000

    @property
    def state(self):
        handle = self.tester.handle
        return [
            (name, key)
            for name, states in (("rows", handle.list_states), ("kept", handle.value_states))
            for key in "abc"
            if (handle.setGroupingKey(key), states[name].exists())[1]
        ]


def of_each_key(whole, rows):
    """The results of one run per key: {key: [(time, value), ...]}."""
    found = {}
    for key in sorted({row[0] for row in rows}):
        mine = sorted((row[1:] for row in rows if row[0] == key), key=lambda row: row[0])
        source = ps.values([Point(value, at * SECOND) for at, value in mine], time=lambda row: row.at)
        found[key] = ps.run(ps.pipe(source, whole, ps.collect(timed=True)))
    return found


class Point(NamedTuple):
    value: int
    at: int


@pytest.mark.parametrize("seed", range(40))
def test_random_pipelines_equal_one_run(seed):
    """With any micro-batches, including late rows; each result arrives as soon as it is complete."""
    dice = random.Random(seed)
    whole, batches = pipeline(dice), history(dice)
    keys = Keys(whole, schema=KEYED, key=1)
    found = {}
    for rows, second in batches:
        for row in keys.batch(rows, second):
            found.setdefault(row.key, []).append((row.at, row.value))
    alone = of_each_key(whole, [row for rows, _ in batches for row in rows])
    assert found == {key: made for key, made in alone.items() if made}


def test_a_key_without_state_leaves_nothing():
    """Once all results of its rows are complete; a module's lasting memory stays, but no row."""
    forgetting, keeping = Keys(windowed(ps.tumbling(10 * SECOND, ps.agg.count()))), Keys(ps.accumulate(ps.agg.count()))
    for keys in (forgetting, keeping):
        keys.batch([("a", 3, 1), ("b", 4, 1)], 2)
        assert keys.state == [("rows", "a"), ("rows", "b")]
        keys.batch([], 50)
    assert forgetting.state == []
    assert keeping.state == [("kept", "a"), ("kept", "b")]


@pytest.mark.parametrize("as_", ["rows", "tuples", "dicts", "batches"])
def test_rows_have_the_requested_form(as_):
    """Arrow batches have one time each, and contain only rows to replay or deliver."""
    of = {
        "rows": lambda row: (row.at, row.value),
        "tuples": lambda row: row[::-1],
        "dicts": lambda row: (row["at"], row["value"]),
        "batches": lambda batch: (batch.column("at")[0].value, sum(batch.column("value").to_pylist())),
    }[as_]
    keys = Keys(
        ps.map(of),
        ps.tumbling(10 * SECOND),
        ps.map(lambda window: {"value": repr(window.value)}),
        as_=as_,
        schema=SHOWN,
    )
    assert keys.batch([("a", 1, 5), ("a", 1, 6), ("a", 12, 7)], 11)[0].value in {
        "[(1000000, 5), (1000000, 6)]",
        "[(1000000, 11)]",
    }
    assert [row.value for row in keys.batch([("a", 13, 8)], 99)] == ["[(12000000, 7), (13000000, 8)]"]


def test_rows_behind_the_watermark_are_processed_at_once():
    """Spark drops late rows by the watermark of the previous micro-batch, so some pass."""
    keys = Keys(ps.map(lambda row: row.value))
    keys.batch([], 20)
    streams = keys.begun()
    made, failure = streams.take(("a",), [(5, None, "a", 19 * SECOND), (6, None, "a", 30 * SECOND)], 20_000)
    assert ([row.value for row in made], failure) == ([5], None)
    assert streams.wake(("a",), 20_000) == ((), None)
    assert [row.value for row in keys.batch([], 40)] == [6]


def test_a_row_without_a_time_is_refused():
    streams = Keys(ps.map(lambda row: row.value)).begun()
    made, failure = streams.take(("a",), [(5, None, "a", None)], 0)
    assert isinstance(failure, NullTimeError)
    assert made == ()
    assert "key='a'" in failure.__notes__[-1]


def test_a_result_that_does_not_fit_is_refused():
    keys = Keys(ps.map(lambda row: "much"))
    with pytest.raises(RowError, match="much"):
        keys.batch([("a", 1, 5)], 9)


def test_the_state_of_other_transformers_is_refused():
    keys, others = Keys(ps.accumulate(ps.agg.count())), Keys(ps.unique())
    keys.batch([("a", 1, 5)], 9)
    others.take_over(keys)
    with pytest.raises(StateMismatch, match="the checkpoint contains the state of accumulate .*but this is unique"):
        others.batch([("a", 11, 5)], 19)


def test_a_failure_has_its_place_and_ends_the_thread():
    def fails(row):
        return 1 // (row.value - 5)

    with pytest.raises(ZeroDivisionError) as caught:
        Keys(ps.map(fails)).batch([("a", 1, 5)], 9)
    place, executor = caught.value.__notes__
    assert place.startswith("raised in map(fails), composed at ")
    assert __file__ in place
    assert "key='a'" in executor
    assert not [thread for thread in threading.enumerate() if thread.name == "pullstream keys"]
