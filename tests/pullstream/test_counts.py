"""No neighbour makes a module expensive: counts of every module between every kind of source and of consumer.

A cell is a source, a module and a consumer. It runs with two numbers of values. The cost of one more value is compared
with the module's cheapest cell, and with the same source and consumer without the module. A count that grows faster
than the values grows with them at both sizes.
"""

import itertools
import math
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import attrs
import pytest
import trio

import pullstream as ps
from pullstream import files
from pullstream.conformance.ready import COMBINING, TRANSFORMERS, added, resolved
from pullstream.errors import JournalError
from pullstream.incremental import integrate, maintain
from pullstream.timely import TimeDomainError
from tests.pullstream.common import after
from tests.pullstream.counting import Counts, count, run_in_order
from tests.sampling import amount

pytestmark = pytest.mark.usefixtures("no_clocks")

FEW, MANY = 50, 200
PER_TIME = 50
TIMES = 3
"""A cell costs at most so many times its module's cheapest cell, its source and its consumer."""
LEAST = Counts(answers=0.1, steps=0.15, tasks=0.02, frames=11)
"""The least cost of a value in this comparison: three times this is not a cliff."""


@attrs.define
class Numbers:
    """Numbers up to a count, and how many of them have been read."""

    count: int
    folder: Path
    read: int = 0

    def __iter__(self):
        for number in range(self.count):
            self.read += 1
            yield number


@ps.source
async def waiting(ctx, numbers):
    """A batch for each time, after a short wait."""
    all_values = iter(numbers)
    while values := list(itertools.islice(all_values, PER_TIME)):
        await trio.sleep(0.01)
        yield ps.Batch(values[0] // PER_TIME, values)


def lines(numbers):
    """A file of the numbers, a line each."""
    path = numbers.folder / f"{numbers.count}.jsonl"
    path.write_text("".join(f"{number}\n" for number in numbers))
    return files.read_jsonl(path)


def out_of_order(number):
    return number // PER_TIME + number // 2 % 3


SOURCES = {
    "one time": ps.values,
    "many times": lambda numbers: ps.values(numbers, time=lambda number: number // PER_TIME),
    "out of order": lambda numbers: ps.pipe(ps.values(numbers), ps.stamp(out_of_order, lateness=3)),
    "waits": waiting,
    "file": lines,
}


async def passed(value):
    return value


def digit(number):
    return number % 10


def counted():
    return ps.reduce_by_key(ps.agg.count(), key=digit)


def sessions():
    return ps.sessions(1, ps.agg.count(), key=digit)


def again(number):
    """Send a number round once."""
    return ps.Again(-1 - number) if number >= 0 else number


def of_lists(transformer):
    return ps.pipe(ps.map(lambda number: [number]), transformer)


def of_text(*transformers):
    return ps.pipe(ps.map("{}\n".format), *transformers)


TRANSFORMING = {
    "map": lambda: ps.map(digit),
    "filter": lambda: ps.filter(lambda number: number % 2),
    "filter_not": lambda: ps.filter_not(lambda number: number % 2),
    "flat_map": lambda: ps.flat_map(lambda number: [number]),
    "map_batches": lambda: ps.map_batches(list),
    "map_async": lambda: ps.map_async(passed, 4),
    "map_async, waits": lambda: ps.map_async(after(0.001), 50),
    "prefetch": lambda: ps.prefetch(100),
    "in_flight": lambda: ps.in_flight(ps.map(digit), 4),
    "in_flight, a fold": lambda: ps.in_flight(counted(), 1000),
    "timeout": lambda: ps.timeout(1e6),
    "rate_limit": lambda: ps.rate_limit(10**6, per=1.0),
    "throttle": lambda: ps.throttle(0.1),
    "debounce": lambda: ps.debounce(0.1),
    "sample": lambda: ps.sample(0.1),
    "pausable": ps.pausable,
    "abortable": ps.abortable,
    "take": lambda: ps.take(10**6),
    "take by a test": lambda: ps.take(lambda number: number >= 0),
    "take_times": lambda: ps.take_times(10**6),
    "skip": lambda: ps.skip(2),
    "unique": ps.unique,
    "duplicates": lambda: ps.duplicates(digit),
    "batch": lambda: ps.batch(10),
    "windowed": lambda: ps.windowed(10, 5),
    "split": lambda: of_text(ps.split()),
    "decode": lambda: of_text(ps.map(str.encode), ps.decode()),
    "scan": lambda: ps.scan(int.__add__, 0),
    "tap": lambda: ps.tap(digit),
    "probe": lambda: ps.probe(lambda _: None),
    "group_by": lambda: ps.group_by(digit, ps.map(str)),
    "group_by, a fold": lambda: ps.group_by(digit, counted()),
    "group_by, batches": lambda: ps.group_by(digit, ps.batch(5)),
    "flatten": lambda: of_lists(ps.flatten()),
    "flatten, side by side": lambda: of_lists(ps.flatten(concurrency=4)),
    "fork": lambda: ps.fork(ps.map(digit), ps.filter(digit)),
    "fork, a fold": lambda: ps.fork(ps.map(digit), counted()),
    "loop": lambda: ps.loop(ps.map(again)),
    "worker_pool": lambda: ps.worker_pool(ps.map(digit)),
    "worker_pool, dynamic": lambda: ps.worker_pool(ps.map(digit), dynamic=True),
    "catch": ps.catch,
    "deferred": lambda: resolved("transformer", ps.map(digit)),
    "map_time": lambda: ps.map_time(lambda time: time),
    "delay": lambda: ps.delay(1),
    "timed": lambda: ps.timed(lambda time, number: number),
    "stamp": lambda: ps.stamp(lambda number: number // 10, nest=True),
    "stamp_epochs": lambda: ps.stamp_epochs(10, nest=True),
    "reduce_by_key": counted,
    "two folds": lambda: ps.pipe(counted(), ps.reduce_by_key(ps.agg.count(), key=lambda pair: pair[0])),
    "reduce_by_time": lambda: ps.reduce_by_time(ps.agg.count()),
    "reduce_by_time, eager": lambda: ps.reduce_by_time(ps.agg.count(), eager=True),
    "count_by_key": lambda: ps.count_by_key(digit),
    "aggregate": lambda: ps.aggregate(key=digit, n=ps.agg.count()),
    "accumulate": lambda: ps.accumulate(ps.agg.count(), key=digit),
    "unique_by_time": lambda: ps.unique_by_time(digit),
    "sort_by_time": ps.sort_by_time,
    "tumbling": lambda: ps.tumbling(2, ps.agg.count(), key=digit),
    "tumbling, eager": lambda: ps.tumbling(2, ps.agg.count(), key=digit, eager=True),
    "sliding": lambda: ps.sliding(2, 1, ps.agg.count(), key=digit),
    "sessions": sessions,
    "integrate": lambda: ps.pipe(ps.map(lambda number: (digit(number), 1)), integrate()),
    "maintain": lambda: ps.pipe(
        ps.map(lambda number: (digit(number), 1)), maintain(lambda digits: digits.map(lambda digit: (digit, 0)).count())
    ),
}


JOINING = {
    "concat": ps.concat,
    "merge": ps.merge,
    "merge_sorted": ps.merge_sorted,
    "zip": ps.zip,
    "combine_latest": ps.combine_latest,
    "join": lambda one, other: ps.join(one, other, on=lambda number: number),
    "dynamic_merge": added,
    "catch_up": ps.catch_up,
    "retry": lambda one, other: ps.concat(ps.retry(one, 2), other),
}

CONSUMERS = {
    "drain": ps.drain,
    "first": lambda: ps.first(default=None),
    "take": lambda: ps.pipe(ps.take(10**6), ps.drain()),
    "flat_map": lambda: ps.pipe(ps.flat_map(lambda value: [value]), ps.drain()),
    "map_async": lambda: ps.pipe(ps.map_async(passed, 4), ps.drain()),
    "batch": lambda: ps.pipe(ps.batch(10), ps.drain()),
    "zip": lambda: lambda source: ps.pipe(ps.zip(source, ps.integers()), ps.drain()),
    "tee": lambda: ps.tee(ps.drain(), ps.pipe(ps.take(5), ps.drain())),
    "merge": lambda: lambda source: ps.pipe(ps.merge(source, ps.values([0])), ps.drain()),
    "iterate": None,
    "a file per time": lambda: ps.pipe(ps.map(str), files.write_jsonl(f"{mkdtemp()}/{{time}}.jsonl", durable=False)),
    "a journal": ps.drain,
}


NO_CELLS = {"several", "distinct"}
"""Rows of the kit that are not modules of their own, or that have an older name."""

EXCEPTIONS = {
    "file, worker_pool*": "Which worker asks next depends on the thread that reads the file.",
    "*, worker_pool*, a journal": "Which worker asks next depends on the thread that writes the journal.",
    "file, take by a test, *": "It asks for one value at a time, and each ask has a cost for a file's reader.",
    "file, unique_by_time, *": "Few values are new, so the file is asked often, and for few values.",
    "file, timeout, *": "Virtual time does not wait for the thread that reads, so the timeout strikes.",
    "out of order, *, a file per time": "The sink gets each run of equal times in an answer of its own.",
    "waits, *, map_async": "It starts its calls a few at a time, in a turn of the scheduler each.",
    "file, windowed, map_async": "As above: the windows come a few at a time.",
    "*, in_flight, *": "It lets in four values at a time, so every few values cost a turn of the scheduler.",
    "file, combine_latest, *": "What it emits depends on which of its files' threads answers first.",
    "out of order, loop, *": "Each run of equal times goes round by itself, as a later time waits outside.",
    "out of order, stamp*": "It gives each run of equal times its inner times by itself.",
    "*, stamp*, zip": "Their times have no common order, which is an error.",
    "*, stamp*, a file per time": "It makes a time of every ten values, and so more files.",
    "out of order, flatten, side by side, *": "It opens a stream for each value, and each run of times is a batch.",
    "waits, fork, batch": "Each of its branches takes a turn whenever the source has waited.",
    "waits, *, a journal": "The journal writes open state to a record for each time that completes.",
    "waits, two folds, a file per time": "How many turns the commits of files take depends on their thread.",
    "out of order, zip, a journal": "Its pairs have times that go back, which a journal refuses late.",
    "out of order, group_by*": "Each run of equal times is divided among the groups anew.",
}
"""Cells, as "source, module, consumer", that may cost more, and why."""

PRESENT = 400
"""The number of values that can be read."""
FURTHER = {
    "fork, a fold": 50,  # The fold asks for twice as much each time, and `map` beside it gets the same values.
    "two folds": 16 + 32 + 64 + 128,  # The second asks once more before it sees that a time is complete: a doubling.
    "catch_up": 10 + PRESENT // 2,  # New values are read while the old ones are, up to the capacity.
}
"""The number of values that modules may read if they read further, and why."""


def module_of(name):
    """A function that composes a module with sources of so many values; None is no module at all."""
    if name in JOINING:
        return lambda source, number: JOINING[name](source(number // 2), source(number - number // 2))
    return lambda source, number: ps.pipe(source(number), TRANSFORMING[name]()) if name else source(number)


def cell(source, name, consumer, number, folder):
    """Run a cell and count."""
    made = module_of(name)(lambda part: SOURCES[source](Numbers(part, folder)), number)

    async def iterated():
        async with ps.aiterate(made, release_timeout=math.inf) as values:
            async for _ in values:
                pass
        return 0

    async def run():
        sink = CONSUMERS[consumer]()
        program = ps.pipe(made, sink) if isinstance(sink, ps.Sink) else sink(made)
        journal = f"{mkdtemp(dir=folder)}/journal" if consumer == "a journal" else None
        # Virtual time does not wait for threads.
        async with program.open(journal=journal, release_timeout=math.inf) as running:
            await running.result()
        return sum(row.batches_out for row in running.counters())

    return count(iterated if consumer == "iterate" else run)


@cache
def costs(source, name, consumer, folder):
    """The cell's costs per value for few values, per value for many, and for one more value."""
    few, many = (cell(source, name, consumer, number, folder) for number in (FEW, MANY))
    more = Counts(*(max(0, high - low) / (MANY - FEW) for low, high in zip(few, many, strict=True)))
    return Counts(*(each / FEW for each in few)), Counts(*(each / MANY for each in many)), more


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("counts")


def faults(name, source, consumer, folder):
    """Faults of a cell: a count that grows, or that is too far above the module's cheapest cell."""
    try:
        few, many, more = costs(source, name, consumer, folder)
    except (JournalError, TimeDomainError):
        return  # refused: times that go back, or that are of another kind than the consumer's
    cheapest_of = consumer if name is None else "drain"
    beside = amount(dict.fromkeys([source, "one time", "many times"]), SOURCES)
    alone = [costs(each, name, cheapest_of, folder)[2] for each in beside if not excepted(name, each, cheapest_of)]
    around = costs(source, None, consumer if name else "drain", folder)[2]
    for what, least, own, outside, low, high, cheapest in zip(
        Counts._fields, LEAST, more, around, few, many, map(min, zip(*alone, strict=True)), strict=True
    ):
        if own > (most := TIMES * max(least, cheapest + outside)):
            yield f"{source}, {name}, {consumer}: {own:.2f} {what} a value, above {most:.2f}"
        if high > 1.1 * low + least / 2:
            yield f"{source}, {name}, {consumer}: {what} grow from {low:.2f} to {high:.2f} a value"


def excepted(name, source, consumer):
    return any(fnmatchcase(f"{source}, {name}, {consumer}", pattern) for pattern in EXCEPTIONS)


MODULES = [None, *TRANSFORMING, *JOINING]


@pytest.mark.sampled
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", MODULES)
def test_no_neighbour_makes_a_module_expensive(name, source, folder):
    """By default with every third consumer, others for the next module, and compared with three sources."""
    step = amount(3, 1)
    consumers = [each for each in [*CONSUMERS][MODULES.index(name) % step :: step] if not excepted(name, source, each)]
    assert [fault for each in consumers for fault in faults(name, source, each, folder)] == []


@pytest.mark.sampled
@pytest.mark.parametrize("consumer", ["first", "ten"])
@pytest.mark.parametrize("source", ["one time", "many times", "out of order"])
@pytest.mark.parametrize("name", [*TRANSFORMING, *JOINING])
def test_no_module_reads_much_further_than_it_must(name, source, consumer, folder):
    """A limit of one value reads the minimum. More than twice that and sixteen values of each source is too far."""
    read = []
    for limit in (1, 4096):
        made = []

        def numbers(part, made=made):
            made.append(Numbers(part, folder))
            return SOURCES[source](made[-1])

        sink = ps.first(default=None) if consumer == "first" else ps.pipe(ps.take(10), ps.drain())

        program = ps.pipe(module_of(name)(numbers, PRESENT), sink)

        async def run(program=program, limit=limit):
            async with program.open(limit=limit) as running:
                await running.result()

        run_in_order(run)
        read.append(sum(each.read for each in made))
    least, found = read
    assert found <= max(FURTHER.get(name, 0), 2 * least + 16 * len(made))


def test_every_ready_module_has_its_cells():
    names = {re.split(r"[ ,]", each)[0] for each in (*TRANSFORMING, *JOINING)}
    assert {re.split(r"[ ,]", each.name)[0] for each in (*TRANSFORMERS, *COMBINING)} - names - NO_CELLS == set()
