"""Mistakes that are refused when composing: the function's name, the user's line, and what to write instead."""

import asyncio
import inspect
import math
import operator
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
import trio

import pullstream as ps
from pullstream import files, spark, trace

ONE, TRANSFORMER, SINK = ps.values([1]), ps.map(str), ps.collect()


def unexpected(value):
    raise AssertionError(f"{value} was read")


WHOLE = ps.pipe(ONE, ps.drain(unexpected))


async def without_it():
    """Takes no run."""


def made(*, every=10.0):
    """A function that makes an observer, as `display` does."""


async def half(n):
    return n / 2


async def answers():
    return 1


async def consumes(upstream, ctx):
    return None


def some(n=1):
    yield n


async def yields():
    yield 1


async def gives(ctx):
    yield 1


async def passes(upstream, ctx):
    yield upstream


decorated = ps.transformer(passes)


async def without_ctx(upstream):
    yield upstream


async def without_run(key):
    yield key


async def turned(ctx, upstream):
    yield ctx, upstream


def forgets(*values):
    values == 1  # noqa: B015 - the `return` is missing


class Undecorated(ps.authoring.Kernel):
    pass


LOOP = asyncio.new_event_loop()
FUTURE = LOOP.create_future()
LOOP.close()


# ---- each argument of each module


class Odd:
    """An object that no argument may be."""

    def __repr__(self):
        return "Odd()"


NONSENSE = {"odd": Odd(), "-1": -1, "0": 0, "nan": math.nan, "inf": math.inf, "text": "3", "True": True}
NONSENSE |= {"async": half, "generates": some}
"""Values that an argument may not be, except as below."""
FREE = {"dynamic", "eager", "last", "nest", "ordered", "skip_delivered", "timed"} | {
    *("default", "fill", "initial", "state", "value"),
}
"""Parameters, of all functions or of one, that may be anything; flags take any value for its truth."""
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
    "from_asyncio.source": half,
    "from_async_iterable.iterable": yields(),
}
"""Arguments for required parameters; all others get a function."""
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
def test_every_argument_refuses_wrong_values(name, parameter):
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
            place, _, rest = str(exc).partition(f" at {__file__}:")
            assert place.startswith(f"{name}(")
            assert getattr(value, "__name__", repr(value)) in rest.partition(" ")[2]
    assert refused == {kind for kind in NONSENSE if not {here, full} & (FREE | MAY_BE[kind])}


# ---- mistakes in calls


CALLS = [
    # The parts of a pipe, and what is run.
    (ps.pipe, "has nothing to compose"),
    (lambda: ps.pipe(SINK, TRANSFORMER), "part 1", "is a sink, collect(): a sink must come last"),
    (lambda: ps.pipe(ps.pipe(ONE, SINK), SINK), "part 1", "is a complete pipeline"),
    (lambda: ps.pipe(ONE, decorated, SINK), "part 2", "if it returns a module, call it: passes()"),
    (lambda: ps.pipe(ONE, lambda n: n, SINK), "not a module; a plain function goes into map(<lambda>), or"),
    (lambda: ps.pipe(ONE, half), "function", "goes into map_async(half, concurrency)$"),
    (lambda: ps.pipe(ONE, ps.asyncio_call(half)), "into map_async(half, concurrency)$"),
    (lambda: ps.pipe(gives), "decorate it with @ps.source and call it to get the module: gives"),
    (lambda: ps.pipe(yields, SINK), "; from_async_iterable(yields()) makes a source of it$"),
    (lambda: ps.pipe(answers, SINK), "; from_awaitable(answers) makes a source of it$"),
    (lambda: ps.pipe(ONE, passes), "; decorate it with @ps.transformer"),
    (lambda: ps.pipe(ONE, consumes), "; decorate it with @ps.sink"),
    (lambda: ps.pipe(Undecorated(), SINK), "; decorate its class with @ps.source, @ps.transformer or @ps.sink$"),
    (lambda: ps.retry(3), "needs a source, but got 3. Use", "To repeat a single call, do it in the function$"),
    (lambda: ps.pipe(ONE, ps.collect), "part 2", "not a module; call it to get the module: collect()$"),
    (lambda: ps.pipe(ONE, map(str, [])), "this is Python's own map: use ps.map$"),
    (lambda: ps.pipe("a.csv", SINK), "part 1", "to read a file, use read_text(path), read_csv"),
    (lambda: ps.pipe(StringIO("a"), SINK), "part 1", "values(...) makes a source of it, but files.read_text(path)"),
    (lambda: ps.count_by_key("item"), "got 'item' (str): for a column, operator.attrgetter('item'); for dicts"),
    (lambda: ps.run(ONE), "got values([1]), which has no sink: add one, for example collect()"),
    (
        lambda: ps.run(ONE, SINK),
        "needs one pipeline, but got 2 parts: compose them with pipe(...), for example run(pipe(val",
    ),
    (lambda: ps.run([ONE, SINK]), "needs one pipeline, but got 2 parts"),
    (lambda: ps.arun(ONE, TRANSFORMER, SINK), "arun()", "got 3 parts"),
    (lambda: ps.run([(1, "tea")] * 9), "got [(1, 'tea'),", "...]: if this is the result of a run, pass the"),
    (lambda: ps.run(None), "got None: does the function that makes it return it?$"),
    (lambda: ps.run(SINK), "which has no source: add one in front$"),
    (lambda: ps.pipe(ONE, None), "part 2", "is None, which is not a module$"),
    (lambda: ps.flat_map(partial(yields)), "the async generator function functools.partial(", "yields"),
    (lambda: ps.run(half(1)), "<coroutine object half at ", ">: half is an async function; await its call, or"),
    (ps.tee, "at least one sink"),
    (lambda: ps.transformer(3), "@transformer", "decorates an async generator"),
    (lambda: ps.sink(partial(half, 3)), "@sink", "not functools.partial", "; decorate the function"),
    # Functions, folds, and other arguments than meant.
    (lambda: ps.map(half), "map() at", "half", "map_async"),
    (lambda: ps.pipe([ONE, ps.collect()]), "part 1 of pipe() at", "pipe(*parts)"),
    (lambda: ps.pipe([1, 2], ps.collect()), "part 1 of pipe() at", "[1, 2]", "values(...)"),
    (lambda: ps.pipe(yields(), ps.collect()), "part 1 of pipe() at", "from_async_iterable(...)"),
    (lambda: ps.fork(ps.unique), "fork() at", "unique()"),
    (lambda: ps.iterate([1, 2]), "iterate() at", "reads a source", "values(...)"),
    (lambda: ps.aiterate([1, 2]), "aiterate() at", "reads a source"),
    (lambda: ps.iterate(ps.pipe(ONE, ps.collect())), "iterate() at", "leave out its sink"),
    (lambda: ps.aggregate(n=ps.agg.count), "aggregate(n=...) at", "agg.count()"),
    (lambda: ps.transformer(turned), "@transformer at", "swap its first two arguments", "turned"),
    (lambda: ps.source(half), "@source", "one with a yield"),
    (lambda: ps.values(some), "values() at", "Call it: values(some())"),
    (lambda: ps.source(some), "@source at", "write async def some", "values(some())"),
    (lambda: ps.source(yields), "@source at", "calls with (ctx, ...)", "yields()"),
    (lambda: ps.transformer(without_ctx), "@transformer at", "(upstream, ctx, ...)", "without_ctx(upstream)"),
    (lambda: ps.sink(half), "@sink at", "(upstream, ctx, ...)", "half(n)", "async def half(upstream, ctx, n)"),
    (lambda: ps.transformer(half), "@transformer at", "no yield"),
    (lambda: ps.sink(), "@sink at", "write @ps.sink without parentheses"),  # noqa: PLW0108
    (lambda: ps.sink(yields), "@sink at", "has no yield"),
    (lambda: ps.merge([ONE]), "merge() at", "one by one, merge(*sources)"),
    (lambda: ps.Fold(3, half), "Fold() at", "initial", "3"),
    (lambda: ps.values(yields()), "@ps.source"),
    (lambda: ps.source(turned)(upsream=1), "did you mean upstream="),
    (lambda: ps.source(without_run)(5), "async def without_run(ctx, key)"),
    (lambda: ps.source(without_ctx), "a source has no upstream: write async def without_ctx(ctx)"),
    (lambda: ps.filter(forgets), "filter() at", "forgets", "must return true or false"),
    (lambda: ps.unique(forgets), "unique() at", "must return a key"),
    (lambda: ps.scan(forgets, 0), "scan() at", "must return the new state"),
    (lambda: ps.stamp(forgets), "stamp() at", "must return a time"),
    (lambda: ps.agg.sum(forgets), "sum() at", "must return a value"),
    (lambda: ps.reduce_by_time(ps.agg.sum), "reduce_by_time() at", "write agg.sum()"),
    (lambda: ps.reduce_by_time(sum), "write agg.sum()"),
    (lambda: ps.reduce_by_time(len), "write agg.count()"),
    (lambda: ps.reduce_by_time(half), "write Fold(initial, half)"),
    (lambda: ps.tumbling(10, {"n": ps.agg.count()}), "write agg.several(n=agg.count(), ...)"),
    (lambda: ps.sliding(10, 5, ps.aggregate(n=ps.agg.count())), "for several results, write agg.several("),
    (lambda: ps.catch(ValueError), "catch() at", "write on=ValueError"),
    (lambda: ps.run([ps.pipe(ps.once(1), ps.collect())] * 2), "run() at", "got 2", "one after another"),
    (lambda: ps.pipe(ps.broadcast(1), ps.collect()), "part 1 of pipe() at", "listen() makes a source of it"),
    (lambda: ps.tee(print), "write drain(print)"),
    (lambda: ps.map(int, on_error=print), "must be one of 'fail'", "write drain(print)"),
    (lambda: ps.stamp(int, late=[].append), "a sink", "write drain(append)"),
    (lambda: ps.stamp(int, late="skip"), "must be 'error', 'drop' or a sink"),
    (lambda: ps.fork(ps.collect()), "use tee(*sinks)"),
    (lambda: ps.tee(ps.map(str)), "use fork(*transformers)"),
    (lambda: ps.group_by(str, ps.collect()), "use reduce_by_key(fold, key=f)"),
    (lambda: ps.pipe(ONE, ps.merge(ps.values([2]))), "must come first", "merge(pipe(source, ...)"),
    (lambda: ps.group_by(len, str.upper), "group_by() at", "map(str.upper)"),
    (lambda: ps.loop(lambda n: n), "for its argument 'body', but got", "; a plain function goes into map(<lambda>)"),
    (lambda: ps.pipe(ONE, print), "the sink drain(print)"),
    (lambda: ps.pipe(ONE, list), "collect() gives the values as a list"),
    (lambda: ps.merge(some), "merge() at", "values(some())"),
    (lambda: ps.in_flight(4, ps.map(str)), "in_flight() at", "in the wrong order"),
    (lambda: ps.map({"a": 1}), "pass its method get"),
    (lambda: ps.values([1], time=3), "for the same time everywhere, write lambda _: 3"),
    (lambda: ps.reduce(ps.agg.top), "write agg.top()"),
    (lambda: ps.reduce(list.append, []), "list.append, which never returns a value"),
    (lambda: ps.run(WHOLE, release_timeout="5"), "a number of seconds", "got '5'"),
    (lambda: ps.run(WHOLE, trace=True), "trace= at", "test_refusals.py", "needs the path of a file"),
    (lambda: ps.run(WHOLE, trace=5), "trace= at", "test_refusals.py", "but got 5"),
    *(
        (
            lambda given=given: ps.run(WHOLE, journal=given),
            "journal= at",
            "needs the path of a file or a Journal, but got",
        )
        for given in (5, b"journal", True)
    ),
    *(
        (lambda beside=beside: ps.run(WHOLE, beside=beside), "beside= at", *words)
        for beside, *words in [
            (made, "but got made; call it: beside=made()$"),
            (pytest, "(module): write `from pullstream.display import display`, and beside=display()$"),
            ("display", "but got 'display' (str)$"),
            ([half] * 9, "... (list): to run several, ", " nursery.start_soon(display(), running)$"),
            (
                without_it,
                "got without_it, which cannot be called with only the Running: too many positional arguments$",
            ),
            (lambda running, console: None, "<lambda>, which cannot be ", " missing a required argument: 'console'$"),
        ]
    ),
    (lambda: ps.run(WHOLE, check=3), "check= at", "test_refusals.py", "needs True, False or 'strict', but got 3"),
    (lambda: ps.scan(0, max), "scan() at", "in the wrong order"),
    (lambda: ps.Fold(abs, int), "in the wrong order: write Fold(int, step)"),
    (lambda: ps.Fold([], max), "give a function that makes it: list"),
    (lambda: ps.Fold(7, max), "give a function that makes it: lambda: 7"),
    (lambda: ps.Fold(int, forgets), "Fold() at", "must return the new state"),
    (lambda: ps.Fold(int, max).merging(), "merging()", "Fold(..., merge="),
    (lambda: ps.Fold(int, max, merge=3), "callable for its argument 'merge'"),
    (lambda: ps.find(3), "write lambda value: value == 3"),
    (lambda: ps.filter(None), "write bool"),
    (lambda: ps.fail(OSError), "needs an exception", "make one with OSError(...)"),
    (lambda: ps.pushable(1).fail(OSError), "fail() at", "make one with OSError(...)"),
    (lambda: ps.broadcast(1).fail("gone"), "fail() at", "needs an exception, but got 'gone'"),
    (
        lambda: ps.run(ps.pipe(ps.from_callback(lambda emit: emit.fail("gone")), ps.drain())),
        "emit.fail() at",
        "needs an exception, but got 'gone'",
    ),
    (lambda: ps.deferred("source").fail(ONE), "fail() at", "needs an exception, but got values("),
    (lambda: ps.deferred("source").resolve(WHOLE), "must be resolved with a source"),
    *(
        (lambda kind=kind: ps.deferred(kind).resolve(7), f"must be resolved with a {kind}")
        for kind in ("source", "transformer", "sink")
    ),
    (lambda: trace.draw([1]), "draw() at ", "is not a module; values(...) makes a source of it"),
    (lambda: trace.draw(ps.map), "draw() at ", "is not a module; call it to get the module: map()"),
    (lambda: ps.abortable().abort("gone"), "abort() at", "needs an exception, but got 'gone'"),
    (lambda: ps.catch([1]), "write lambda error: [1]"),
    (lambda: ps.values(3), "use once(3)"),
    (lambda: ps.debounce(timedelta(seconds=5)), "total_seconds()"),
    (lambda: ps.rate_limit(0.5), "rate_limit(1, per=2)"),
    (lambda: ps.map(str).named(3), "named() at", "needs a string"),
    (lambda: ps.from_callback(lambda: None), "must take emit"),
    (lambda: ps.flat_map(half), "map_async(function, concurrency), then flatten()"),
    (lambda: ps.flat_map(yields), "flat_map(lambda value: from_async_iterable(yields(value)))"),
    (lambda: ps.drain(some), "the generator function some", "leave out its yield"),
    (lambda: ps.values([1], time=half), "use map_async to make (time, value) pairs first, then stamp(...)"),
    (lambda: files.read_text("a.txt", follow="no"), "read_text() at", "must be False or True"),
    (lambda: files.read_csv("a.csv", delimeter=";"), "did you mean delimiter="),
    (lambda: files.read_csv("a.csv", sep=";"), "delimiter="),
    (lambda: spark.from_dataframe(None, tme="day"), "from_dataframe() at", "did you mean time="),
    # Arguments that mean nothing.
    (lambda: ps.tumbling(timedelta()), "tumbling", "size"),
    (lambda: ps.tumbling(5, origin="monday"), "size=5 and origin='monday', which cannot be added"),
    (lambda: ps.from_async_iterable(ONE), "async iterable", "Use a source as it is"),
    (lambda: ps.from_awaitable(ps.pipe(ONE, ps.collect())), "an awaitable, but got pipe"),
    (lambda: ps.from_asyncio(ONE), "async iterable, but got values"),
    (lambda: ps.from_asyncio(FUTURE), "Pass that loop as loop="),
    (lambda: ps.from_awaitable(FUTURE), "from_asyncio"),
    (ps.aggregate, "at least one"),
    (lambda: ps.agg.quantile(2), "from 0 to 1"),
    (lambda: ps.agg.quantile(len, 0.5), "got <built-in function len>. Example: quantile(0.5, of)"),
    (lambda: ps.agg.top(0), "at least 1"),
    (lambda: ps.agg.sum(half), "async"),
    (lambda: ps.stamp(len, late="drop"), "without lateness=. With lateness=0 (for dates, timedelta(0)),"),
    (lambda: ps.stamp_epochs(2, seconds=1), "needs exactly one of"),
    (lambda: ps.stamp_epochs(seconds=1, nest=True), "nest"),
    (lambda: ps.delay(-1), "backwards"),
    (lambda: ps.map_time(None), "map_time", "pass the function itself"),
    (lambda: ps.merge([1, 2]), "merge", "needs sources", "values"),
    (lambda: ps.partition(str, {}), "at least one"),
    (lambda: ps.partition(str, {"a": ps.take(1)}), "needs sinks"),
    (lambda: ps.zip(ps.once(1), mode="longest"), "'shortest', 'strict' or 'padded'"),
    (lambda: ps.zip(ps.once(1), fill=0), "mode='padded'"),
    (lambda: ps.dynamic_merge().add(3), "needs sources"),
    (lambda: ps.join(ONE, ONE, on=(int,)), "join", "pair of keys"),
    (lambda: ps.join(ONE, ONE, on=(int, half)), "join", "map_async"),
    (lambda: ps.join(ONE, ONE, on=int, how="asof"), "join() at", "needs at=, a function"),
    (lambda: ps.join(ONE, ONE, on=int, at=int), "join() at", "needs at=, a function"),
    (
        lambda: ps.join(ONE, ONE, on=int, how="asof", at=int, within=2),
        "pairs values at equal times",
        "filter the pairs",
    ),
    (lambda: ps.join(ONE, ONE, on=int, within=0), "Without within=, it pairs values at equal times"),
    (lambda: ps.types.Quota(0), "Quota() at", "at least 1"),
    (lambda: ps.timed(half), "use timed() without a function"),
    (lambda: ps.map_thread(trio.sleep, 2), "map_thread() at", "sleep: use map_async"),
    (ps.worker_pool, "worker_pool"),
    (lambda: ps.worker_pool(dynamic=True).add(ONE), "needs transformers as its workers"),
    (lambda: ps.duplex.Duplex(ps.drain(), ps.integers()), "Duplex"),
    (lambda: ps.duplex.connect(ps.integers(), ps.drain()), "duplexes"),
    (lambda: ps.duplex.handshake(ps.integers(), half), "handshake()"),
    (lambda: ps.duplex.handshake(ps.duplex.Duplex(ps.integers(), ps.drain()), 7), "handshake()"),
    (lambda: ps.from_async_iterable(asyncio.Queue()), "Use from_asyncio", "awaits queue.get"),
    (lambda: ps.catch_up([1], ps.empty(), sync=ps.Batch(0, [])), "catch_up() at"),
    (ps.windowed, "count"),
    (lambda: ps.windowed(3, seconds=2), "pass either"),
    (lambda: ps.split(""), "separator"),
    (lambda: ps.split("a", size=3), "one of them"),
    (lambda: ps.scan(ps.Fold(int, operator.add), 3), "Fold"),
    (lambda: ps.map(str, on_error="ignore"), "'fail', 'skip', 'result'"),
    (lambda: ps.take(3, last=True), "which need a test"),
    (lambda: ps.skip(3, on_error="skip"), "which need a test"),
    (lambda: ps.catch(on=BaseException), "catch() at"),
    (lambda: ps.catch(on=(ValueError, "x")), "catch() at"),
    (lambda: ps.retry(ps.integers(), on=BaseException), "retry() at"),
    (lambda: ps.retry(ps.integers(), resume=lambda n: n, skip_delivered=True), "retry() at"),
    (lambda: ps.concat_values(int), "needs str, bytes or list"),
    (lambda: ps.reduce(max), "reduce(function, initial): write agg.max()"),
    (lambda: ps.reduce(operator.add), "reduce(function, initial). Or pass a Fold"),
    (lambda: ps.reduce(ps.agg.count(), 0), "got a Fold and an initial state"),
    (lambda: ps.stamp(abs, lateness=timedelta(-1)), "not negative, but got datetime.timedelta"),
    (lambda: ps.sliding(4, timedelta(1)), "two numbers or two timedeltas, but got size=4"),
    (lambda: ps.map(int, on_error=ps.empty()), "or a sink"),
    # Arguments that do not fit.
    (
        lambda: ps.aggregate(ps.agg.count()),
        "takes no argument by position, but got 1. Write aggregate(n=agg.count(), key=..., eager=..., on_error=...)$",
    ),
    (
        lambda: ps.map(str, [1]),
        "takes 1 argument by position, but got 2. Write map(function, on_error=...). Its values come",
        "from the module upstream: pipe(values(...), map(...))$",
    ),
    (lambda: ps.take(count=3), "has no argument 'count'. Write take(what, last=..., ahead=..., on_error=...)$"),
    (ps.map, "needs the argument 'function'. Write map(function, on_error=...)$"),
    (
        lambda: ps.retry(times=3),
        "needs the argument 'source'. retry is not a transformer: a pipe begins with it, and it reads the sources in ",
        "its arguments. Write retry(source, times=..., delay=..., backoff=..., ",
    ),
    (
        lambda: ps.run(WHOLE, chek=True),
        "has no argument 'chek'; did you mean check=? Write run(pipeline, limit=..., release_timeout=..., check=..., ",
    ),
    (lambda: ps.agg.mean(off=len), "has no argument 'off'; did you mean of=? Write mean(of=...)$"),
]
"""Calls, and words of their refusals; `$` marks the end."""


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row[-1])
@pytest.mark.filterwarnings("ignore:coroutine 'half' was never awaited")
def test_a_mistake_says_what_to_write(row):
    compose, *words = row
    with pytest.raises(ps.CompositionError) as caught:
        compose()
    message = f"{caught.value}$"
    assert [word for word in words if word not in message] == []
    assert isinstance(caught.value, TypeError)
    assert __file__ in message or "trace=" in message


@pytest.mark.parametrize("option", ["limit", "release_timeout"])
@pytest.mark.parametrize(
    ("function", "part"),
    [(ps.run, WHOLE), (ps.arun, WHOLE), (ps.Pipeline.open, WHOLE), (ps.iterate, ONE), (ps.aiterate, ONE)],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_an_option_of_a_run_is_refused_by_the_function_that_got_it(function, part, option):
    """Before anything runs: later, asyncio's line or a background thread's would replace the user's."""
    with pytest.raises(ps.CompositionError) as caught:
        function(part, **{option: -1})
    assert str(caught.value).startswith(f"{function.__name__}() at {__file__}:")
    assert f"for its argument '{option}', but got -1" in str(caught.value)
