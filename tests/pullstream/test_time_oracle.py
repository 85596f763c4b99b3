"""Everything computed per time, against a plain Python computation, under random interleavings of inputs."""

import collections
import random
from operator import attrgetter

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

import pullstream as ps
from tests.sampling import amount

values = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abc"), st.integers(0, 99)), max_size=12)


@attrs.frozen
class Case:
    """Values for some sources, each in the order of its times, and how the run goes."""

    rows: tuple
    limit: int
    seed: int

    @property
    def all(self):
        """The values of all sources."""
        return [row for rows in self.rows for row in rows]


cases = st.builds(
    Case,
    st.lists(values.map(lambda rows: sorted(rows, key=lambda row: row[0])), min_size=1, max_size=3).map(tuple),
    st.sampled_from([1, 2, 7, 4096]),
    st.integers(0, 1000),
)


@ps.source
async def delayed(ctx, rows, seed):
    """Values at their times, after pauses, in batches; now and then it says sooner what will not come."""
    rng = random.Random(seed)
    start = 0
    while start < len(rows):
        time = rows[start][0]
        stop = start
        while stop < len(rows) and rows[stop][0] == time and rng.random() < 0.8:
            stop += 1
        stop = min(max(stop, start + 1), start + ctx.limit)
        if rng.random() < 0.3:
            ctx.advance(time)
        if rng.random() < 0.5:
            await trio.sleep(rng.random())
        yield ps.Batch(time, rows[start:stop])
        start = stop


def merged(case):
    """The sources of a case, merged as they come."""
    sources = [delayed(rows, case.seed + number) for number, rows in enumerate(case.rows)]
    return ps.merge(*sources) if len(sources) > 1 else sources[0]


def ran(case, *parts):
    """The (time, value) pairs that come of a case through some parts."""

    async def main():
        attrgetter("_core._run._r")(trio).seed(case.seed)
        with trio.fail_after(1000):
            async with ps.pipe(*parts, ps.collect(timed=True)).open(limit=case.limit) as running:
                return await running.result()

    return trio.run(main, clock=MockClock(autojump_threshold=0))


def by_time(rows):
    """The values of each time, times in order."""
    table = collections.defaultdict(list)
    for row in rows:
        table[row[0]].append(row)
    return dict(sorted(table.items()))


@settings(max_examples=amount(37, 150), deadline=None)
@given(cases)
def test_counts_per_key_and_time(case):
    """`count_by_key` and `reduce_by_key` are a Counter per time, in the order of the times."""
    expected = {time: collections.Counter(row[1] for row in rows) for time, rows in by_time(case.all).items()}
    folded = ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=lambda row: row[1])
    for counted in (ps.count_by_key(lambda row: row[1]), folded):
        found = ran(case, merged(case), counted)
        assert [time for time, _ in found] == sorted(time for time, _ in found)
        assert len(found) == len({(time, key) for time, (key, _) in found})
        assert {time: dict(value for at, value in found if at == time) for time, _ in found} == expected


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_aggregates_per_time(case):
    """Aggregates are what plain Python gives for the values of each time."""
    of = ps.agg
    numbers = lambda row: row[2]  # noqa: E731
    table = ps.aggregate(
        n=of.count(),
        total=of.sum(numbers),
        least=of.min(numbers),
        most=of.max(numbers),
        mean=of.mean(numbers),
        median=of.quantile(0.5, numbers),
        top=of.top(2, numbers),
        keys=of.count_unique(lambda row: row[1]),
    )
    found = ran(case, merged(case), table)
    expected = by_time(case.all)
    assert [time for time, _ in found] == list(expected)
    for time, row in found:
        seen = [numbers(given_) for given_ in expected[time]]
        middle = sorted(seen)[(len(seen) - 1) // 2 : len(seen) // 2 + 1]
        assert (row["n"], row["total"], row["least"], row["most"]) == (len(seen), sum(seen), min(seen), max(seen))
        assert row["mean"] == sum(seen) / len(seen)
        assert row["median"] == sum(middle) / len(middle)
        assert [numbers(given_) for given_ in row["top"]] == sorted(seen, reverse=True)[:2]
        assert row["keys"] == len({given_[1] for given_ in expected[time]})


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_eager_results(case):
    """With `eager`, every value is followed by the result so far, and the final one comes at completion again."""
    found = ran(case, merged(case), ps.reduce_by_time(ps.agg.count(), eager=True))
    for time, rows in by_time(case.all).items():
        assert [count for at, count in found if at == time] == [*range(1, len(rows) + 1), len(rows)]


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases, st.integers(0, 3))
def test_event_times_out_of_order(case, bound):
    """Stamped anew from an interleaving, what is not late is counted at its event time, and what is late is aside."""
    late, seen = [], []
    stamped = ps.stamp(lambda row: row[0], lateness=bound, late=ps.drain(late.append))
    flat = ps.pipe(merged(case), ps.map_time(lambda _: 0), ps.tap(seen.append))
    found = ran(case, flat, stamped, ps.count_by_key(lambda row: row[1]))
    latest, expected, behind = None, collections.defaultdict(collections.Counter), []
    for row in seen:
        if latest is not None and row[0] < latest - bound:
            behind.append(row)
            continue
        latest = row[0] if latest is None else max(latest, row[0])
        expected[row[0]][row[1]] += 1
    assert late == behind
    assert [time for time, _ in found] == sorted(time for time, _ in found)
    assert len(found) == len({(time, key) for time, (key, _) in found})
    assert {time: dict(value for at, value in found if at == time) for time, _ in found} == expected


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_times_within_times(case):
    """Nested epochs are cut within each time above, however values of several times alternate."""
    found = ran(case, merged(case), ps.stamp_epochs(2, nest=True), ps.reduce_by_time(ps.agg.count()))
    expected = {}
    for time, rows in by_time(case.all).items():
        for number in range(0, len(rows), 2):
            expected[time, number // 2] = len(rows[number : number + 2])
    assert dict(found) == expected
    assert len(found) == len(expected)


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases, st.integers(1, 4))
def test_coarser_times(case, size):
    """What is counted at restamped times is what falls into each."""
    found = ran(case, merged(case), ps.map_time(lambda n: n // size), ps.delay(3), ps.reduce_by_time(ps.agg.count()))
    assert found == sorted(collections.Counter(row[0] // size + 3 for row in case.all).items())


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_distinct_per_time(case):
    """Of each time and key the first that came."""
    seen = []
    found = ran(case, merged(case), ps.tap(seen.append), ps.unique_by_time(lambda row: row[1]))
    expected = {}
    for row in seen:
        expected.setdefault(row[:2], row)
    assert [row for _, row in found] == list(expected.values())


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_sorted_by_time(case):
    """All values, in the order of times and keys."""
    found = ran(case, merged(case), ps.sort_by_time(lambda row: row[1:]))
    assert found == [(row[0], row) for row in sorted(case.all)]


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_running_state(case):
    """The state after each time, in order, whatever came first; with a key, for the keys of the time."""
    total, expected = 0, []
    sums, by_key = collections.Counter(), {}
    for time, rows in by_time(case.all).items():
        total += sum(row[2] for row in rows)
        expected.append((time, total))
        for row in rows:
            sums[row[1]] += row[2]
        by_key.update({(time, row[1]): sums[row[1]] for row in rows})
    number = ps.agg.sum(lambda row: row[2])
    assert ran(case, merged(case), ps.accumulate(number)) == expected
    found = ran(case, merged(case), ps.accumulate(number, key=lambda row: row[1]))
    assert {(time, key): value for time, (key, value) in found} == by_key
    assert len(found) == len(by_key)


@settings(max_examples=amount(25, 100), deadline=None)
@given(cases)
def test_effects_at_completion(case):
    """One call for each time, in order, with all its values."""
    calls = []

    async def main():
        attrgetter("_core._run._r")(trio).seed(case.seed)
        done = ps.at_completion(lambda time, rows: calls.append((time, sorted(rows))))
        async with ps.pipe(merged(case), done).open(limit=case.limit) as running:
            await running.result()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert calls == [(time, sorted(rows)) for time, rows in by_time(case.all).items()]


ORACLES = [
    test_counts_per_key_and_time,
    test_aggregates_per_time,
    test_eager_results,
    test_times_within_times,
    test_distinct_per_time,
    test_sorted_by_time,
    test_running_state,
    test_effects_at_completion,
]


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.__name__)
def test_many_more_interleavings(oracle):
    """The same, of many more interleavings."""
    settings(max_examples=3000, deadline=None)(given(cases)(oracle.hypothesis.inner_test))()
