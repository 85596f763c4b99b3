"""The ready-made modules with their parameters, as subjects of the conformance kit: one per line.

`python -m pullstream check` and the tests run every row, with the values 0, 1, ... See `Subject` for the fields of a
row.
"""

# Rows are lambdas, whose parameters have no types: strict checks would report every line.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportOperatorIssue=false
# mypy: disable-error-code="var-annotated, operator"

import math
import operator
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, Literal, cast

import trio

import pullstream as ps
from pullstream.conformance.cells import APART
from pullstream.conformance.subject import Subject

Function = Callable[[Any], Any]

around = partial(Subject, around=True)
"""A row for a module that takes a function, and calls it with every value."""

handling = partial(around, absorbs=True)
"""A row for one that handles the failures of its function."""

opening = partial(Subject, resource=True, reopens=True)
"""A row for one that opens a resource several times."""


def calling(function: Function) -> Callable[[Any], Awaitable[Any]]:
    """Make an async function that calls the function after a moment of (virtual) time."""

    async def call(value: Any) -> Any:
        await trio.sleep(0.1)
        return function(value)

    return call


def passing(function: Function) -> Callable[[Any], bool]:
    """Make a test that calls the function and passes every value."""

    def test(value: Any) -> bool:
        function(value)
        return True

    return test


def twice(function: Function) -> Callable[[Any], list[Any]]:
    """Make a function that returns every result twice."""
    return lambda value: [function(value)] * 2


def streamed(function: Function) -> Callable[[Any], ps.Source[Any]]:
    """Make a function that returns a stream inside which the function is called."""
    return lambda value: ps.pipe(ps.values([value]), ps.map(function))


def counted(key: Function, on_error: Literal["fail", "skip"] = "fail") -> ps.Transformer[Any, Any]:
    """Count the values of each key."""
    return ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=key, on_error=on_error)


def untimed(transformer: ps.Transformer[Any, Any]) -> ps.Transformer[Any, Any]:
    """Give a transformer an input with a single time."""
    return ps.pipe(ps.map_time(lambda _: 0), transformer)


def rounds(function: Function, number: int) -> Function:
    """Make the body of a loop in which every value goes round `number` times, and then to the function."""

    def body(value: Any) -> Any:
        if not isinstance(value, ps.Again):
            value = ps.Again((value, number))
        n, left = cast("ps.Again[tuple[Any, int]]", value).value
        return ps.Again(ps.Again((n, left - 1))) if left else function(n)

    return body


def two_lines(value: object) -> Any:
    """Return text that ends in the middle of a line."""
    return f"{value}\n\n{value}"


def bytes_of(value: int) -> Any:
    """Return two-byte characters, more of them for larger values, which may be huge in a random program."""
    return "é".encode() * min(value, 100)


async def moments(resource: AbstractContextManager[object]) -> AsyncIterator[int]:
    """Yield values that take a moment each."""
    with resource:
        for n in range(5):
            await trio.sleep(0.1)
            yield n


def called_back(resource: AbstractContextManager[object]) -> ps.Source[int]:
    """Emit each value through a callback, and then the end."""

    def register(emit: ps.types.Emit[int]) -> Callable[[], object]:
        resource.__enter__()
        for n in range(5):
            emit(n)
        emit.end()
        return lambda: resource.__exit__(None, None, None)

    return ps.from_callback(register)


def workers() -> list[ps.Transformer[Any, Any]]:
    """Return two workers; the second leaves early."""
    return [ps.map_async(calling(lambda value: value), 1), ps.take(1)]


def resolved(kind: Any, module: Any) -> Any:
    """Return a deferred module that is resolved before the run."""
    handle = cast("Any", ps.deferred(kind))
    handle.resolve(module)
    return handle


def pushed() -> ps.Source[int]:
    """Return a handle that was filled and ended before the run."""
    source: ps.types.Pushable[int] = ps.pushable(5)
    for n in range(5):
        source.push_nowait(n, time=n // 2)
    source.end()
    return source


def received() -> ps.Source[int]:
    """Return a source from a channel that was filled and closed before the run."""
    send, receive = trio.open_memory_channel[int](5)
    for n in range(5):
        send.send_nowait(n)
    send.close()
    return ps.from_channel(receive)


@ps.source
async def opened(ctx: ps.Context, count: int, resource: AbstractContextManager[object]) -> AsyncIterator[int]:
    """Yield numbers slowly, with a resource open; used as an inner stream."""
    del ctx
    with resource:
        for n in range(count):
            await trio.sleep(0.1)
            yield n


def inner(resource: AbstractContextManager[object]) -> ps.Transformer[int, ps.Source[int]]:
    """Map numbers to sources of zero, one or two values."""
    return ps.map(lambda n: opened(n % 3, resource))


SOURCES: Final = (
    Subject("values", lambda: ps.values(range(5))),
    Subject("values, each at its time", lambda: ps.values(range(5), time=lambda n: n)),
    Subject("values of a generator", lambda: ps.values(n for n in range(5))),
    Subject("once", lambda: ps.once(None)),
    Subject("repeat", lambda: ps.repeat(None, 5)),
    Subject("unfold", lambda: ps.unfold(0, lambda n: (n, n + 1) if n < 5 else None)),
    Subject("empty", ps.empty, silent=True),
    Subject("fail", lambda: ps.fail(ValueError("as asked for")), absorbs=True, silent=True),
    Subject("integers", ps.integers),
    Subject("interval", lambda: ps.interval(0.1)),
    Subject("from_async_iterable", lambda resource: ps.from_async_iterable(moments(resource)), resource=True),
    Subject("from_awaitable", lambda: ps.from_awaitable(partial(calling(int), 3))),
    Subject("from_channel", received),
    Subject("from_callback", called_back, resource=True),
    Subject("pushable", pushed),
    Subject("deferred source", lambda: resolved("source", ps.values(range(5)))),
    Subject("retry", lambda source: ps.retry(source, 2, delay=0.1), inputs=1, absorbs=True, reopens=True),
    Subject("retry, skipping", lambda source: ps.retry(source, 2, skip_delivered=True), inputs=1, reopens=True),
    Subject("catch_up", lambda: ps.catch_up(range(3), ps.values(range(3, 5)))),
    Subject("catch_up, sync", lambda: ps.catch_up(range(3), ps.values([3, 4]), capacity=1, sync=ps.Batch(0, "--"))),
    Subject("catch_up, of two", lambda old, new: ps.catch_up(old, new, capacity=2), inputs=2, grows=True, keeps=True),
)

TRANSFORMERS: Final = (
    around("map", ps.map),
    around("filter, all pass", lambda function: ps.filter(passing(function))),
    Subject("filter, half pass", lambda: ps.filter(lambda n: n % 2)),
    Subject("filter, none passes", lambda: ps.filter(lambda _: False), silent=True),
    around("flat_map, two each", lambda function: ps.flat_map(twice(function))),
    Subject("flat_map, none", lambda: ps.flat_map(lambda _: ()), silent=True),
    around("flat_map, sources", lambda function: ps.flat_map(streamed(function))),
    around("map_batches", lambda f: ps.map_batches(lambda values: [f(value) for value in values]), batches=True),
    around("map_async 1", lambda function: ps.map_async(calling(function), 1)),
    around("map_async 3", lambda function: ps.map_async(calling(function), 3)),
    around("map_async 3, as ready", lambda f: ps.map_async(calling(f), 3, ordered=False), ordered=False),
    Subject("prefetch 1", lambda: ps.prefetch(1), grows=True),
    Subject("prefetch 3", lambda: ps.prefetch(3), grows=True),
    around("in_flight", lambda function: ps.in_flight(ps.map_async(calling(function), 3), 2)),
    Subject("timeout", lambda: ps.timeout(1e6)),
    Subject("rate_limit", lambda: ps.rate_limit(2, per=0.1)),
    Subject("throttle", lambda: ps.throttle(0.1), timing=True, grows=True),
    Subject("debounce", lambda: ps.debounce(0.1), timing=True, grows=True),
    Subject("sample", lambda: ps.sample(0.1), timing=True, grows=True),
    Subject("pausable", ps.pausable),
    Subject("abortable", ps.abortable),
    Subject("take 0", lambda: ps.take(0), silent=True),
    Subject("take 2", lambda: ps.take(2)),
    Subject("take 9", lambda: ps.take(9)),
    Subject("take_times 0", lambda: ps.take_times(0), silent=True),
    Subject("take_times 2", lambda: ps.take_times(2)),
    Subject("take_times 9", lambda: ps.take_times(9)),
    around("reduce_by_key", counted, flushes=True),
    around("reduce_by_key, eager", lambda f: ps.reduce_by_key(ps.agg.count(), key=f, eager=True), flushes=True),
    around("reduce_by_time", lambda f: ps.reduce_by_time(ps.agg.sum(f)), flushes=True),
    around("count_by_key", ps.count_by_key, flushes=True),
    around("aggregate", lambda f: ps.aggregate(key=f, n=ps.agg.count()), flushes=True),
    around("unique_by_time", ps.unique_by_time),
    around("sort_by_time", ps.sort_by_time, flushes=True),
    around("accumulate", lambda f: ps.accumulate(ps.agg.sum(f)), flushes=True),
    around("accumulate, by key", lambda f: ps.accumulate(ps.agg.count(), key=f), flushes=True),
    around("stamp", lambda f: ps.stamp(f, nest=True), ascending=True),
    around("stamp, with lateness", lambda f: untimed(ps.stamp(lambda n: -f(n), lateness=15, late="drop"))),
    Subject("stamp, late values diverted", lambda: untimed(ps.stamp(lambda n: -n, lateness=1, late=ps.drain()))),
    Subject("stamp_epochs of 2", lambda: untimed(ps.stamp_epochs(2))),
    Subject("stamp_epochs of 2, within times", lambda: ps.stamp_epochs(2, nest=True)),
    around("stamp_epochs by a test", lambda f: ps.stamp_epochs(begin=lambda n: f(n) % 20 == 0, nest=True)),
    around("stamp_epochs by key", lambda f: ps.stamp_epochs(key=lambda n: f(n) // 20, nest=True)),
    Subject("stamp_epochs by the clock", lambda: untimed(ps.stamp_epochs(seconds=1.5)), timing=True),
    Subject("map_time", lambda: ps.map_time(lambda n: n // 2)),
    Subject("delay", lambda: ps.delay(3)),
    around("timed", lambda function: ps.timed(lambda _, n: function(n))),
    handling("map, failures left out", lambda f: ps.map(f, on_error="skip")),
    handling("map, failures as results", lambda f: ps.pipe(ps.map(f, on_error="result"), ps.map(str))),
    handling("map, failures diverted", lambda f: ps.map(f, on_error=ps.drain())),
    around("filter_not", lambda function: ps.filter_not(lambda n: function(n) < 0)),
    around("tap", ps.tap),
    around("tap, with its end", lambda function: ps.tap(function, lambda _: None)),
    Subject("probe", lambda: ps.probe(lambda _: None)),
    around("unique", ps.unique),
    around("unique, with a capacity", lambda function: ps.unique(function, capacity=1)),
    around("duplicates", lambda function: ps.pipe(ps.flat_map(lambda n: [n, n]), ps.duplicates(function))),
    around("scan", lambda function: ps.scan(lambda total, n: total + function(n), 0)),
    around("take by a test", lambda function: ps.take(passing(function))),
    around("take by a test, ahead", lambda function: ps.take(passing(function), ahead=3)),
    Subject("take by a test, up to 2", lambda: ps.take(lambda n: n < 2)),
    Subject("take by a test, with the last", lambda: ps.take(lambda n: n < 2, last=True)),
    Subject("skip 2", lambda: ps.skip(2)),
    around("skip by a test", lambda function: ps.skip(passing(function)), silent=True),
    Subject("skip by a test, up to 2", lambda: ps.skip(lambda n: n < 2)),
    Subject("batch 2", lambda: ps.batch(2)),
    Subject("batch by the clock", lambda: ps.batch(3, seconds=1.5), timing=True),
    Subject("windowed 2", lambda: ps.windowed(2, 2), flushes=True),
    Subject("windowed 3, sliding", lambda: ps.windowed(3, 1), flushes=True),
    Subject("windowed by the clock", lambda: ps.windowed(seconds=1.5), timing=True, flushes=True),
    Subject("windowed by the clock, sliding", lambda: ps.windowed(seconds=3, every=1), timing=True, flushes=True),
    Subject("tumbling", lambda: ps.tumbling(2), flushes=True),
    around("tumbling, by key", lambda key: ps.tumbling(2, ps.agg.count(), key=key), flushes=True),
    around("tumbling, eager", lambda f: ps.tumbling(2, ps.agg.sum(f), eager=True), flushes=True),
    around("sliding", lambda f: ps.sliding(2, 1, ps.agg.sum(f)), flushes=True),
    around("sliding, by key", lambda key: ps.sliding(2, 1, key=key), flushes=True),
    around("sliding, eager", lambda f: ps.sliding(2, 1, ps.agg.sum(f), eager=True), flushes=True),
    around("sessions", lambda f: ps.sessions(2, ps.agg.sum(f)), flushes=True),
    around("sessions, by key", lambda key: ps.sessions(1, key=key), flushes=True),
    around("sessions, eager", lambda f: ps.sessions(1, ps.agg.sum(f), eager=True), flushes=True),
    Subject("split, lines", lambda: ps.pipe(ps.map(two_lines), ps.split()), flushes=True),
    Subject("split, at a separator", lambda: ps.pipe(ps.map(two_lines), ps.split("\n\n")), flushes=True),
    Subject("split, blocks", lambda: ps.pipe(ps.map(bytes_of), ps.split(size=4)), flushes=True),
    Subject("decode", lambda: ps.pipe(ps.map(bytes_of), ps.split(size=3), ps.decode(errors="ignore")), flushes=True),
    handling("map_async, failures left out", lambda f: ps.map_async(calling(f), 2, on_error="skip")),
    handling("reduce_by_key, failures left out", lambda f: counted(f, on_error="skip")),
    handling("unique_by_time, failures left out", lambda f: ps.unique_by_time(f, on_error="skip")),
    handling("sort_by_time, failures left out", lambda f: ps.sort_by_time(f, on_error="skip")),
    handling("sessions, failures left out", lambda f: ps.sessions(1, key=f, on_error="skip")),
    handling("timed, failures left out", lambda f: ps.timed(lambda _, n: f(n), on_error="skip")),
    handling("group_by, failures left out", lambda f: ps.group_by(f, ps.map(str), on_error="skip"), ordered=False),
    around("loop", lambda function: ps.loop(ps.map(rounds(function, 2))), ordered=False),
    around("loop around calls", lambda f: ps.loop(ps.map_async(calling(rounds(f, 1)), 2)), ordered=False),
    Subject("loop that nothing goes round", lambda: ps.loop(ps.loop(ps.filter(lambda _: True)))),
    around("flatten, sources", lambda f: ps.pipe(ps.map(streamed(f)), ps.flatten())),
    around("flatten, lists", lambda f: ps.pipe(ps.map(twice(f)), ps.flatten())),
    around("flatten, all levels", lambda f: ps.pipe(ps.map(twice(twice(f))), ps.flatten(depth=None))),
    around("flatten, side by side", lambda f: ps.pipe(ps.map(streamed(f)), ps.flatten(concurrency=2)), ordered=False),
    around("group_by", lambda f: ps.group_by(lambda n: n % 2, ps.map(f)), ordered=False),
    around("group_by, one at a time", lambda f: ps.group_by(f, ps.take(1), capacity=1), ordered=False),
    handling("worker_pool", lambda f: ps.worker_pool(ps.map_async(calling(f), 1), ps.map(f))),
    Subject("worker_pool, as ready", lambda: ps.worker_pool(*workers(), concurrency=2, ordered=False), ordered=False),
    Subject("worker_pool, dynamic", lambda: ps.worker_pool(*workers(), dynamic=True)),
    around("deferred transformer", lambda function: resolved("transformer", ps.map(function))),
    handling("catch, ends", lambda function: ps.pipe(ps.map(function), ps.catch())),
    handling("catch, values", lambda f: ps.pipe(ps.map(f), ps.catch(lambda _: ["ab"]))),
    handling("catch, a source", lambda f: ps.pipe(ps.map(f), ps.catch(lambda _: ps.empty()))),
    around("catch, passes", lambda f: ps.pipe(ps.map(f), ps.catch(on=NotImplementedError))),
    opening("flatten, opening", lambda opens: ps.pipe(inner(opens), ps.flatten())),
    opening("flatten, opening two", lambda opens: ps.pipe(inner(opens), ps.flatten(concurrency=2)), ordered=False),
    Subject("catch, a later source", lambda: ps.catch(lambda _: ps.values([7, 8], time=lambda _: 99)), absorbs=True),
    around("several", lambda function: ps.pipe(ps.map(function), ps.filter(lambda _: True), ps.take(4))),
)


def added(*sources: ps.Source[Any]) -> ps.Source[Any]:
    """Put the sources into a capped `dynamic_merge`."""
    many: ps.types.DynamicMerge[Any] = ps.dynamic_merge()
    many.add(*sources)
    many.cap()
    return many


def parted(function: Function, capacity: int = 0) -> ps.Sink[Any, Any]:
    """Send values to one of two sinks, depending on whether the function's result is divisible by twenty."""
    return ps.partition(lambda n: function(n) % 20, {0: ps.collect()}, other=ps.collect(), capacity=capacity)


def alike(function: Function) -> Function:
    """Make a key that calls the function and is the same for the values of all sources."""
    return lambda n: function(n) % (10 * APART)


def joined(key: Function, left: ps.Source[Any], right: ps.Source[Any], **options: Any) -> ps.Source[Any]:
    """Join every other value of one source with matching values of the other."""
    return ps.join(left, ps.pipe(right, ps.filter(lambda n: n % 2)), on=alike(key), **options)


COMBINING: Final = (
    Subject("concat", ps.concat, inputs=2),
    Subject("merge", ps.merge, inputs=3, ordered=False),
    Subject("merge_sorted", ps.merge_sorted, ascending=True, inputs=3),
    around("merge_sorted, by key", lambda key, *sources: ps.merge_sorted(*sources, key=key), ascending=True, inputs=2),
    Subject("zip", ps.zip, inputs=2),
    Subject("zip, strict", lambda *sources: ps.zip(*sources, mode="strict"), inputs=2),
    Subject("zip, padded", lambda *sources: ps.zip(*sources, mode="padded"), inputs=2),
    around("join", lambda key, *both: ps.join(*both, on=alike(key)), inputs=2, ordered=False),
    handling("join, failures left out", lambda f, *both: joined(f, *both, on_error="skip"), inputs=2, ordered=False),
    handling(
        "merge_sorted, failures left out",
        lambda key, *sources: ps.merge_sorted(*sources, key=key, on_error="skip"),
        ascending=True,
        inputs=2,
    ),
    around("join, left", lambda key, *both: joined(key, *both, how="left"), inputs=2, ordered=False),
    around("join, near", lambda key, *both: joined(key, *both, within=1), inputs=2, ordered=False),
    Subject("combine_latest", ps.combine_latest, inputs=2, timing=True),
    Subject("dynamic_merge", added, inputs=2, ordered=False),
    around("fork", lambda f: ps.fork(ps.map(f), ps.filter(lambda _: False)), ordered=False),
    around("fork, with a capacity", lambda f: ps.fork(ps.map(f), ps.take(2), capacity=2), ordered=False),
)


def sent() -> ps.Sink[Any, None]:
    """Send values into a channel with room for all of them."""
    send, receive = trio.open_memory_channel[Any](math.inf)
    return ps.pipe(ps.tap(lambda _: receive), ps.to_channel(send))


SINKS: Final = (
    Subject("collect", ps.collect),
    around("drain", ps.drain),
    Subject("reduce", lambda: ps.reduce(operator.add, 0)),
    Subject("reduce, by a Fold", lambda: ps.reduce(ps.agg.top(2))),
    Subject("find", lambda: ps.find(lambda n: n == 2)),
    around("find, none", lambda function: ps.find(lambda n: function(n) is None)),
    around("find, 3 at a time", lambda function: ps.find(lambda n: function(n) is None, limit=3)),
    Subject("first", ps.first),
    Subject("last", ps.last),
    Subject("concat_values", lambda: ps.pipe(ps.map(str), ps.concat_values())),
    Subject("to_channel", sent),
    Subject("on_end", lambda: ps.on_end(lambda _: None)),
    around("deferred sink", lambda function: resolved("sink", ps.drain(function))),
    around("at_completion", lambda f: ps.at_completion(lambda _, values: [f(n) for n in values])),
    Subject("at_completion, async", lambda: ps.at_completion(lambda _, values: calling(len)(values))),
    around("tee", lambda function: ps.tee(ps.collect(), ps.drain(function))),
    around("tee, with a capacity", lambda function: ps.tee(ps.collect(), ps.drain(function), capacity=2)),
    around("partition", parted),
    around("partition, with a capacity", lambda function: parted(function, 2)),
)

READY: Final = (*SOURCES, *TRANSFORMERS, *COMBINING, *SINKS)
"""All ready-made modules."""
