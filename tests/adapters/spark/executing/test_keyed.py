"""The streams of keys without Spark: micro-batches of random pipelines against the same pipelines in one run."""

import random
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import Row

import pullstream as ps
from adapters.spark.executing.keyed import KeyedPlan
from adapters.spark.executing.shipping import keyed, pickled
from pullstream.authoring import Site

TwsTester = pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="from PySpark 4.2 on").TwsTester

SECOND = 1_000_000
SCHEMA = pa.schema([("at", pa.int64()), ("value", pa.int64())])
KEYED = SCHEMA.append(pa.field("key", pa.string()))
END = 10_000


@ps.transformer
async def totals(upstream, ctx):
    """A user's own: the sum of each time and, of all times so far, in its memory."""
    sums = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                if time not in sums:
                    ctx.notify_at(time)
                sums[time] = sums.get(time, 0) + sum(values)
            case ps.Completed(time):
                memory = ctx.memory.at(time)
                memory["all"] = memory.get("all", 0) + sums.pop(time)
                yield ps.Batch(time, [memory["all"]])


def windowed(window):
    return ps.pipe(window, ps.map(lambda each: each.value))


PARTS = [
    lambda dice: ps.map(lambda value: value + 1),
    lambda dice: ps.filter(lambda value: value % 3),
    lambda dice: ps.flat_map(lambda value: [value, -value][: value % 3]),
    lambda dice: ps.map_async(asynchronously, concurrency=2),
    lambda dice: ps.restamp(coarser(dice.choice([2, 5]) * SECOND)),
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
    """Micro-batches: rows (key, second, value), and the second up to which everything has come then."""
    batches, now = [], 0
    for _ in range(dice.randrange(1, 14)):
        count = dice.randrange(9)
        new = [(dice.choice("abc"), dice.randrange(now + 1, now + 12), dice.randrange(50)) for _ in range(count)]
        now += dice.choice([0, 0, 1, 2, 7])
        batches.append((new, now))
    return [*batches, ([], END)]


class Keys:
    """The keys of a DataFrame with the columns `value` and, as its time, `at`, and their state."""

    def __init__(self, *transformers, as_="rows", schema=SCHEMA, **given):
        columns = pa.schema([("c0", pa.int64()), ("c1", pa.timestamp("us", "UTC")), ("m0", pa.string())])
        modules, names = ps.pipe(*transformers).modules, ("value", "at")
        given = {"at": 0, **given}
        plan = KeyedPlan(modules, Site.here(), as_, names, ("key",), "at", schema, given, columns=columns)
        self.tester = TwsTester(
            keyed(pickled(modules, plan)), timeMode="EventTime", eventTimeExtractor=lambda row: row.t // 1000
        )
        self.now = 0

    def batch(self, rows, second):
        """A micro-batch, which begins with nothing but the state."""
        tester = self.tester
        tester.processor.close()
        tester.processor.init(tester.handle)
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

    @property
    def state(self):
        """What is left."""
        handle = self.tester.handle
        return [
            (name, key)
            for name, states in (("rows", handle.list_states), ("kept", handle.value_states))
            for key in "abc"
            if (handle.setGroupingKey(key), states[name].exists())[1]
        ]


def of_each_key(whole, rows):
    """The same in one run for each key: (key, time, value)."""
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
def test_random_pipelines_give_what_one_run_gives(seed):
    """Whichever micro-batches the rows come in, late ones among them, and the whole as soon as it is complete."""
    dice = random.Random(seed)
    whole, batches = pipeline(dice), history(dice)
    keys = Keys(whole, schema=KEYED, key=1)
    came = {}
    for rows, second in batches:
        for row in keys.batch(rows, second):
            came.setdefault(row.key, []).append((row.at, row.value))
    alone = of_each_key(whole, [row for rows, _ in batches for row in rows])
    assert came == {key: made for key, made in alone.items() if made}
