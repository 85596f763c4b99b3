"""`group_by`: a stream for every key, with exact times.

The conformance grid tests its endings.
"""

from datetime import date
from operator import itemgetter

import pytest
import trio.testing

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.conformance.ready import resolved
from pullstream.incremental import integrate, upserts
from pullstream.modules.grouping.inline import InlineRow
from tests.pullstream.common import PassesOn, Unseen, after, living, script, until_failure
from timely import Antichain, Product


def test_capacity_ends_the_group_that_waited_longest(limit):
    grouped = ps.group_by(str.lower, ps.pipe(ps.map(lambda _: 1), ps.scan(lambda total, n: total + n, 0)), capacity=2)
    pairs = ps.run(ps.pipe(ps.values("aabacbaA"), grouped, ps.collect()), limit=limit)
    assert [n for key, n in pairs if key == "a"] == [1, 2, 3, 1, 2]
    assert [n for key, n in pairs if key == "b"] == [1, 1]
    assert [n for key, n in pairs if key == "c"] == [1]


@ps.transformer
class Closing(PassesOn):
    """Takes six seconds to close."""

    async def release(self):
        await trio.sleep(6)


async def test_among_thousands_of_groups_a_release_may_take_longer(autojump_clock):
    """All of them are released at once, so each waits for the work of the others."""
    with pytest.raises(ps.errors.ReleaseTimeout, match=r"within 5\.0 s"):
        await ps.arun(ps.pipe(ps.values(range(900)), ps.group_by(int, Closing()), ps.collect()))
    assert len(await ps.arun(ps.pipe(ps.values(range(1100)), ps.group_by(int, Closing()), ps.collect()))) == 1100


def test_capacity_also_counts_ended_groups(limit):
    grouped = ps.group_by(str, ps.take(1), capacity=2)
    pairs = ps.run(ps.pipe(ps.values([1, 1, 2, 1, 3, 1, 2, 1, 3]), grouped, ps.collect()), limit=limit)
    assert sorted(value for _, value in pairs) == [1, 2, 2, 3, 3]


BY_TEN = ps.map_time(lambda second: second // 10)


@pytest.mark.parametrize(
    "group",
    [BY_TEN, lambda _: BY_TEN, ps.pipe(ps.take(1), ps.fork(BY_TEN)), ps.pipe(ps.take(1), BY_TEN, ps.delay(0))],
    ids=["a transformer", "a function", "a fork", "a delay"],
)
def test_a_group_that_is_not_open_may_still_emit_at_an_earlier_time(group, limit):
    """Also before the first group, and when all groups so far have ended."""
    seconds = ps.values([14, 16, 29, 37, 38], time=lambda second: second)
    grouped = ps.pipe(seconds, ps.group_by(str, group, capacity=1))
    counts = ps.pipe(grouped, ps.count_by_key(lambda _: "n"), ps.collect(timed=True))
    assert ps.run(counts, limit=limit, check=True) == [(1, ("n", 2)), (2, ("n", 1)), (3, ("n", 2))]
    joined = ps.join(ps.values([1], time=lambda ten: ten), grouped, on=lambda _: 0, how="semi")
    assert ps.run(ps.pipe(joined, ps.collect()), limit=limit, check=True) == [1]


STAMP = ps.stamp(itemgetter(1))


@pytest.mark.parametrize("group", [STAMP, lambda _: STAMP, ps.pipe(ps.take(9), ps.fork(STAMP))])
def test_a_group_that_is_not_open_may_assign_any_time(group, limit):
    given = ps.values([("a", 1), ("a", 2), ("b", 1)], time=lambda value: ord(value[0]))
    counts = ps.pipe(given, ps.group_by(itemgetter(0), group), ps.count_by_key(lambda _: "n"), ps.collect(timed=True))
    assert ps.run(counts, limit=limit, check=True) == [(1, ("n", 2)), (2, ("n", 1))]


def by_letter(_):
    return ps.group_by(itemgetter(0), lambda _: ps.prefetch(1))


@ps.transformer
class Beside(ps.authoring.Kernel):
    """Emits the value of a source of its own first."""

    traits = Traits(sources=[ps.values([0])])

    async def produce(self, limit):
        upstream, own = self.inputs
        return await upstream.ask(limit) if (batch := await own.ask(limit)) is ps.DONE else batch


@pytest.mark.parametrize(
    "group",
    [by_letter, by_letter(0), lambda _: resolved("transformer", ps.prefetch(1)), Beside()],
    ids=["a function", "given", "deferred", "a source of its own"],
)
async def test_a_later_group_in_which_a_stream_is_not_open_yet_takes_no_time_back(group, autojump_clock):
    """A loop would wait forever: it ends when nothing can come round again."""
    given = ps.pushable(9)
    async with ps.pipe(
        given, ps.group_by(itemgetter(0), group), ps.loop(ps.prefetch(1)), ps.collect()
    ).open() as running:
        for time, letter in enumerate("ab"):
            await given.push(letter, time=time)
            await trio.testing.wait_all_tasks_blocked()
            running.progress.frontier()
        given.end()
        assert {letter for letter, _ in await running.result()} == {*"ab"}


def test_a_group_by_makes_its_inner_modules_twice_and_once_more_for_each_key():
    """To find out whether they need an edge, and to read their traits."""
    made = []

    @ps.transformer
    class Counted(PassesOn):
        def __init__(self):
            made.append(self)

    ps.run(ps.pipe(ps.values("aba"), ps.group_by(str, Counted()), ps.collect()))
    assert len(made) == 2 + len("ab")


async def test_a_time_is_complete_when_neither_a_group_nor_one_that_opens_later_may_emit_at_it(autojump_clock):
    given = ps.pushable(9)
    group = ps.group_by(str, ps.pipe(ps.take(1), BY_TEN))
    async with ps.pipe(given, group, ps.collect(timed=True)).open() as running:
        await given.push(14, time=14)
        given.advance(19)
        await trio.testing.wait_all_tasks_blocked()
        assert running.progress.frontier() == Antichain([1])
        given.advance(20)
        await running.progress.completed(1)
        given.end()
        assert await running.result() == [(1, ("14", 14))]


async def test_a_group_holds_the_times_of_its_values_and_emits_a_window_when_it_is_complete(autojump_clock):
    given, out = ps.pushable(9), []
    group = ps.pipe(ps.map_async(after(5), 1), ps.tumbling(10, ps.agg.count()))
    async with ps.pipe(
        given, ps.group_by(str, group), ps.map(lambda each: each[1].end), ps.drain(out.append)
    ).open() as running:
        for time in (3, 4, 12):
            await given.push(time, time=time)
            await trio.testing.wait_all_tasks_blocked()
            running.progress.frontier()
        assert (running.progress.frontier(), out) == (Antichain([10]), [])
        await trio.sleep(6)
        assert (running.progress.frontier(), out) == (Antichain([20]), [10, 10])
        given.advance(20)
        await trio.testing.wait_all_tasks_blocked()
        assert out == [10, 10, 20]
        given.end()


async def test_a_group_is_told_that_its_time_is_complete_beside_waits_for_times_of_another_kind(autojump_clock):
    """The times below `stamp` are dates, and cannot be compared with those outside."""
    seen = []
    stamped = ps.pipe(ps.stamp(lambda _: date(2026, 1, 1)), ps.prefetch(1), ps.count_by_key(lambda _: 0))
    group = ps.pipe(ps.prefetch(1), ps.count_by_key(itemgetter(0)), ps.tap(lambda each: seen.append(each[0])), stamped)
    given = ps.pushable(9)
    async with ps.pipe(given, ps.group_by(itemgetter(0), group), ps.drain()).open():
        for letter, time in zip("abc", (1, 5, 6), strict=True):
            await given.push((letter, time), time=time)
            await trio.testing.wait_all_tasks_blocked()
            given.advance(time)
            await trio.testing.wait_all_tasks_blocked()
        given.advance(8)
        await trio.testing.wait_all_tasks_blocked()
        assert seen == ["a", "b", "c"]
        given.end()


def moved(time):
    return Product(*(part + 5 for part in time.parts))


@pytest.mark.parametrize(("then", "at"), [(ps.map(int), lambda time: time), (ps.map_time(moved), moved)])
async def test_a_group_that_is_busy_holds_the_time_of_a_value_that_waits_for_it(then, at, autojump_clock):
    """Also a time that is neither before nor after that of the value in work."""
    left, right = ps.pushable(9), ps.pushable(9)
    group = ps.group_by(lambda _: 0, ps.pipe(ps.map_async(after(5), 1), then))
    async with ps.pipe(ps.merge(left, right), group, ps.drain()).open() as running:
        for given, time in (left, Product(1, 0)), (right, Product(0, 1)):
            await given.push(0, time=time)
            given.advance(Product(9, 9))
            await trio.testing.wait_all_tasks_blocked()
            running.progress.frontier()
        assert running.progress.frontier() == Antichain([at(Product(1, 0)), at(Product(0, 1))])
        left.end()
        right.end()


async def test_a_value_that_waits_for_room_never_holds_a_time_that_its_group_leaves_out(autojump_clock):
    given = ps.pushable(9)
    group = ps.group_by(str, ps.pipe(ps.map_async(after(5), 1), ps.delay(3)), capacity=1)
    async with ps.pipe(given, group, ps.drain()).open() as running:
        for time in (1, 2):
            await given.push(time, time=time)
        given.advance(9)
        for first in (4, 5):
            await trio.testing.wait_all_tasks_blocked()
            assert running.progress.frontier() == Antichain([first])
            await trio.sleep(6)
        given.end()


async def test_a_function_of_times_in_a_row_fails_the_module_that_opens_the_row():
    given = ps.pushable(9)
    row = ps.pipe(ps.delay(1), ps.map_time(lambda time: 1 // (time - 8)))
    with pytest.raises(ZeroDivisionError) as raised:
        async with ps.pipe(given, ps.group_by(str, row), ps.drain()).open() as running:
            given.advance(7)
            running.progress.frontier()
            await running.result()
    assert raised.value.__notes__[0].startswith("raised in group_by, ")


def test_a_function_makes_the_transformer():
    made = []

    def make(key):
        made.append(key)
        return ps.map(lambda n: n * key)

    pipeline = ps.pipe(ps.values([1, 2, 1, 2]), ps.group_by(lambda n: n, make), ps.collect())
    assert sorted(ps.run(pipeline)) == [(1, 1), (1, 1), (2, 4), (2, 4)]
    assert made == [1, 2]
    with pytest.raises(TypeError, match="returned 7 for 1"):
        ps.run(ps.pipe(ps.values([1]), ps.group_by(lambda n: n, lambda _: 7), ps.collect()))


ROWS = {
    "stages": ps.pipe(ps.map(lambda n: n * 2), ps.filter(lambda n: n % 3), ps.scan(lambda a, b: a + b)),
    "fold": ps.count_by_key(lambda n: n % 2),
    "eager fold": ps.reduce_by_key(ps.agg.sum(), key=lambda n: n % 2, eager=True),
    "stages around folds": ps.pipe(ps.map(str), ps.count_by_key(len), ps.map(repr), ps.count_by_key(), ps.map(str)),
    "batch": ps.batch(3),
    "windowed, then batch": ps.pipe(ps.windowed(2, 2), ps.batch(2)),
    "sort": ps.sort_by_time(lambda n: -n),
    "accumulate": ps.accumulate(ps.agg.sum()),
    "unique_by_time": ps.unique_by_time(lambda n: n % 4),
    "unique": ps.unique(lambda n: n % 4),
    "collection": ps.pipe(upserts(lambda n: n % 8), integrate()),
    "skip and take": ps.pipe(ps.skip(1), ps.take(3)),
    "take none": ps.pipe(ps.take(0), ps.count_by_key()),
    "take while": ps.pipe(ps.skip(lambda n: n < 9), ps.take(lambda n: n < 30, last=True), ps.batch(2)),
    "take after a fold": ps.pipe(ps.count_by_key(), ps.take(3), ps.reduce_by_time(ps.agg.count())),
    "groups": ps.group_by(lambda n: n % 8, ps.pipe(ps.map(str), ps.count_by_key(len), ps.batch(2))),
    "take after groups": ps.pipe(ps.group_by(lambda n: n % 8, ps.batch(2)), ps.take(3), ps.count_by_key(lambda _: 0)),
    "errors skipped": ps.pipe(ps.map(lambda n: 12 // (n % 4), on_error="skip"), ps.count_by_key()),
    "errors of a fold skipped": ps.pipe(ps.count_by_key(lambda n: 12 // (n % 4), on_error="skip"), ps.map(str)),
}


@pytest.mark.sampled(57)
@pytest.mark.parametrize("limit", [1, 3, 4096])
@pytest.mark.parametrize("run", [1, 5, 100], ids=["a time a value", "five values a time", "one time"])
@pytest.mark.parametrize("name", ROWS)
def test_a_group_equals_a_run_with_its_key_only(name, run, limit):
    def numbers(*keys):
        return ps.values([n for n in range(60) if n % 4 in keys], time=lambda n: n // run)

    def by_time(pairs):
        return sorted(pairs, key=lambda pair: pair[0])

    grouped = ps.pipe(numbers(0, 1, 2), ps.group_by(lambda n: n % 4, ROWS[name]), ps.collect(timed=True))
    results = ps.run(grouped, limit=limit, check=True)
    for key in range(3):
        alone = ps.run(ps.pipe(numbers(key), ROWS[name], ps.collect(timed=True)), limit=limit)
        assert by_time((time, value) for time, (group, value) in results if group == key) == by_time(alone)


def test_a_failure_in_a_group_follows_all_earlier_values(limit):
    group = ps.pipe(ps.map(str), ps.map(lambda n: 1 // (int(n) - 7)), ps.batch(1))
    stream = ps.pipe(ps.values(range(12)), ps.group_by(lambda n: n % 3, group))
    seen, failure = until_failure(ZeroDivisionError, stream, limit=limit)
    assert {(n % 3, (1 // (n - 7),)) for n in range(7)} <= {(key, tuple(values)) for key, values in seen}
    (note,) = failure.__notes__
    assert note.startswith("raised in map(")
    assert note.endswith("at the value '7'")


@pytest.mark.parametrize("after", [ps.take(9), ps.take(lambda _: True), ps.skip(lambda _: False)], ids=str)
def test_a_failure_before_a_take_follows_all_earlier_values(after, limit):
    stream = ps.pipe(ps.values(range(9)), ps.group_by(bool, ps.pipe(ps.map(lambda n: 6 // (3 - n)), after), capacity=9))
    seen, failure = until_failure(ZeroDivisionError, stream, limit=limit)
    assert seen == [(False, 2), (True, 3), (True, 6)]
    assert failure.__notes__[0].startswith("raised in map(")


def test_a_failure_after_a_group_s_last_result_is_ignored(limit):
    counts = ps.reduce_by_key(ps.agg.count(), key=lambda n: 6 // (3 - n), eager=True)
    pipeline = ps.pipe(ps.values(range(9)), ps.group_by(callable, ps.pipe(counts, ps.take(2))), ps.collect())
    assert ps.run(pipeline, limit=limit) == [(False, (2, 1)), (False, (3, 1))]


def test_groups_give_finished_results_when_the_stream_fails():
    """A batch that is not full is a result; a fold whose time is not complete is not."""
    for inner, expected in ((ps.batch(2), [(0, [0, 2]), (0, [4]), (1, [1, 3])]), (ps.count_by_key(), [])):
        stream = ps.pipe(script(*range(5), Unseen()), ps.group_by(lambda n: n % 2, inner))
        assert sorted(until_failure(Unseen, stream)[0]) == expected


@pytest.mark.parametrize("row", [ps.take(2), ps.take(lambda n: n < 2, last=True), ps.pipe(ps.batch(2), ps.take(1))])
def test_a_group_calls_functions_only_with_needed_values(row, limit):
    """The functions could fail there: values that are not needed must not fail the stream."""
    called = []
    pipeline = ps.pipe(ps.values(range(1, 9)), ps.group_by(bool, ps.pipe(ps.tap(called.append), row)), ps.drain())
    ps.run(pipeline, limit=limit)
    assert called == [1, 2]


def test_a_fold_after_an_ended_module_answers_at_once():
    """The time is complete there, though the stream continues outside."""
    counted = ps.pipe(ps.take(3), ps.count_by_key(lambda _: "n"))
    pipeline = ps.pipe(ps.integers(), ps.group_by(lambda n: n % 2, counted), ps.take(2), ps.collect())
    assert sorted(ps.run(pipeline)) == [(0, ("n", 3)), (1, ("n", 3))]


def test_an_ended_group_leaves_nothing_in_memory():
    """Even if the time that it waited for is not complete, and its key does not recur."""

    def numbers():
        before = living(InlineRow)
        yield from range(3000)
        assert living(InlineRow) - before < 10

    for inner in (ps.count_by_key(), ps.batch(2)):
        ps.run(ps.pipe(ps.values(numbers()), ps.group_by(lambda n: n, inner, capacity=2), ps.drain()))


def test_a_group_s_last_results_pass_later_modules():
    """Stages and folds after a fold, also when a module before them, or the capacity, has ended the group."""
    row = ps.pipe(ps.reduce_by_time(ps.agg.sum()), ps.map(lambda n: -n))
    pipeline = ps.pipe(ps.values([1, 2, 11, 12, 3]), ps.group_by(lambda n: n // 10, row, capacity=1), ps.collect())
    assert ps.run(pipeline) == [(0, -3), (1, -23), (0, -3)]
    row = ps.pipe(ps.take(2), row, ps.take(1), ps.map(str))
    pipeline = ps.pipe(ps.values([1, 2, 3, 11, 12, 3]), ps.group_by(lambda n: n // 10, row), ps.collect())
    assert ps.run(pipeline) == [(0, "-3"), (1, "-23")]
