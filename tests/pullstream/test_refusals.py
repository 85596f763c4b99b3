"""Arguments that mean nothing: each module refuses them when composing, by its name and with what it needs."""

import asyncio
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


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ps.tumbling(0), "tumbling.*positive number.*size"),
        (lambda: ps.tumbling(timedelta()), "tumbling.*size"),
        (lambda: ps.tumbling("1h"), "timedelta"),
        (lambda: ps.tumbling(True), "tumbling.*size"),
        (lambda: ps.tumbling(math.inf), "tumbling.*size"),
        (lambda: ps.sliding(5, -1), "sliding.*every"),
        (lambda: ps.tumbling(5, origin="monday"), "size=5 and origin='monday', which cannot be added"),
        (lambda: ps.sliding(None, 1), "sliding.*size"),
        (lambda: ps.sessions(math.nan), "sessions.*gap"),
        (lambda: ps.sessions(3, sum), "sessions.*Fold"),
        (lambda: ps.sessions(3, key=later), "sessions.*map_async"),
        (lambda: ps.tumbling(3, key=3), "tumbling.*key"),
        (lambda: ps.reduce_by_key(ps.agg.count(), key=3), "reduce_by_key"),
        (lambda: ps.reduce_by_key(ps.agg.count(), key=later), "map_async"),
        (lambda: ps.reduce_by_key(sum, key=len), "Fold"),
        (lambda: ps.count_by_key(on_error="result"), "count_by_key"),
        (lambda: ps.from_async_iterable(ONE), "async iterable.*A source is used as it is"),
        (lambda: ps.from_awaitable(ps.pipe(ONE, ps.collect())), "an awaitable, but got pipe"),
        (lambda: ps.from_asyncio(ONE), "async iterable, but got values"),
        (ps.aggregate, "at least one"),
        (lambda: ps.agg.quantile(2), "from 0 to 1"),
        (lambda: ps.agg.quantile(len, 0.5), r"got <built-in function len>\. Example: quantile\(0.5, of\)"),  # type: ignore[arg-type]
        (lambda: ps.agg.top(0), "at least 1"),
        (lambda: ps.agg.sum(later), "async"),
        (lambda: ps.unique_by_time(3), "unique_by_time"),
        (lambda: ps.unique_by_time(later), "async"),
        (lambda: ps.sort_by_time(later), "async"),
        (lambda: ps.accumulate(sum), "Fold"),
        (lambda: ps.accumulate(ps.agg.count(), key=3), "accumulate"),
        (lambda: ps.at_completion(3), "at_completion"),
        (lambda: ps.stamp(3), "stamp"),
        (lambda: ps.stamp(later), "async"),
        (
            lambda: ps.stamp(len, late="drop"),
            r"without lateness=\. With lateness=0 \(for dates, timedelta\(0\)\),",
        ),
        (lambda: ps.stamp(len, lateness=1, late=ps.map(len)), "a sink"),
        (ps.stamp_epochs, "needs exactly one of"),
        (lambda: ps.stamp_epochs(2, seconds=1), "needs exactly one of"),
        (lambda: ps.stamp_epochs(0), "at least 1"),
        (lambda: ps.stamp_epochs(begin=3), "begin"),
        (lambda: ps.stamp_epochs(key=later), "async"),
        (lambda: ps.stamp_epochs(seconds=0), "seconds"),
        (lambda: ps.stamp_epochs(seconds=1, nest=True), "nest"),
        (lambda: ps.map_time(None), "map_time"),
        (lambda: ps.delay(-1), "backwards"),
        (lambda: ps.delay("x"), "delay"),
        (ps.fork, "fork.*at least one"),
        (lambda: ps.fork(ps.take(1), capacity=-1), "capacity"),
        (lambda: ps.tee(ps.collect(), capacity=1.5), "capacity"),
        (lambda: ps.partition(str, {}), "at least one"),
        (lambda: ps.partition(str, [ps.collect()]), "dict with a sink"),
        (lambda: ps.partition(str, {"a": ps.take(1)}), "needs sinks"),
        (lambda: ps.partition("a", {"a": ps.collect()}), "callable for its argument 'key'"),
        (lambda: ps.merge([1, 2]), "merge.*needs sources.*values"),
        (lambda: ps.zip(ps.once(1), mode="longest"), "'shortest', 'strict' or 'padded'"),
        (lambda: ps.zip(ps.once(1), fill=0), "mode='padded'"),
        (lambda: ps.merge_sorted(ps.once(1), key=3), "callable for its argument 'key'"),
        (lambda: ps.broadcast(0), "capacity"),
        (lambda: ps.broadcast(1, overflow="burst"), "overflow"),
        (lambda: ps.dynamic_merge().add(3), "needs sources"),
        (lambda: ps.pushable(0), "at least 1 for its argument 'capacity'"),
        (lambda: ps.deferred("duplex"), "'duplex'"),
        (lambda: ps.join(ONE, [1], on=int), "join.*source"),
        (lambda: ps.join(ONE, ONE, on=3), "join.*on"),
        (lambda: ps.join(ONE, ONE, on=(int,)), "join.*pair of keys"),
        (lambda: ps.join(ONE, ONE, on=(int, later)), "join.*map_async"),
        (lambda: ps.join(ONE, ONE, on=int, how="outer"), "join.*inner.*left"),
        (lambda: ps.join(ONE, ONE, on=int, within=0), "Without within=, it pairs values at equal times"),
        (lambda: ps.join(ONE, ONE, on=int, capacity=0), "join.*capacity"),
        (lambda: ps.in_flight(ps.values([1]), 3), r"in_flight\(\) at .* needs a transformer"),
        (lambda: ps.in_flight(ps.take(1), 0), r"in_flight\(\) at .* at least 1 for its argument 'capacity'"),
        (lambda: ps.types.Quota(0), r"Quota\(\) at .* at least 1"),
        (lambda: ps.prefetch(0), r"prefetch\(\) at .* at least 1 for its argument 'capacity'"),
        (lambda: ps.timeout(0), r"timeout\(\) at .* positive number of seconds"),
        (lambda: ps.rate_limit(0), r"rate_limit\(\) at .* at least 1 for its argument 'count'"),
        (lambda: ps.rate_limit(1, per=-1), r"rate_limit\(\) at .* positive number of seconds for its argument 'per'"),
        (lambda: ps.throttle("1"), r"throttle\(\) at .* positive"),
        (lambda: ps.debounce(None), r"debounce\(\) at .* positive"),
        (lambda: ps.sample(float("inf")), r"sample\(\) at .* positive"),
        (lambda: ps.timed(3), r"timed\(\) .* needs a callable"),
        (lambda: ps.timed(later), r"use timed\(\) without a function"),
        (lambda: ps.map_process(math.sqrt, 0), r"map_process\(\) at .* at least 1 for its argument 'concurrency'"),
        (lambda: ps.map_process("sqrt", 1), r"map_process\(\) at .* needs a callable"),
        (lambda: ps.map_process(trio.sleep, 1), r"map_process\(\) at .* sleep: use map_async"),
        (lambda: ps.map_thread(trio.sleep, 2), r"map_thread\(\) at .* sleep: use map_async"),
        (ps.worker_pool, "worker_pool"),
        (lambda: ps.worker_pool(7), "worker_pool"),
        (lambda: ps.worker_pool(7, dynamic=True), "worker_pool"),
        (lambda: ps.worker_pool(dynamic=True).add(ONE), "needs transformers as its workers"),
        (lambda: ps.worker_pool(ps.take(1), concurrency=0), "worker_pool"),
        (lambda: ps.loop(ONE), "needs a transformer for its argument 'body'"),
        (lambda: ps.loop(ps.map(str), capacity=0), "capacity"),
        (lambda: ps.duplex.Duplex(ps.drain(), ps.integers()), "Duplex"),
        (lambda: ps.duplex.connect(ps.integers(), ps.drain()), "duplexes"),
        (lambda: ps.duplex.handshake(ps.integers(), later), r"handshake\(\)"),
        (lambda: ps.duplex.handshake(ps.duplex.Duplex(ps.integers(), ps.drain()), 7), r"handshake\(\)"),
        (lambda: ps.asyncio_call(3), r"asyncio_call\(\) at"),
        (lambda: ps.asyncio_call(later, loop=3), r"asyncio_call\(\) at"),
        (lambda: ps.from_asyncio(3), r"from_asyncio\(\) at"),
        (lambda: ps.from_asyncio(later, loop=3), r"from_asyncio\(\) at"),
        (lambda: ps.from_asyncio(later, time=3), r"from_asyncio\(\) at"),
        (lambda: ps.from_async_iterable(asyncio.Queue()), "Use from_asyncio.*awaits queue.get"),
        (lambda: ps.from_async_iterable([1]), r"from_async_iterable\(\) at"),
        (lambda: ps.from_async_iterable(int), r"from_async_iterable\(\) at"),
        (lambda: ps.from_async_iterable(some(), time=3), r"from_async_iterable\(\) at"),
        (lambda: ps.from_channel([1]), r"from_channel\(\) at"),
        (lambda: ps.interval(0), r"interval\(\) at"),
        (lambda: ps.catch_up([1], [2]), r"catch_up\(\) at"),
        (lambda: ps.catch_up([1], ps.empty(), capacity=0), r"catch_up\(\) at"),
        (lambda: ps.catch_up([1], ps.empty(), sync="-"), r"catch_up\(\) at"),
        (lambda: ps.catch_up([1], ps.empty(), sync=ps.Batch(0, [])), r"catch_up\(\) at"),
        (lambda: ps.repeat(1, -1), r"repeat\(\) at"),
        (lambda: ps.unfold(1, None), r"unfold\(\) at"),
        (lambda: ps.batch(0), "at least 1"),
        (lambda: ps.batch(3, seconds=0), "seconds"),
        (ps.windowed, "count"),
        (lambda: ps.windowed(3, seconds=2), "pass either"),
        (lambda: ps.windowed(3, 0), "step"),
        (lambda: ps.windowed(seconds=-1), "positive"),
        (lambda: ps.windowed(seconds=1, capacity=0), "capacity"),
        (lambda: ps.split(""), "separator"),
        (lambda: ps.split(7), "separator"),
        (lambda: ps.split(size=0), "size"),
        (lambda: ps.split("a", size=3), "one of them"),
        (lambda: ps.split(capacity=0), "capacity"),
        (lambda: ps.decode("klingon"), "klingon"),
        (lambda: ps.decode(errors="loud"), "loud"),
        (lambda: ps.filter_not(3), "filter_not"),
        (lambda: ps.tap(trio.sleep), "map_async"),
        (lambda: ps.tap(print, on_end=3), "on_end"),
        (lambda: ps.unique(capacity=0), "at least 1"),
        (lambda: ps.unique(3), "key"),
        (lambda: ps.scan(3), "function"),
        (lambda: ps.scan(ps.Fold(int, operator.add), 3), "Fold"),
        (lambda: ps.map(str, on_error="ignore"), "'fail', 'skip', 'result'"),
        (lambda: ps.take(3, last=True), "which need a test"),
        (lambda: ps.take(bool, ahead=0), "ahead"),
        (lambda: ps.skip("3"), "count"),
        (lambda: ps.skip(3, on_error="skip"), "which need a test"),
        (lambda: ps.from_callback(3), r"from_callback\(\) at"),
        (lambda: ps.from_callback(print, capacity=0), r"from_callback\(\) at"),
        (lambda: ps.from_callback(print, overflow="drop"), r"from_callback\(\) at"),
        (lambda: ps.from_callback(print, time=1), r"from_callback\(\) at"),
        (lambda: ps.flatten(depth="all"), r"flatten\(\) at"),
        (lambda: ps.flatten(concurrency=None), r"flatten\(\) at"),
        (lambda: ps.group_by(7, ps.map(str)), r"group_by\(\) at"),
        (lambda: ps.group_by(str, 7), r"group_by\(\) at"),
        (lambda: ps.group_by(str, ps.map(str), capacity=0), r"group_by\(\) at"),
        (lambda: ps.group_by(str, ps.values([1])), r"group_by\(\) at"),
        (lambda: ps.catch(on=3), r"catch\(\) at"),
        (lambda: ps.catch(on=BaseException), r"catch\(\) at"),
        (lambda: ps.catch(on=(ValueError, "x")), r"catch\(\) at"),
        (lambda: ps.retry(ps.integers(), -1), r"retry\(\) at"),
        (lambda: ps.retry(ps.integers(), delay=-1), r"retry\(\) at"),
        (lambda: ps.retry(ps.integers(), backoff=0), r"retry\(\) at"),
        (lambda: ps.retry(ps.integers(), on=BaseException), r"retry\(\) at"),
        (lambda: ps.retry(ps.integers(), resume=lambda n: n, skip_delivered=True), r"retry\(\) at"),
        (lambda: ps.concat_values(int), "needs str, bytes or list"),
        (lambda: ps.reduce(max), r"reduce\(function, initial\): write agg.max\(\)"),
        (lambda: ps.reduce(operator.add), r"reduce\(function, initial\)\. Or pass a Fold"),
        (lambda: ps.reduce(ps.agg.count(), 0), "got a Fold and an initial state"),
        (lambda: ps.drain(later), "async function later"),
        (lambda: ps.find(later), "async function later"),
        (lambda: ps.on_end(later), "async function later"),
        (lambda: ps.reduce(later, 0), "async function later"),
        (lambda: ps.to_channel([]), "SendChannel"),
        (lambda: ps.probe(3), "probe"),
        (lambda: ps.probe(trio.sleep), "probe"),
        (lambda: ps.from_awaitable(3), "needs an async function or an awaitable"),
        (lambda: ps.stamp(abs, lateness=-3), "a lateness that is not negative, but got -3"),
        (lambda: ps.stamp(abs, lateness=math.nan), "not negative, but got nan"),
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
