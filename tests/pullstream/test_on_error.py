"""The per-value failure policy: what becomes of a value whose function raised, in each module that calls one."""

import gc
import pickle
import weakref

import pytest
import trio

import pullstream as ps

LIMITS = (1, 2, 7, 4096)


class Boom(Exception):
    pass


def checked(value):
    """The value, unless it is odd."""
    if value % 2:
        raise Boom(value)
    return value


async def checked_later(value):
    await trio.lowlevel.checkpoint()
    return checked(value) * 10


def halfway(value):
    """Two values or, of an odd one, one and an exception."""
    yield value
    yield checked(value)


MODULES = {
    "map_async": lambda policy: ps.map_async(checked_later, 1, on_error=policy),
    "map_async 3": lambda policy: ps.map_async(checked_later, 3, on_error=policy),
    "map_async raising at once": lambda policy: ps.map_async(lambda n: checked_later(checked(n)), 2, on_error=policy),
    "flat_map": lambda policy: ps.flat_map(lambda n: [checked(n)] * 2, on_error=policy),
    "flat_map halfway": lambda policy: ps.flat_map(halfway, on_error=policy),
    "map": lambda policy: ps.map(lambda n: checked(n) * 10, on_error=policy),
    "filter": lambda policy: ps.filter(lambda n: checked(n) != 2, on_error=policy),
    "filter_not": lambda policy: ps.filter_not(lambda n: checked(n) == 2, on_error=policy),
    "tap": lambda policy: ps.tap(checked, on_error=policy),
    "unique": lambda policy: ps.unique(checked, on_error=policy),
    "duplicates": lambda policy: ps.pipe(ps.flat_map(lambda n: [n, n]), ps.duplicates(checked, on_error=policy)),
    "scan": lambda policy: ps.scan(lambda total, n: total + checked(n), 0, on_error=policy),
}

# What comes of 0..5, with the odd values marked by their negatives.
SHOWN = {
    "map_async": [0, -1, 20, -3, 40, -5],
    "map_async 3": [0, -1, 20, -3, 40, -5],
    "map_async raising at once": [0, -1, 20, -3, 40, -5],
    "flat_map": [0, 0, -1, 2, 2, -3, 4, 4, -5],
    "flat_map halfway": [0, 0, 1, -1, 2, 2, 3, -3, 4, 4, 5, -5],
    "map": [0, -1, 20, -3, 40, -5],
    "filter": [0, -1, -3, 4, -5],
    "filter_not": [0, -1, -3, 4, -5],
    "tap": [0, -1, 2, -3, 4, -5],
    "unique": [0, -1, 2, -3, 4, -5],
    "duplicates": [0, -1, -1, 2, -3, -3, 4, -5, -5],
    "scan": [0, -1, 2, -3, 6, -5],
}


def marked(value):
    return -value.value if isinstance(value, ps.Failed) else value


def run(module, *, limit=4096, count=6):
    return ps.run(ps.pipe(ps.values(range(count)), module, ps.collect()), limit=limit)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", MODULES)
def test_a_failed_value_comes_as_a_result(name, limit):
    """With "result", Failed(value, error) stands in the value's place, and the others are as they would be."""
    answers = run(MODULES[name]("result"), limit=limit)
    assert [marked(answer) for answer in answers] == SHOWN[name]
    assert all(answer.error.args == (answer.value,) for answer in answers if isinstance(answer, ps.Failed))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", MODULES)
def test_a_failed_value_is_left_out(name, limit):
    """With "skip", everything else is as with "result"."""
    assert run(MODULES[name]("skip"), limit=limit) == [value for value in SHOWN[name] if value >= 0]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", MODULES)
def test_a_failed_value_fails_the_stream(name, limit):
    """With "fail", which is the default, the values before are delivered, then the exception (R8)."""
    values = []
    with pytest.raises(Boom):
        ps.run(ps.pipe(ps.values(range(6)), MODULES[name]("fail"), ps.drain(values.append)), limit=limit)
    assert values == SHOWN[name][: SHOWN[name].index(-1)]


def test_an_error_in_a_result_names_its_module():
    """The note says which module raised, and the line that composed it."""
    (failed,) = run(ps.map(checked, on_error="result"), count=2)[1:]
    assert failed.error.__notes__ == [
        f"raised in map(checked, on_error='result'), composed at {__file__}:{failed_line()}"
    ]


@pytest.mark.parametrize("name", ["map", "filter", "map_async", "flat_map"])
def test_the_traceback_of_an_error_begins_in_the_user_s_code(name):
    """What a log shows of a failed value is where the user's function raised, and not how it was called."""
    failed = next(answer for answer in run(MODULES[name]("result")) if isinstance(answer, ps.Failed))
    assert failed.error.__traceback__.tb_frame.f_code.co_filename == __file__


def failed_line():
    code = test_an_error_in_a_result_names_its_module.__code__
    return code.co_firstlineno + 2


def test_what_raises_in_a_batch_fails_the_batch():
    """map_batches fails list by list: a Failed has the list, and all its values are counted as left out."""

    def checked_all(values):
        return [checked(value) for value in values]

    # How many values come at a time is the sink's business, and follows the clock.
    answers = run(ps.map_batches(checked_all, on_error="result"), limit=2)
    batches = [answer.value if isinstance(answer, ps.Failed) else [answer] for answer in answers]
    assert [value for batch in batches for value in batch] == [0, 1, 2, 3, 4, 5]
    assert all(
        isinstance(answer, ps.Failed) == any(value % 2 for value in batch)
        for answer, batch in zip(answers, batches, strict=True)
    )
    assert run(ps.map_batches(checked_all, on_error="skip"), limit=1) == [0, 2, 4]


def test_calls_as_ready_fail_one_by_one(autojump_clock):
    """Out of order the others come as they are ready, and a failed one among them."""
    answers = run(ps.map_async(checked_later, 3, ordered=False, on_error="result"))
    assert sorted(marked(answer) for answer in answers) == [-5, -3, -1, 0, 20, 40]


def test_what_map_async_cannot_await_is_no_value_s_fault():
    """A function that gives nothing to await fails the stream whatever the policy is."""
    with pytest.raises(TypeError, match="use map"):
        run(ps.map_async(checked, 2, on_error="skip"))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_sinks_leave_out_what_fails(policy, limit):
    """drain and reduce, and reduce_by_key, go on with the next value."""
    seen = []
    source = ps.values(range(6))
    sinks = {
        "drain": (ps.drain(lambda n: seen.append(checked(n)), on_error=policy), None),
        "find": (ps.find(lambda n: checked(n) > 3, on_error=policy), 4),
        "reduce": (ps.reduce(lambda total, n: total + checked(n), 0, on_error=policy), 6),
        "key": (
            ps.pipe(ps.reduce_by_key(COUNTING, key=checked, on_error=policy), ps.collect()),
            [(0, 1), (2, 1), (4, 1)],
        ),
        "step": (ps.pipe(ps.reduce_by_key(SUMMING, key=lambda n: 0, on_error=policy), ps.collect()), [(0, 6)]),
    }
    for sink, result in sinks.values():
        if policy == "fail":
            with pytest.raises(Boom):
                ps.run(ps.pipe(source, sink), limit=limit)
        else:
            assert ps.run(ps.pipe(source, sink), limit=limit) == result
    assert seen == [0] if policy == "fail" else [0, 2, 4]


COUNTING = ps.Fold(int, lambda n, _: n + 1)
SUMMING = ps.Fold(int, lambda total, n: total + checked(n))


@pytest.mark.parametrize(
    "module",
    [
        *[make("skip") for make in MODULES.values()],
        ps.map_batches(lambda values: [checked(value) for value in values], on_error="skip"),
        ps.reduce_by_key(COUNTING, key=checked, on_error="skip"),
        ps.reduce_by_key(SUMMING, key=lambda n: 0, on_error="skip"),
        ps.pipe(ps.skip(lambda n: checked(n) < 0, on_error="skip"), ps.take(3)),
    ],
)
async def test_what_is_left_out_is_counted(module):
    """Counters say how many values were left out, whatever the module is."""
    async with ps.pipe(ps.values([1, 1]), module, ps.collect()).open(limit=1) as running:
        await running.result()
        left_out = 4 if "duplicates" in repr(module) else 2
        assert sum(row.skipped for row in running.counters()) == left_out


@pytest.mark.parametrize(
    "sink",
    [
        ps.drain(checked, on_error="skip"),
        ps.reduce(lambda _, n: checked(n), 0, on_error="skip"),
        ps.find(lambda n: checked(n) > 9, on_error="skip"),
    ],
)
async def test_what_a_sink_leaves_out_is_counted(sink):
    """The same for sinks."""
    async with ps.pipe(ps.values([1, 2, 3]), sink).open() as running:
        await running.result()
        assert sum(row.skipped for row in running.counters()) == 2


@pytest.mark.parametrize(
    "compose",
    [
        lambda: ps.drain(print, on_error="result"),
        lambda: ps.reduce(max, 0, on_error="result"),
        lambda: ps.find(max, on_error="result"),
        lambda: ps.reduce_by_key(COUNTING, key=len, on_error="result"),
    ],
)
def test_a_policy_that_means_nothing_is_refused(compose):
    """What has no place for a result says which policies it has."""
    with pytest.raises(ps.CompositionError, match="'fail'.*'skip'") as refused:
        compose()
    assert __file__ in str(refused.value)


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        ("skip", ["map -> on_error"]),
        ("result", ["map -> on_error"]),
        (ps.drain(), ["map", "into on_error", "on_error", "on_error[aside]", "drain"]),
    ],
)
async def test_a_policy_goes_by_what_was_written(policy, rows):
    """In counters, and so in displays and explanations, it is `on_error`; in the blueprint an argument, and no more."""
    source = ps.pipe(ps.values([1]), ps.map(checked, on_error=policy))
    async with ps.pipe(source, ps.collect()).open() as running:
        await running.result()
    assert [row.module for row in running.counters()] == ["values", *rows, "collect"]
    assert repr(source) == f"pipe(values([1]), map(checked, on_error={policy!r}))"


def test_policies_of_neighbours_do_not_meet():
    """A Failed that one module answers is a value like any other to the next, whatever that one's policy is."""
    pipeline = ps.pipe(
        ps.values(range(4)),
        ps.map(checked, on_error="result"),
        ps.map(lambda value: value if isinstance(value, ps.Failed) else checked(value + value // 2), on_error="skip"),
        ps.collect(),
    )
    assert [marked(value) for value in ps.run(pipeline)] == [0, -1, -3]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, trio.Cancelled])
def test_what_is_no_exception_is_nobody_s_value(stop):
    """Only Exception is handled: an interruption ends the stream whatever the policy is."""

    def interrupted(value):
        raise BaseException("stop") if stop is trio.Cancelled else stop()

    with pytest.raises(BaseException) as raised:
        run(ps.map(interrupted, on_error="skip"))
    assert not isinstance(raised.value, Exception)


@pytest.mark.parametrize("time", [None, lambda n: n], ids=["at one time", "each at its own"])
def test_a_result_keeps_nothing_of_its_batch_alive(time):
    """The traceback in a Failed does not hold the values that came with it."""

    class Value:
        def __init__(self, n):
            self.n = n

    watched = []

    def made(n):
        value = Value(n)
        watched.append(weakref.ref(value))
        return value

    failed = ps.run(
        ps.pipe(
            ps.values(range(100), time=time),
            ps.map(made),
            ps.take(100),  # not fused with what comes before, nor with what comes after
            ps.map(lambda value: checked(value.n), on_error="result"),
            ps.filter(lambda value: isinstance(value, ps.Failed)),
            ps.collect(),
        )
    )
    gc.collect()
    assert len(failed) == 50
    assert sum(ref() is not None for ref in watched) == 50


def test_a_blueprint_with_a_policy_is_pickled():
    """A policy is data."""
    module = ps.map(int, on_error="skip")
    assert pickle.loads(pickle.dumps(module)) == module
    assert ps.run(ps.pipe(ps.values(["1", "x"]), pickle.loads(pickle.dumps(module)), ps.collect())) == [1]
