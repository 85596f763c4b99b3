"""`on_error=` means the same in every ready module that calls a user's function with each value."""

import inspect

import pytest

import pullstream as ps


class Boom(Exception):
    pass


def even(value):
    """The value, unless it is odd."""
    if value % 2:
        raise Boom(value)
    return value


async def even_later(value):
    return even(value)


STEP = ps.Fold(list, lambda kept, n: [*kept, even(n)])
LISTING = ps.Fold(list, lambda kept, n: [*kept, n])

# For each module: what it does with 0 to 5, and what comes of the even ones.
TRANSFORMERS = {
    "accumulate": (lambda p: ps.accumulate(STEP, on_error=p), [[0, 2, 4]]),
    "accumulate, key": (lambda p: ps.accumulate(LISTING, key=even, on_error=p), [(0, [0]), (2, [2]), (4, [4])]),
    "aggregate": (lambda p: ps.aggregate(n=ps.agg.sum(even), on_error=p), [{"n": 6}]),
    "aggregate, key": (
        lambda p: ps.aggregate(key=even, n=ps.agg.count(), on_error=p),
        [(0, {"n": 1}), (2, {"n": 1}), (4, {"n": 1})],
    ),
    "count_by_key": (lambda p: ps.count_by_key(even, on_error=p), [(0, 1), (2, 1), (4, 1)]),
    "unique_by_time": (lambda p: ps.unique_by_time(even, on_error=p), [0, 2, 4]),
    "stamp_epochs, begin": (lambda p: ps.stamp_epochs(begin=even, on_error=p), [0, 2, 4]),
    "stamp_epochs, key": (lambda p: ps.stamp_epochs(key=even, on_error=p), [0, 2, 4]),
    "filter": (lambda p: ps.filter(lambda n: even(n) >= 0, on_error=p), [0, 2, 4]),
    "filter_not": (lambda p: ps.filter_not(lambda n: even(n) < 0, on_error=p), [0, 2, 4]),
    "flat_map": (lambda p: ps.flat_map(lambda n: [even(n)], on_error=p), [0, 2, 4]),
    "group_by": (lambda p: ps.group_by(even, ps.map(str), on_error=p), [(0, "0"), (2, "2"), (4, "4")]),
    "map": (lambda p: ps.map(even, on_error=p), [0, 2, 4]),
    "map_async": (lambda p: ps.map_async(even_later, 1, on_error=p), [0, 2, 4]),
    "map_process": (lambda p: ps.map_process(even, 1, on_error=p), [0, 2, 4]),
    "map_thread": (lambda p: ps.map_thread(even, 1, on_error=p), [0, 2, 4]),
    "duplicates": (lambda p: ps.duplicates(lambda n: even(n) * 0, on_error=p), [2, 4]),
    "reduce_by_key": (lambda p: ps.reduce_by_key(LISTING, key=even, on_error=p), [(0, [0]), (2, [2]), (4, [4])]),
    "reduce_by_key, step": (lambda p: ps.reduce_by_key(STEP, key=lambda _: "", on_error=p), [("", [0, 2, 4])]),
    "reduce_by_time": (lambda p: ps.reduce_by_time(STEP, on_error=p), [[0, 2, 4]]),
    "scan": (lambda p: ps.scan(lambda total, n: total + even(n), 0, on_error=p), [0, 2, 6]),
    "sessions": (lambda p: ps.sessions(9, STEP, on_error=p), [ps.Window(0, 9, [0, 2, 4])]),
    "sessions, key": (
        lambda p: ps.sessions(9, key=lambda n: even(n) * 0, on_error=p),
        [ps.Window(0, 9, (0, [0, 2, 4]))],
    ),
    "skip": (lambda p: ps.skip(lambda n: even(n) < 2, on_error=p), [2, 3, 4, 5]),
    "sliding": (lambda p: ps.sliding(2, 1, STEP, on_error=p), [ps.Window(at, at + 2, [0, 2, 4]) for at in (-1, 0)]),
    "sliding, key": (
        lambda p: ps.sliding(1, 1, key=even, on_error=p),
        [ps.Window(0, 1, (n, [n])) for n in (0, 2, 4)],
    ),
    "sort_by_time": (lambda p: ps.sort_by_time(lambda n: -even(n), on_error=p), [4, 2, 0]),
    "stamp": (lambda p: ps.stamp(even, on_error=p), [0, 2, 4]),
    "stamp, lateness": (lambda p: ps.stamp(even, lateness=9, on_error=p), [0, 2, 4]),
    "take": (lambda p: ps.take(lambda n: even(n) < 9, on_error=p), [0, 2, 4]),
    "tap": (lambda p: ps.tap(even, on_error=p), [0, 2, 4]),
    "timed": (lambda p: ps.timed(lambda time, n: even(n), on_error=p), [0, 2, 4]),
    "tumbling": (lambda p: ps.tumbling(9, STEP, on_error=p), [ps.Window(0, 9, [0, 2, 4])]),
    "tumbling, key": (
        lambda p: ps.tumbling(9, key=even, on_error=p),
        [ps.Window(0, 9, (n, [n])) for n in (0, 2, 4)],
    ),
    "unique": (lambda p: ps.unique(even, on_error=p), [0, 2, 4]),
}
NUMBERS = ps.values(range(6))
SOURCES = {
    "join": (lambda p: ps.join(NUMBERS, ps.values([0, 2, 4]), on=even, on_error=p), [(n, n) for n in (0, 2, 4)]),
    "join, near": (
        lambda p: ps.join(NUMBERS, ps.values([0, 2, 4]), on=even, within=1, how="left", on_error=p),
        [(n, n) for n in (0, 2, 4)],
    ),
    "merge_sorted": (
        lambda p: ps.merge_sorted(NUMBERS, ps.values([2, 8]), key=even, on_error=p),
        [0, 2, 2, 4, 8],
    ),
}
PIPELINES = {
    **{
        name: (lambda p, make=make: ps.pipe(NUMBERS, make(p), ps.collect()), found)
        for name, (make, found) in TRANSFORMERS.items()
    },
    **{name: (lambda p, make=make: ps.pipe(make(p), ps.collect()), found) for name, (make, found) in SOURCES.items()},
    "drain": (lambda p: ps.pipe(NUMBERS, ps.drain(even, on_error=p)), None),
    "partition": (
        lambda p: ps.pipe(NUMBERS, ps.partition(even, {0: ps.collect()}, other=ps.collect(), on_error=p)),
        ({0: [0]}, [2, 4]),
    ),
}  # fmt: skip
NO_SINK = {
    "find": (lambda p: ps.pipe(NUMBERS, ps.find(lambda n: even(n) > 2, on_error=p)), 4),
    "reduce": (lambda p: ps.pipe(NUMBERS, ps.reduce(lambda total, n: total + even(n), 0, on_error=p)), 6),
}
MANY_AT_ONCE = {"map_batches"}
"""What fails there is a list, of as many values as were asked for; see the tests of `on_error`."""

NOT_BY_VALUE = {"at_completion", "map_time", "unfold"}
"""Their functions are not called with a value; help says what follows from that."""

BY_STREAM = {
    "arun", "asyncio_call", "catch", "from_asyncio", "from_awaitable", "from_callback", "handshake", "on_end", "probe",
    "retry", "run", "sink", "source", "transformer",
}  # fmt: skip
"""Their functions are called for a stream, a run or a call, or make a module."""


def ran(pipeline, *, limit=4096):
    found = ps.run(pipeline, limit=limit)
    return sorted(found) if found and isinstance(found, list) and isinstance(found[0], tuple) else found


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize("name", [*PIPELINES, *NO_SINK])
def test_a_value_whose_function_raises_is_left_out(name, limit):
    """With "skip" everything else is as without it."""
    make, found = {**PIPELINES, **NO_SINK}[name]
    with pytest.raises(Boom):
        ran(make("fail"), limit=limit)
    assert ran(make("skip"), limit=limit) == found


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_value_whose_function_raises_goes_to_a_sink(name, limit):
    """It comes as Failed(value, error), once, and everything else is as without it; the error names the module."""
    make, found = PIPELINES[name]
    told = []
    assert ran(make(ps.drain(told.append)), limit=limit) == found
    assert [failed.value for failed in told] == ([1] if name == "skip" else [1, 3, 5])
    for failed in told:
        assert isinstance(failed, ps.Failed)
        assert isinstance(failed.error, Boom)
        assert name.split(",")[0] in "".join(failed.error.__notes__)


@pytest.mark.parametrize("name", [*PIPELINES, *NO_SINK])
async def test_values_left_out_are_counted(name):
    """Once each, in the module's own counters or those of what stands right below it."""
    make, _ = {**PIPELINES, **NO_SINK}[name]
    async with make("skip").open(limit=2) as running:
        await running.result()
        left_out = {"skip": 1, "find": 2}.get(name, 3)
        assert sum(row.skipped for row in running.counters()) == left_out


def test_every_module_that_calls_a_function_with_each_value_has_a_policy():
    """One that is new, and has none, is to be given one, or a sentence that says why."""
    named = {name.split(",")[0] for name in {**PIPELINES, **NO_SINK}} | MANY_AT_ONCE
    for name in ps.__all__:
        factory = getattr(ps, name)
        if not (name.islower() and callable(factory)) or name in BY_STREAM:
            continue
        parameters = inspect.signature(factory).parameters
        taken = [
            parameter.name
            for parameter in parameters.values()
            if ("Callable" in str(parameter.annotation) or "Fold" in str(parameter.annotation))
            # What the times of sources raise is said once, in the help of `values`.
            and not (parameter.name == "time" and name != "stamp")
        ]
        if name in NOT_BY_VALUE:
            assert "`on_error`" in (factory.__doc__ or "")
        elif taken:
            assert "on_error" in parameters, f"{name} calls {taken} with each value, and has no on_error"
            assert name in named, f"{name} is in no table here"
    assert "`on_error`" in (ps.values.__doc__ or "")
