"""`on_error=`: what happens to a value whose function raised, in every module that calls a function with each value."""

import inspect
import math
from contextlib import nullcontext
from functools import partial
from itertools import chain

import pytest
import trio

import pullstream as ps
from pullstream.conformance.ready import resolved
from pullstream.errors import Abandoned
from tests.pullstream.common import Unseen, script

LIMITS = (1, 2, 7, 4096)


class SinkFailed(Exception):
    """Raised by a sink that failed values are diverted to."""


def even(value):
    if value % 2:
        raise Unseen(value)
    return value


async def even_later(value):
    await trio.lowlevel.checkpoint()
    return even(value)


def halfway(value):
    """Two values or, if it is odd, one and an exception."""
    yield value
    yield even(value)


@ps.sink
async def noting(upstream, ctx, notes):
    async for batch in ctx.batches(upstream):
        notes.extend((batch.time, failed) for failed in batch.values)


# Modules that answer each value by itself: how to make them with a policy, and their answers to each of 0 to 5,
# where the negative of a value is its failure.
SAME = [[0], [-1], [2], [-3], [4], [-5]]
TENFOLD = [[0], [-1], [20], [-3], [40], [-5]]
BY_VALUE = {
    "duplicates": (
        lambda on_error: ps.pipe(ps.flat_map(lambda n: [n, n]), ps.duplicates(even, on_error=on_error)),
        [[0], [-1, -1], [2], [-3, -3], [4], [-5, -5]],
    ),
    "filter": (partial(ps.filter, lambda n: even(n) != 2), [[0], [-1], [], [-3], [4], [-5]]),
    "filter_not": (partial(ps.filter_not, lambda n: even(n) == 2), [[0], [-1], [], [-3], [4], [-5]]),
    "flat_map": (partial(ps.flat_map, lambda n: [even(n)] * 2), [[0, 0], [-1], [2, 2], [-3], [4, 4], [-5]]),
    "flat_map, halfway": (partial(ps.flat_map, halfway), [[0, 0], [1, -1], [2, 2], [3, -3], [4, 4], [5, -5]]),
    "map": (partial(ps.map, lambda n: even(n) * 10), TENFOLD),
    "map_async": (partial(ps.map_async, even_later, 1), SAME),
    "map_async, 3 at once": (partial(ps.map_async, even_later, 3), SAME),
    "map_async, before it awaits": (partial(ps.map_async, lambda n: even_later(even(n)), 2), SAME),
    "map_process": (partial(ps.map_process, even, 1), SAME),
    "map_thread": (partial(ps.map_thread, even, 1), SAME),
    "scan": (partial(ps.scan, lambda total, n: total + even(n), 0), [[0], [-1], [2], [-3], [6], [-5]]),
    "skip": (partial(ps.skip, lambda n: even(n) < 2), [[], [-1], [2], [3], [4], [5]]),
    "take": (partial(ps.take, lambda n: even(n) < 9), SAME),
    "tap": (partial(ps.tap, even), SAME),
    "timed": (partial(ps.timed, lambda time, n: even(n) * 10), TENFOLD),
    "unique": (partial(ps.unique, even), SAME),
}

# The others, whose results have no place for a failure: the results of the whole stream for 0 to 5.
NUMBERS = ps.values(range(6))
STEP = ps.Fold(list, lambda kept, n: [*kept, even(n)])
LISTING = ps.Fold(list, lambda kept, n: [*kept, n])
OTHERS = {
    "accumulate": (partial(ps.accumulate, STEP), [[0, 2, 4]]),
    "accumulate, key": (partial(ps.accumulate, LISTING, key=even), [(0, [0]), (2, [2]), (4, [4])]),
    "aggregate": (
        partial(
            ps.aggregate,
            n=ps.agg.count(),
            mean=ps.agg.mean(),
            low=ps.agg.min(),
            most=ps.agg.max(),
            sum=ps.agg.sum(even),
        ),
        [{"n": 3, "mean": 2, "low": 0, "most": 4, "sum": 6}],
    ),
    "aggregate, key": (
        partial(ps.aggregate, key=even, n=ps.agg.count()),
        [(0, {"n": 1}), (2, {"n": 1}), (4, {"n": 1})],
    ),
    "count_by_key": (partial(ps.count_by_key, even), [(0, 1), (2, 1), (4, 1)]),
    "drain": (partial(ps.drain, even), None),
    "find": (partial(ps.find, lambda n: even(n) > 2), 4),
    "group_by": (partial(ps.group_by, even, ps.map(str)), [(0, "0"), (2, "2"), (4, "4")]),
    "join": (partial(ps.join, NUMBERS, ps.values([0, 2, 4]), on=even), [(n, n) for n in (0, 2, 4)]),
    "join, near": (
        partial(ps.join, NUMBERS, ps.values([0, 2, 4]), on=even, within=1, how="left"),
        [(n, n) for n in (0, 2, 4)],
    ),
    "merge_sorted": (partial(ps.merge_sorted, NUMBERS, ps.values([2, 8]), key=even), [0, 2, 2, 4, 8]),
    "partition": (partial(ps.partition, even, {0: ps.collect()}, other=ps.collect()), ({0: [0]}, [2, 4])),
    "reduce": (partial(ps.reduce, lambda total, n: total + even(n), 0), 6),
    "reduce_by_key": (partial(ps.reduce_by_key, LISTING, key=even), [(0, [0]), (2, [2]), (4, [4])]),
    "reduce_by_key, step": (partial(ps.reduce_by_key, STEP, key=lambda _: ""), [("", [0, 2, 4])]),
    "reduce_by_time": (partial(ps.reduce_by_time, STEP), [[0, 2, 4]]),
    "sessions": (partial(ps.sessions, 9, STEP), [ps.Window(0, 9, [0, 2, 4])]),
    "sessions, key": (partial(ps.sessions, 9, key=lambda n: even(n) * 0), [ps.Window(0, 9, (0, [0, 2, 4]))]),
    "sliding": (partial(ps.sliding, 2, 1, STEP), [ps.Window(at, at + 2, [0, 2, 4]) for at in (-1, 0)]),
    "sliding, key": (partial(ps.sliding, 1, 1, key=even), [ps.Window(0, 1, (n, [n])) for n in (0, 2, 4)]),
    "sort_by_time": (partial(ps.sort_by_time, lambda n: -even(n)), [4, 2, 0]),
    "stamp": (partial(ps.stamp, even), [0, 2, 4]),
    "stamp, lateness": (partial(ps.stamp, even, lateness=9), [0, 2, 4]),
    "stamp_epochs, begin": (partial(ps.stamp_epochs, begin=even), [0, 2, 4]),
    "stamp_epochs, key": (partial(ps.stamp_epochs, key=even), [0, 2, 4]),
    "tumbling": (partial(ps.tumbling, 9, STEP), [ps.Window(0, 9, [0, 2, 4])]),
    "tumbling, key": (partial(ps.tumbling, 9, key=even), [ps.Window(0, 9, (n, [n])) for n in (0, 2, 4)]),
    "unique_by_time": (partial(ps.unique_by_time, even), [0, 2, 4]),
}
MODULES = BY_VALUE | OTHERS
NO_SINK = ("find", "reduce")
"""Modules whose failed values cannot go to a sink."""


TRACED = ("map", "filter", "map_async", "flat_map")
"""Modules where the traceback of a failed value begins in the user's code."""

MANY_AT_ONCE = {"map_batches"}
"""It fails for a whole list, which has as many values as were asked for; it has its own test."""

NOT_BY_VALUE = {"at_completion", "map_time", "unfold"}
"""Their functions are not called with a value; help says what follows from that."""

BY_STREAM = {
    "arun", "asyncio_call", "catch", "from_asyncio", "from_awaitable", "from_callback", "handshake", "on_end", "probe",
    "retry", "run", "sink", "source", "transformer",
}  # fmt: skip
"""Their functions are called for a stream, a run or a call, or make a module."""


def composed(name, policy):
    """A pipeline with one module and its policy; modules by value are collected with their times, two values a time."""
    module = MODULES[name][0](on_error=policy)
    if name in BY_VALUE:
        return ps.pipe(ps.values(range(6), time=lambda n: n // 2), module, ps.collect(timed=True))
    if isinstance(module, ps.Sink):
        return ps.pipe(NUMBERS, module)
    return ps.pipe(module if isinstance(module, ps.Source) else ps.pipe(NUMBERS, module), ps.collect())


def failing(name, values):
    """A pipeline that fails, and puts earlier values into a list if the module answers by value."""
    if name in OTHERS:
        return composed(name, "fail")
    return ps.pipe(NUMBERS, BY_VALUE[name][0](on_error="fail"), ps.drain(values.append))


def expected(name):
    """A module's results with "skip", and its failures; both with times if it answers by value."""
    found = MODULES[name][1]
    if name not in BY_VALUE:
        return found, [-1, -3, -5]
    answers = [(n // 2, answer) for n, answers in enumerate(found) for answer in answers]
    return [pair for pair in answers if pair[1] >= 0], [pair for pair in answers if pair[1] < 0]


def marked(value):
    return -value.value if isinstance(value, ps.Failed) else value


def run(module, *, limit=4096, count=6):
    return ps.run(ps.pipe(ps.values(range(count)), module, ps.collect()), limit=limit)


def limits(name):
    """The limits to test: only one for processes, which are slow to start."""
    return LIMITS[-1:] if name == "map_process" else LIMITS


@pytest.mark.parametrize("name", MODULES)
async def test_a_failed_value_is_skipped_and_counted(name):
    result, failed = expected(name)
    for limit in limits(name):
        async with composed(name, "skip").open(limit=limit) as running:
            assert await running.result() == result
            skipped = {row.module: row.skipped for row in running.counters() if row.skipped}
            assert [module.partition(" -> ")[0] for module in skipped] == [name.partition(",")[0]]
            assert sum(skipped.values()) == (2 if name == "find" else len(failed))


@pytest.mark.parametrize("opener", ["flat_map", "retry", "deferred transformer", "deferred sink", "flat_map to retry"])
async def test_a_value_skipped_in_an_inner_stream_counts_for_its_opener(opener):
    numbers, skip, collect = ps.values(range(4)), ps.map(even, on_error="skip"), ps.collect()
    source = ps.pipe(numbers, skip)
    pipeline = {
        "flat_map": ps.pipe(ps.once(0), ps.flat_map(lambda _: source), collect),
        "retry": ps.pipe(ps.retry(source), collect),
        "deferred transformer": ps.pipe(numbers, resolved("transformer", skip), collect),
        "deferred sink": ps.pipe(numbers, resolved("sink", ps.pipe(skip, collect))),
        "flat_map to retry": ps.pipe(ps.once(0), ps.flat_map(lambda _: ps.retry(source)), collect),
    }[opener]
    async with pipeline.open() as running:
        assert await running.result() == [0, 2]
    assert {row.module: row.skipped for row in running.counters() if row.skipped} == {opener.split()[0]: 2}


@pytest.mark.parametrize("name", sorted(MODULES.keys() - NO_SINK))
def test_a_failed_value_goes_to_a_sink(name):
    result, failed = expected(name)
    for limit in limits(name):
        notes = []
        assert ps.run(composed(name, noting(notes)), limit=limit) == result
        assert [(time, -value.value) if name in BY_VALUE else -value.value for time, value in notes] == failed
        for _, value in notes:
            assert isinstance(value, ps.Failed)
            assert isinstance(value.error, Unseen)
            assert name.split(",")[0] in "".join(value.error.__notes__)


def test_a_value_without_an_order_is_not_among_the_greatest():
    top = ps.reduce_by_time(ps.agg.top(3), on_error="skip")
    assert ps.run(ps.pipe(ps.values([1, "x", 3, None, 2, 5]), top, ps.collect())) == [[5, 3, 2]]


@pytest.mark.parametrize("name", BY_VALUE)
def test_a_failed_value_is_a_result(name):
    for limit in limits(name):
        answers = run(BY_VALUE[name][0](on_error="result"), limit=limit)
        assert [marked(answer) for answer in answers] == list(chain(*BY_VALUE[name][1]))
        for answer in answers:
            if isinstance(answer, ps.Failed):
                assert answer.error.args == (answer.value,)
                assert name not in TRACED or answer.error.__traceback__.tb_frame.f_code.co_filename == __file__


@pytest.mark.parametrize("name", MODULES)
def test_a_failed_value_fails_the_stream(name):
    """With "fail", the default, the values before it are delivered, then the exception arrives unchanged (R8)."""
    for limit in limits(name):
        values = []
        with pytest.raises(Unseen):
            ps.run(failing(name, values), limit=limit)
        answers = list(chain(*BY_VALUE.get(name, (None, [[-1]]))[1]))
        assert values == answers[: answers.index(-1)]


@pytest.mark.parametrize("name", OTHERS)
def test_a_policy_without_a_meaning_is_refused(name):
    with pytest.raises(ps.CompositionError, match="'fail'.*'skip'") as refused:
        OTHERS[name][0](on_error="result")
    assert __file__ in str(refused.value)


def test_every_module_that_calls_a_function_with_each_value_has_a_policy():
    """A new module without one must get one, or a sentence that says why it has none."""
    named = {name.split(",")[0] for name in MODULES} | MANY_AT_ONCE
    for name in ps.__all__:
        factory = getattr(ps, name)
        if not (name.islower() and callable(factory)) or name in BY_STREAM:
            continue
        taken = [
            parameter.name
            for parameter in inspect.signature(factory).parameters.values()
            if ("Callable" in str(parameter.annotation) or "Fold" in str(parameter.annotation))
            # The help of `values` says once what happens when the times of a source raise.
            and not (parameter.name == "time" and name != "stamp")
        ]
        if name in NOT_BY_VALUE:
            assert "`on_error`" in (factory.__doc__ or "")
        elif taken:
            has_policy = "on_error" in inspect.signature(factory).parameters
            assert has_policy, f"{name} calls {taken} with each value, and has no on_error"
            assert name in named, f"{name} is in no table here"
    assert "`on_error`" in (ps.values.__doc__ or "")


# ---- particular modules


def test_map_batches_fails_per_list():
    def all_even(values):
        return [even(value) for value in values]

    # The sink decides how many values come at a time, and follows the clock.
    answers = run(ps.map_batches(all_even, on_error="result"), limit=2)
    batches = [answer.value if isinstance(answer, ps.Failed) else [answer] for answer in answers]
    assert [value for batch in batches for value in batch] == [0, 1, 2, 3, 4, 5]
    assert all(
        isinstance(answer, ps.Failed) == any(value % 2 for value in batch)
        for answer, batch in zip(answers, batches, strict=True)
    )
    assert run(ps.map_batches(all_even, on_error="skip"), limit=1) == [0, 2, 4]


def test_a_call_that_cannot_be_awaited_fails_the_stream():
    """A function that returns nothing to await is a mistake of the program: no policy applies."""
    with pytest.raises(TypeError, match="Use map"):
        run(ps.map_async(even, 2, on_error="skip"))


# ---- the error


def test_an_error_names_its_module_and_the_line_that_composed_it():
    diverted = []
    for policy in ("result", ps.drain(diverted.append)):
        module, line = ps.map(even, on_error=policy), inspect.currentframe().f_lineno
        (failed,) = run(module, count=2)[1:] or diverted
        assert failed.error.__notes__ == [f"raised in map(even, on_error={policy!r}), composed at {__file__}:{line}"]


# ---- a sink for failed values, beside the main one


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        ("result", ["map -> on_error"]),
        (ps.drain(), ["map", "into on_error", "on_error", "on_error[aside]", "drain"]),
    ],
)
async def test_a_policy_is_shown_by_its_own_name(policy, rows):
    """In counters, and so in displays and explanations, it is `on_error`; in the blueprint it is only an argument."""
    source = ps.pipe(ps.values([1]), ps.map(even, on_error=policy))
    async with ps.pipe(source, ps.collect()).open() as running:
        await running.result()
    assert [row.module for row in running.counters()] == ["values", *rows, "collect"]
    assert repr(source) == f"pipe(values([1]), map(even, on_error={policy!r}))"


def test_a_failing_sink_for_failed_values_fails_the_run(limit, counting, probe):
    def refuse(failed):
        raise SinkFailed(failed.value)

    with pytest.raises(SinkFailed) as raised:
        ps.run(ps.pipe(counting(probe, 9), ps.map(even, on_error=ps.drain(refuse)), ps.collect()), limit=limit)
    assert raised.value.args == (1,)
    assert raised.value.__notes__[0].startswith("raised in drain")
    assert len(raised.value.__notes__) == 1
    assert probe.balanced
    assert probe.reasons == ([raised.value] if not probe.ended else [None])


async def test_a_sink_for_failed_values_may_end_early(limit):
    kept = []
    sink = ps.pipe(ps.take(1), ps.drain(lambda failed: kept.append(failed.value)))

    async with ps.pipe(ps.values(range(8)), ps.map(even, on_error=sink), ps.collect()).open(limit=limit) as run:
        assert await run.result() == [0, 2, 4, 6]
        assert sum(row.skipped for row in run.counters()) <= 3
    assert kept == [1]


def test_failures_of_a_fold_pass_in_a_multi_time_batch():
    failed = []
    sums = ps.reduce_by_time(ps.Fold(int, lambda total, n: total + 6 // (n % 2)), on_error=noting(failed))
    found = ps.run(ps.pipe(ps.values(range(6), time=lambda n: n // 2), sums, ps.collect(timed=True)))
    assert found == [(0, 6), (1, 6), (2, 6)]
    assert [(time, failure.value) for time, failure in failed] == [(0, 0), (1, 2), (2, 4)]


@ps.sink
async def notes_the_end(upstream, ctx, ends):
    async for _ in ctx.batches(upstream):
        pass
    ends.append("the end")


@pytest.mark.parametrize("cancel", [True, False], ids=["cancelled", "aborted"])
@pytest.mark.parametrize("module", ["dynamic_merge", "group_by"])
async def test_a_cancellation_does_not_end_an_inner_side_sink(module, cancel, autojump_clock):
    """An end would complete the values that it has of a time, as after a `take`."""
    ends = []

    waiting = script(0, math.inf)
    inverse = ps.map(lambda n: 1 // n, on_error=notes_the_end(ends))
    if module == "group_by":
        grouped = ps.pipe(waiting, ps.group_by(bool, ps.pipe(inverse, ps.prefetch(1))))
    else:
        grouped = ps.dynamic_merge()
        grouped.add(ps.pipe(waiting, inverse))
    async with trio.open_nursery() as nursery, ps.pipe(grouped, ps.drain()).open() as running:
        await trio.sleep(1)
        if cancel:
            nursery.cancel_scope.cancel()
            await trio.sleep_forever()
        await running.abort()
    assert not ends


@ps.sink
async def slow_to_finish(upstream, ctx, failure, ends):
    """Does its work after the last value, and in other tasks or threads, as a sink of files does."""
    async for _ in ctx.batches(upstream):
        pass
    await trio.sleep(10)
    ends.append("the end")
    if failure is not None:
        raise failure


@pytest.mark.parametrize("failure", [None, KeyError("not written")], ids=["finishes", "fails"])
@pytest.mark.parametrize("concurrency", [1, 2])
async def test_an_inner_side_sink_finishes_after_a_take(concurrency, failure, autojump_clock):
    """Otherwise the run ends without it, and its own failure is lost."""
    ends = []
    inner = ps.pipe(ps.values([0, 1, 2]), ps.map(lambda n: 1 // n, on_error=slow_to_finish(failure, ends)))
    pipeline = ps.pipe(ps.values([inner]), ps.flatten(concurrency=concurrency), ps.take(1), ps.collect())
    with pytest.raises(KeyError) if failure else nullcontext():
        assert await ps.arun(pipeline) == [1]
    assert ends == ["the end"]


@ps.sink
async def shielded_collect(upstream, ctx):
    with trio.move_on_after(100, shield=True):
        return [value async for batch in ctx.batches(upstream) for value in batch.values]


async def test_a_shielded_sink_gets_no_end_after_a_cancelled_side_sink(autojump_clock):
    """It must not wait for ever for the side sink. An end would complete values that the side sink lacks."""

    inner = ps.pipe(script(0, 2.0, 1, 2.0, 2, 2.0), ps.map(lambda n: 1 // n, on_error=notes_the_end([])))
    async with ps.pipe(ps.values([inner]), ps.flatten(), shielded_collect()).open() as running:
        await trio.sleep(1)
        await running.abort()
        with pytest.raises(Abandoned):
            await running.result()
