"""Arguments that mean nothing: each module refuses them when composing, by its name and with what it needs."""

import math
from datetime import timedelta

import pytest
import trio

import pullstream as ps

ONE = ps.values([1])


async def later(value):
    return value


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ps.tumbling(0), "tumbling.*positive number.*size"),
        (lambda: ps.tumbling(timedelta()), "tumbling.*size"),
        (lambda: ps.tumbling("1h"), "timedelta"),
        (lambda: ps.tumbling(True), "tumbling.*size"),
        (lambda: ps.tumbling(math.inf), "tumbling.*size"),
        (lambda: ps.sliding(5, -1), "sliding.*every"),
        (lambda: ps.sliding(None, 1), "sliding.*size"),
        (lambda: ps.sessions(math.nan), "sessions.*gap"),
        (lambda: ps.sessions(3, sum), "sessions.*Fold"),
        (lambda: ps.sessions(3, key=later), "sessions.*map_async"),
        (lambda: ps.tumbling(3, key=3), "tumbling.*key"),
        (lambda: ps.reduce_by_key(ps.agg.count(), key=3), "reduce_by_key"),
        (lambda: ps.reduce_by_key(ps.agg.count(), key=later), "map_async"),
        (lambda: ps.reduce_by_key(sum, key=len), "Fold"),
        (lambda: ps.reduce_by_time(sum), "reduce_by_time"),
        (lambda: ps.count_by_key(3), "count_by_key"),
        (lambda: ps.count_by_key(on_error="result"), "count_by_key"),
        (ps.aggregate, "at least one"),
        (lambda: ps.aggregate(n=len), r"aggregate\(n=\.\.\.\)"),
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
        (lambda: ps.stamp(len, lateness=1, late="skip"), "'skip'"),
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
        (lambda: ps.fork(ps.collect()), "fork.*needs transformers"),
        (lambda: ps.fork(ps.take(1), capacity=-1), "capacity"),
        (lambda: ps.tee(ps.collect(), capacity=1.5), "capacity"),
        (lambda: ps.partition(str, {}), "at least one"),
        (lambda: ps.partition(str, [ps.collect()]), "dict with a sink"),
        (lambda: ps.partition(str, {"a": ps.take(1)}), "needs sinks"),
        (lambda: ps.partition("a", {"a": ps.collect()}), "callable as its key"),
        (lambda: ps.merge([1, 2]), "merge.*needs sources.*values"),
        (lambda: ps.zip(ps.once(1), mode="longest"), "'shortest', 'strict' or 'padded'"),
        (lambda: ps.zip(ps.once(1), fill=0), "mode='padded'"),
        (lambda: ps.merge_sorted(ps.once(1), key=3), "callable as its key"),
        (lambda: ps.broadcast(0), "capacity"),
        (lambda: ps.broadcast(1, overflow="burst"), "overflow"),
        (lambda: ps.dynamic_merge().add(3), "needs sources"),
        (lambda: ps.pushable(0), "at least 1 as its capacity"),
        (lambda: ps.deferred("duplex"), "'duplex'"),
        (lambda: ps.join(ONE, [1], on=int), "join.*source"),
        (lambda: ps.join(ONE, ONE, on=3), "join.*on"),
        (lambda: ps.join(ONE, ONE, on=(int,)), "join.*pair of keys"),
        (lambda: ps.join(ONE, ONE, on=(int, later)), "join.*map_async"),
        (lambda: ps.join(ONE, ONE, on=int, how="outer"), "join.*inner.*left"),
        (lambda: ps.join(ONE, ONE, on=int, within=-1), "join.*within"),
        (lambda: ps.join(ONE, ONE, on=int, capacity=0), "join.*capacity"),
        (lambda: ps.in_flight(ps.values([1]), 3), r"in_flight\(\) at .* needs a transformer"),
        (lambda: ps.in_flight(ps.take(1), 0), r"in_flight\(\) at .* at least 1 as its capacity"),
        (lambda: ps.types.Quota(0), r"Quota\(\) at .* at least 1"),
        (lambda: ps.prefetch(0), r"prefetch\(\) at .* at least 1 as its capacity"),
        (lambda: ps.timeout(0), r"timeout\(\) at .* positive number of seconds"),
        (lambda: ps.rate_limit(0), r"rate_limit\(\) at .* at least 1 as its count"),
        (lambda: ps.rate_limit(1, per=-1), r"rate_limit\(\) at .* positive number of seconds as its per"),
        (lambda: ps.throttle("1"), r"throttle\(\) at .* positive"),
        (lambda: ps.debounce(None), r"debounce\(\) at .* positive"),
        (lambda: ps.sample(float("inf")), r"sample\(\) at .* positive"),
        (lambda: ps.timed(3), r"timed\(\) .* needs a callable"),
        (lambda: ps.timed(later), r"use timed\(\) without a function"),
        (lambda: ps.map_process(math.sqrt, 0), r"map_process\(\) at .* at least 1 as its concurrency"),
        (lambda: ps.map_process("sqrt", 1), r"map_process\(\) at .* needs a callable"),
        (lambda: ps.map_process(trio.sleep, 1), r"map_process\(\) at .* sleep: use map_async"),
        (lambda: ps.map_thread(trio.sleep, 2), r"map_thread\(\) at .* sleep: use map_async"),
        (ps.worker_pool, "worker_pool"),
        (lambda: ps.worker_pool(7), "worker_pool"),
        (lambda: ps.worker_pool(7, dynamic=True), "worker_pool"),
        (lambda: ps.worker_pool(dynamic=True).add(ONE), "needs transformers as its workers"),
        (lambda: ps.worker_pool(ps.take(1), concurrency=0), "worker_pool"),
        (lambda: ps.loop(ONE), "needs a transformer as its body"),
        (lambda: ps.loop(ps.map(str), capacity=0), "capacity"),
        (lambda: ps.duplex.Duplex(ps.drain(), ps.integers()), "Duplex"),
        (lambda: ps.duplex.connect(ps.integers(), ps.drain()), "duplexes"),
        (lambda: ps.duplex.handshake(ps.integers(), later), r"handshake\(\)"),
        (lambda: ps.duplex.handshake(ps.duplex.Duplex(ps.integers(), ps.drain()), 7), r"handshake\(\)"),
    ],
    ids=lambda told: told if isinstance(told, str) else "",
)
def test_an_argument_that_means_nothing_is_refused(make, told):
    """The message says where the module is composed, and what it needs."""
    with pytest.raises(ps.CompositionError, match=told) as caught:
        make()
    assert __file__ in str(caught.value)
