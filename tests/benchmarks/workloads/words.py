"""Words counted per epoch: W4."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby, repeat
from operator import itemgetter

from tests.benchmarks.peers import bytewax_list, in_asyncio, in_trio, pathway_rows, pathway_table
from tests.benchmarks.workload import BY_HAND, HERE, Target, Workload

LINES = 2_000
"""The number of lines in an epoch."""
WORDS = Workload(
    "W4",
    "words per epoch",
    f"Lines of eight words, {LINES:,} per epoch; each line carries its epoch. The words of an epoch are counted, and "
    "the counts are emitted when the epoch is complete.",
    full=400_000,
    quick=100_000,
    smoke=4_000,
    unit="line",
    ordered=False,
    target=Target(1.3),
)
TOLD = f"is given the size of an epoch, {LINES:,} lines"


def lines(size):
    chance = random.Random(0)
    words = [f"word{number}" for number in range(2_000)]
    return [(number // LINES, " ".join(chance.choices(words, k=8))) for number in range(size)]


def split(row):
    return row[1].split()


epoch_of = itemgetter(0)


def counted(epoch, rows):
    return zip(repeat(epoch), Counter(chain.from_iterable(map(split, rows))).items())


def counted_list(rows):
    """The counts of one epoch's rows."""
    return list(counted(rows[0][0], rows))


@WORDS.limit
def plain(size):
    rows = lines(size)

    def run():
        out = []
        for epoch, group in groupby(rows, epoch_of):
            out += counted(epoch, group)
        return out

    return run


@WORDS.way(HERE)
def here(size):
    import pullstream as ps

    rows = lines(size)
    program = ps.pipe(ps.values(rows, time=epoch_of), ps.flat_map(split), ps.count_by_key(), ps.collect(timed=True))
    return lambda: ps.run(program)


@WORDS.way(HERE, "size given", note=TOLD)
def here_told(size):
    import pullstream as ps

    rows = lines(size)
    program = ps.pipe(
        ps.values(rows), ps.stamp_epochs(LINES), ps.flat_map(split), ps.count_by_key(), ps.collect(timed=True)
    )
    return lambda: ps.run(program)


@WORDS.way(BY_HAND, note="async generators")
def by_hand(size):
    rows = lines(size)

    async def given():
        for row in rows:
            yield row

    async def words():
        async for row in given():
            for word in split(row):
                yield row[0], word

    async def counts():
        current, table = 0, Counter()
        async for epoch, word in words():
            if epoch != current:
                for pair in table.items():
                    yield current, pair
                current, table = epoch, Counter()
            table[word] += 1
        for pair in table.items():
            yield current, pair

    async def main():
        return [pair async for pair in counts()]

    return in_trio(main)


@WORDS.way("streamable", note=TOLD)
def streamable(size):
    from streamable import stream

    rows = lines(size)
    return lambda: list(stream(rows).group(LINES).map(counted_list).flatten())


@WORDS.way("aiostream", share=0.2, note=TOLD)
def aiostream(size):
    from aiostream import pipe, stream

    rows = lines(size)

    async def main():
        groups = stream.iterate(rows) | pipe.chunks(LINES) | pipe.map(counted_list)
        return await (groups | pipe.map(stream.iterate) | pipe.concat() | pipe.list())

    return in_asyncio(main)


@WORDS.way("reactivex", note=TOLD)
def reactivex(size):
    import reactivex as rx
    from reactivex import operators as ops

    rows = lines(size)
    stages = (ops.buffer_with_count(LINES), ops.map(counted_list), ops.flat_map(rx.from_iterable), ops.to_list())
    return lambda: rx.from_iterable(rows).pipe(*stages).run()


@WORDS.way("streamz", share=0.2, note=TOLD)
def streamz(size):
    from streamz import Stream

    rows = lines(size)

    def run():
        source = Stream()
        out = source.partition(LINES).map(counted_list).flatten().sink_to_list()
        for row in rows:
            source.emit(row)
        return out

    return run


@WORDS.way(
    "bytewax", note="one key for all lines, and epochs of half an hour, because its watermark advances with the clock"
)
def bytewax(size):
    from bytewax.operators import windowing

    rows = lines(size)
    begin, epoch = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=30)
    clock = windowing.EventClock(lambda row: begin + epoch * row[0] + epoch / 2, epoch / 2)
    windower = windowing.TumblingWindower(length=epoch, align_to=begin)

    def add(table, row):
        table.update(split(row))
        return table

    def build(op, given):
        keyed = op.key_on("one", given(rows), lambda _: "all")
        folded = windowing.fold_window("count", keyed, clock, windower, Counter, add, lambda a, b: a + b)
        return op.flat_map("pairs", folded.down, lambda item: zip(repeat(item[1][0]), item[1][1].items()))

    return bytewax_list(build)


@WORDS.way("pathway", share=0.2, note="emits changing counts; the last ones are used")
def pathway(size):
    rows = lines(size)

    def build(pw):
        table = pathway_table(pw, rows, epoch=int, line=str)
        split_line = pw.apply_with_type(str.split, list[str], pw.this.line)
        words = table.select(pw.this.epoch, word=split_line).flatten(pw.this.word)
        found = words.groupby(pw.this.epoch, pw.this.word)
        return found.reduce(pw.this.epoch, pw.this.word, count=pw.reducers.count())

    run = pathway_rows(build)
    return lambda: [(epoch, (word, count)) for epoch, word, count in run()]
