"""`flatten` and `flat_map`: streams inside a stream, one after another or side by side.

The conformance grid tests their endings.
"""

import tracemalloc
from collections import Counter

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, script, until_failure


@pytest.mark.parametrize("concurrency", [1, 2])
def test_depth(concurrency):
    """Exactly `depth` levels are opened; with None, all of them, and a value that is not a stream passes."""
    deep = [[[1], ps.values([[2], [3]])], [[[4]]]]

    def at(depth):
        return ps.run(ps.pipe(ps.values(deep), ps.flatten(depth=depth, concurrency=concurrency), ps.collect()))

    assert sorted(at(2), key=str) == sorted([1, [2], [3], [4]], key=str)
    assert sorted(at(None)) == [1, 2, 3, 4]
    with pytest.raises(TypeError, match="got 1"):
        at(3)
    mixed = [0, "text", [1, [b"bytes"]], None]
    pipeline = ps.pipe(ps.values(mixed), ps.flatten(depth=None, concurrency=concurrency), ps.collect())
    assert sorted(map(str, ps.run(pipeline))) == sorted(["0", "text", "1", "b'bytes'", "None"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_empty_inner_streams_need_neither_stack_nor_memory(concurrency):
    inner = [ps.empty(), []]
    pipeline = ps.pipe(
        ps.values(range(4_000)), ps.map(lambda n: inner[n % 2]), ps.flatten(concurrency=concurrency), ps.collect()
    )
    tracemalloc.start()
    try:
        assert ps.run(pipeline) == []
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("limit", [1, 3])
def test_endless_iterables_are_read_in_turn(limit):
    closed = []

    def endless(name):
        try:
            while True:
                yield name
        finally:
            closed.append(name)

    seen = Counter()

    def going(name):
        seen[name] += 1
        return seen["a"] < 40

    streams = [endless("a"), ps.values("bb"), ["c", "c"], endless("d"), (letter for letter in "ee")]
    ps.run(ps.pipe(ps.values(streams), ps.flatten(concurrency=3), ps.take(going), ps.drain()), limit=limit)
    assert [seen[name] for name in "bce"] == [2, 2, 2]
    assert abs(seen["a"] - seen["d"]) < 20
    assert sorted(closed) == ["a", "d"]


def test_a_failing_iterable_gives_its_earlier_values(limit):
    def failing():
        yield 1
        yield 2
        raise Unseen

    given, failure = until_failure(Unseen, ps.pipe(ps.values([failing()]), ps.flatten(concurrency=2)), limit=limit)
    assert given == [1, 2]
    assert failure.__notes__[0].startswith("raised in flatten")


def test_an_iterable_that_cannot_be_opened_is_not_retried():
    opened = []

    class Once:
        def __iter__(self):
            opened.append(self)
            if len(opened) == 1:
                raise Unseen
            return iter("never")

    given, _ = until_failure(Unseen, ps.pipe(ps.values([ps.values("ab"), Once()]), ps.flatten(concurrency=2)))
    assert (given, len(opened)) == (["a", "b"], 1)


# ---- times


async def test_a_time_is_open_while_streams_wait_for_room(autojump_clock):
    # Short streams first: after them, many are asked for at a time.
    streams = [(0, [n]) for n in range(1000)] + [(1, script(1.0, n)) for n in range(10)] + [(2, [])]
    source = ps.pipe(ps.values(streams, time=lambda pair: pair[0]), ps.map(lambda pair: pair[1]))
    async with ps.pipe(source, ps.flatten(concurrency=2), ps.drain()).open() as running:
        start = trio.current_time()
        await running.progress.completed(1)
        assert trio.current_time() - start == 5
