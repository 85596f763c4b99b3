"""Arguments that mean nothing: each module refuses them when composing, by its name and with what it needs."""

import asyncio
import inspect
import math
import operator
from datetime import timedelta

import pytest
import trio

import pullstream as ps

ONE = ps.values([1])


async def later(value):
    return value


async def some():
    yield 1


def generates(value):
    yield value


class Odd:
    """An object that no argument may be."""

    def __repr__(self):
        return "Odd()"


NONSENSE = {"odd": Odd(), "-1": -1, "0": 0, "nan": math.nan, "inf": math.inf, "text": "3", "True": True}
NONSENSE |= {"async": later, "generates": generates}
"""Values that an argument may not be, except as below."""
FREE = {"dynamic", "eager", "last", "nest", "ordered", "skip_delivered", "timed"} | {
    *("default", "fill", "initial", "state", "value"),
}
"""Parameters, of all functions or of one, that may be anything; flags are as true as what they are given."""
NUMBERS = {"integers.start", "integers.step", "origin"}
MAY_BE = {
    "odd": {"stamp.lateness"},
    "-1": NUMBERS,
    "0": {"fork.capacity", "tee.capacity", "partition.capacity", "retry.delay", "take_times.count", "times", "what"}
    | {"delay.step", "stamp.lateness", *NUMBERS},
    "nan": NUMBERS,
    "inf": {"retry.backoff", "stamp.lateness", *NUMBERS},
    "text": {"values.iterable", "old", "separator", "show"},
    "True": {"delay.step", "retry.backoff", "stamp.lateness", *NUMBERS},
    "async": {"asyncio_call.function", "at_completion.function", "from_asyncio.source", "from_awaitable.awaitable"}
    | {"map_async.function", "map_batches.function", "stamp.lateness"},
    "generates": {"asyncio_call.function", "from_asyncio.source", "from_awaitable.awaitable", "map_async.function"}
    | {"flat_map.function", "map.function", "map_batches.function", "map_thread.function"}
    | {"catch.handler", "stamp.lateness", "timed.function"},
}
NEEDS = {
    **dict.fromkeys(["count", "capacity", "concurrency", "seconds", "size", "every", "gap", "step", "what"], 2),
    **dict.fromkeys(["source", "left", "right", "sources", "new"], ONE),
    **dict.fromkeys(["transformer", "body", "transformers", "workers"], ps.map(str)),
    **dict.fromkeys(["fold", "aggregates"], ps.agg.count()),
    **dict.fromkeys(["iterable", "old"], "a"),
    "channel": trio.open_memory_channel(0)[1],
    "sinks": ps.collect(),
    "partition.sinks": {1: ps.collect()},
    "from_asyncio.source": later,
    "from_async_iterable.iterable": some(),
}
"""What required parameters are given; all others a function."""
BESIDE = {
    **dict.fromkeys(["take.ahead", "take.last", "take.on_error", "skip.on_error"], ("what", bool)),
    **dict.fromkeys(["windowed.step", "stamp_epochs.nest", "stamp_epochs.on_error"], ("count", 2)),
    **dict.fromkeys(["reduce.function", "reduce.on_error"], ("initial", 0)),
    "join.at": ("how", "asof"),
    "stamp.late": ("lateness", 1),
    "windowed.every": ("seconds", 2),
    "zip.fill": ("mode", "padded"),
}
"""Another argument that a parameter has no meaning without."""
MODULES = {*ps.__all__} - {"run", "arun", "iterate", "aiterate", "pipe", "source", "transformer", "sink"}
PARAMETERS = [
    (name, parameter)
    for name in sorted(filter(str.islower, MODULES))
    if callable(getattr(ps, name))
    for parameter in inspect.signature(getattr(ps, name)).parameters.values()
]


def several(parameter, value):
    """One of the arguments where there may be several."""
    return {parameter.VAR_POSITIONAL: (value,), parameter.VAR_KEYWORD: {"n": value}}.get(parameter.kind, value)


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS, ids=lambda part: getattr(part, "name", part))
def test_every_argument_refuses_what_it_cannot_be(name, parameter):
    """In the name of the function, at the user's line, with the value."""
    here, full, signature = parameter.name, f"{name}.{parameter.name}", inspect.signature(getattr(ps, name))
    needed = {each.name: each for each in signature.parameters.values() if each.default is each.empty}
    given = {each: several(needed[each], NEEDS.get(f"{name}.{each}", NEEDS.get(each, str))) for each in needed}
    beside = dict([BESIDE[full]] if full in BESIDE else [])
    refused = set()
    for kind, value in NONSENSE.items():
        call = inspect.BoundArguments(signature, given | beside | {here: several(parameter, value)})
        try:
            getattr(ps, name)(*call.args, **call.kwargs)
        except ps.CompositionError as exc:
            refused.add(kind)
            place, _, told = str(exc).partition(f" at {__file__}:")
            assert place.startswith(f"{name}(")
            assert getattr(value, "__name__", repr(value)) in told.partition(" ")[2]
    assert refused == {kind for kind in NONSENSE if not {here, full} & (FREE | MAY_BE[kind])}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ps.tumbling(0), "tumbling.*positive number.*size"),
        (lambda: ps.tumbling(timedelta()), "tumbling.*size"),
        (lambda: ps.tumbling("1h"), "timedelta"),
        (lambda: ps.tumbling(5, origin="monday"), "size=5 and origin='monday', which cannot be added"),
        (lambda: ps.sessions(3, key=later), "sessions.*map_async"),
        (lambda: ps.from_async_iterable(ONE), "async iterable.*A source is used as it is"),
        (lambda: ps.from_awaitable(ps.pipe(ONE, ps.collect())), "an awaitable, but got pipe"),
        (lambda: ps.from_asyncio(ONE), "async iterable, but got values"),
        (ps.aggregate, "at least one"),
        (lambda: ps.agg.quantile(2), "from 0 to 1"),
        (lambda: ps.agg.quantile(len, 0.5), r"got <built-in function len>\. Example: quantile\(0.5, of\)"),  # type: ignore[arg-type]
        (lambda: ps.agg.top(0), "at least 1"),
        (lambda: ps.agg.sum(later), "async"),
        (
            lambda: ps.stamp(len, late="drop"),
            r"without lateness=\. With lateness=0 \(for dates, timedelta\(0\)\),",
        ),
        (ps.stamp_epochs, "needs exactly one of"),
        (lambda: ps.stamp_epochs(2, seconds=1), "needs exactly one of"),
        (lambda: ps.stamp_epochs(seconds=1, nest=True), "nest"),
        (lambda: ps.map_time(None), "map_time.*pass the function itself"),
        (lambda: ps.delay(-1), "backwards"),
        (ps.fork, "fork.*at least one"),
        (lambda: ps.partition(str, {}), "at least one"),
        (lambda: ps.partition(str, {"a": ps.take(1)}), "needs sinks"),
        (lambda: ps.merge([1, 2]), "merge.*needs sources.*values"),
        (lambda: ps.zip(ps.once(1), mode="longest"), "'shortest', 'strict' or 'padded'"),
        (lambda: ps.zip(ps.once(1), fill=0), "mode='padded'"),
        (lambda: ps.dynamic_merge().add(3), "needs sources"),
        (lambda: ps.join(ONE, ONE, on=(int,)), "join.*pair of keys"),
        (lambda: ps.join(ONE, ONE, on=(int, later)), "join.*map_async"),
        (lambda: ps.join(ONE, ONE, on=int, within=0), "Without within=, it pairs values at equal times"),
        (lambda: ps.types.Quota(0), r"Quota\(\) at .* at least 1"),
        (lambda: ps.timeout(0), r"timeout\(\) at .* positive number of seconds"),
        (lambda: ps.timed(later), r"use timed\(\) without a function"),
        (lambda: ps.map_process(trio.sleep, 1), r"map_process\(\) at .* sleep: use map_async"),
        (lambda: ps.map_thread(trio.sleep, 2), r"map_thread\(\) at .* sleep: use map_async"),
        (ps.worker_pool, "worker_pool"),
        (lambda: ps.worker_pool(dynamic=True).add(ONE), "needs transformers as its workers"),
        (lambda: ps.duplex.Duplex(ps.drain(), ps.integers()), "Duplex"),
        (lambda: ps.duplex.connect(ps.integers(), ps.drain()), "duplexes"),
        (lambda: ps.duplex.handshake(ps.integers(), later), r"handshake\(\)"),
        (lambda: ps.duplex.handshake(ps.duplex.Duplex(ps.integers(), ps.drain()), 7), r"handshake\(\)"),
        (lambda: ps.from_async_iterable(asyncio.Queue()), "Use from_asyncio.*awaits queue.get"),
        (lambda: ps.catch_up([1], ps.empty(), sync=ps.Batch(0, [])), r"catch_up\(\) at"),
        (ps.windowed, "count"),
        (lambda: ps.windowed(3, seconds=2), "pass either"),
        (lambda: ps.split(""), "separator"),
        (lambda: ps.split("a", size=3), "one of them"),
        (lambda: ps.tap(trio.sleep), "map_async"),
        (lambda: ps.scan(ps.Fold(int, operator.add), 3), "Fold"),
        (lambda: ps.map(str, on_error="ignore"), "'fail', 'skip', 'result'"),
        (lambda: ps.take(3, last=True), "which need a test"),
        (lambda: ps.skip(3, on_error="skip"), "which need a test"),
        (lambda: ps.catch(on=BaseException), r"catch\(\) at"),
        (lambda: ps.catch(on=(ValueError, "x")), r"catch\(\) at"),
        (lambda: ps.retry(ps.integers(), on=BaseException), r"retry\(\) at"),
        (lambda: ps.retry(ps.integers(), resume=lambda n: n, skip_delivered=True), r"retry\(\) at"),
        (lambda: ps.concat_values(int), "needs str, bytes or list"),
        (lambda: ps.reduce(max), r"reduce\(function, initial\): write agg.max\(\)"),
        (lambda: ps.reduce(operator.add), r"reduce\(function, initial\)\. Or pass a Fold"),
        (lambda: ps.reduce(ps.agg.count(), 0), "got a Fold and an initial state"),
        (lambda: ps.drain(later), "async function later"),
        (lambda: ps.stamp(abs, lateness=-3), "a lateness that is not negative, but got -3"),
        (lambda: ps.stamp(abs, lateness=timedelta(-1)), "not negative, but got datetime.timedelta"),
        (lambda: ps.sliding(4, timedelta(1)), "two numbers or two timedeltas, but got size=4"),
        (lambda: ps.map(int, on_error=ps.empty()), "or a sink"),
    ],
    ids=lambda told: told if isinstance(told, str) else "",
)
def test_an_argument_that_means_nothing_is_refused(make, told):
    with pytest.raises(ps.CompositionError, match=told) as caught:
        make()
    assert __file__ in str(caught.value)


WHOLE = ps.pipe(ONE, ps.drain())


@pytest.mark.parametrize("option", ["limit", "release_timeout"])
@pytest.mark.parametrize(
    ("function", "part"),
    [(ps.run, WHOLE), (ps.arun, WHOLE), (ps.Pipeline.open, WHOLE), (ps.iterate, ONE), (ps.aiterate, ONE)],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_an_option_of_a_run_is_refused_by_the_function_that_got_it(function, part, option):
    """Before anything runs: later, asyncio's line or a background thread's would stand in for the user's."""
    with pytest.raises(ps.CompositionError) as caught:
        function(part, **{option: -1})
    assert str(caught.value).startswith(f"{function.__name__}() at {__file__}:")
    assert f"for its argument '{option}', but got -1" in str(caught.value)
