"""Two streams joined by key, epoch by epoch and within a minute of event time: W7a and W7b."""

import random
from collections import defaultdict, deque
from itertools import groupby
from operator import itemgetter

from tests.benchmarks.peers import bytewax_list, in_trio, pathway_rows, pathway_table
from tests.benchmarks.workload import BY_HAND, HERE, Target, Workload

EPOCH = 1_000
KEYS = 1_000
JOIN = Workload(
    "W7a",
    "join per epoch",
    f"Two streams with {EPOCH:,} rows each per epoch; every row has one of {KEYS:,} keys. The result is all pairs of "
    "rows with the same epoch and key.",
    full=200_000,
    quick=40_000,
    smoke=2_000,
    unit="row",
    ordered=False,
    target=Target(1.5),
)
MINUTE = 60
WITHIN = Workload(
    "W7b",
    "join within a minute",
    "Two streams with one row per second; every row has one of twenty keys. The result is the number of pairs with the "
    "same key and times at most a minute apart.",
    full=40_000,
    quick=10_000,
    smoke=500,
    unit="row",
    target=Target(1.5),
)

# A row is an epoch or a second, a key and a number.
first, key_of = itemgetter(0), itemgetter(1)


def rows(size, side):
    chance = random.Random(side)
    return [(number // EPOCH, f"key{chance.randrange(KEYS)}", number) for number in range(size)]


def numbers(pairs):
    return [(left[2], right[2]) for left, right in pairs]


def joined(left, right):
    table = defaultdict(list)
    for row in left:
        table[row[1]].append(row)
    return ((mine, row) for row in right if row[1] in table for mine in table[row[1]])


@JOIN.limit
def plain(size):
    left, right = rows(size, 0), rows(size, 1)

    def run():
        out = []
        for (_, some), (_, others) in zip(groupby(left, first), groupby(right, first), strict=True):
            out += joined(some, others)
        return out

    return run, numbers


@JOIN.way(HERE)
def here(size):
    import pullstream as ps

    left, right = (ps.values(rows(size, side), time=first) for side in (0, 1))
    program = ps.pipe(ps.join(left, right, on=key_of), ps.collect())
    return lambda: ps.run(program), numbers


@JOIN.way(BY_HAND, note="async generators of epochs")
def by_hand(size):
    sides = rows(size, 0), rows(size, 1)

    async def given(side):
        for row in side:
            yield row

    async def epochs(side):
        some = []
        async for row in side:
            if some and row[0] != some[0][0]:
                yield some
                some = []
            some.append(row)
        yield some

    async def main():
        left, right = (epochs(given(side)) for side in sides)
        out = []
        async for some in left:
            out += joined(some, await anext(right))
        return out

    return in_trio(main), numbers


@JOIN.way("bytewax", share=0.2, note="keyed by epoch and key together; emits all pairs at the end")
def bytewax(size):
    sides = rows(size, 0), rows(size, 1)

    def build(op, given):
        keyed = [
            op.key_on(f"key{number}", given(side), lambda row: f"{row[0]} {row[1]}")
            for number, side in enumerate(sides)
        ]
        return op.join("join", *keyed, insert_mode="product", emit_mode="final")

    return bytewax_list(build), lambda out: numbers(pair for _, pair in out if None not in pair)


@JOIN.way("pathway", share=0.2)
def pathway(size):
    sides = rows(size, 0), rows(size, 1)

    def build(pw):
        left, right = (pathway_table(pw, side, epoch=int, key=str, n=int) for side in sides)
        pairs = left.join(right, left.epoch == right.epoch, left.key == right.key)
        return pairs.select(left=left.n, right=right.n)

    return pathway_rows(build)


# ---- within a minute


def seconds(size):
    chance = random.Random(0)
    return [(number, f"key{chance.randrange(20)}", number) for number in range(size)]


@WITHIN.limit
def within_plain(size):
    data = seconds(size)

    def run():
        sides = (defaultdict(deque), defaultdict(deque))
        pairs = 0
        for at, key, number in data:
            other = sides[1 - number % 2][key]
            while other and other[0] < at - MINUTE:
                other.popleft()
            pairs += len(other)
            sides[number % 2][key].append(at)
        return pairs

    return run


@WITHIN.way(HERE)
def within_here(size):
    import pullstream as ps

    data = seconds(size)
    left, right = (ps.values(data[side::2], time=first) for side in (0, 1))
    pairs = ps.join(left, right, on=key_of, within=MINUTE, capacity=1_000_000)
    program = ps.pipe(pairs, ps.reduce(lambda total, _: total + 1, 0))
    return lambda: ps.run(program)


@WITHIN.way("pathway", share=0.5)
def within_pathway(size):
    data = seconds(size)

    def build(pw):
        left, right = (pathway_table(pw, data[side::2], at=int, key=str, n=int) for side in (0, 1))
        near = pw.temporal.interval(-MINUTE, MINUTE)
        pairs = left.interval_join(right, left.at, right.at, near, left.key == right.key)
        return pairs.select(left=left.n).reduce(count=pw.reducers.count())

    run = pathway_rows(build)
    return lambda: run()[0][0]
