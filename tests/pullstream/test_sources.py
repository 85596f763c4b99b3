"""Sources of collections, functions, channels and the clock, and `catch_up`: values, times, endings."""

import gc
import warnings

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, after_a_moment, finish, run


class Numbers:
    """An async iterable that can be read again and again."""

    def __init__(self, count):
        self.count = count

    async def __aiter__(self):
        for n in range(self.count):
            await trio.sleep(0.1)
            yield n


class Unclosable:
    """An async iterator that cannot be closed."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        await trio.lowlevel.checkpoint()
        return 1

    async def aclose(self):
        raise Unseen


@pytest.mark.parametrize("count", [0, 2])
async def test_an_async_iterator_that_cannot_be_closed_fails_the_run(count):
    with pytest.raises(Unseen):
        await ps.arun(ps.pipe(ps.from_async_iterable(Unclosable()), ps.take(count), ps.collect()))


async def test_an_awaitable_s_function_is_called_by_every_run(autojump_clock):
    calls = []

    async def answer():
        calls.append(trio.current_time())
        await trio.sleep(1)
        return 42

    pipeline = ps.pipe(ps.from_awaitable(answer, time=str), ps.collect(timed=True))
    for _ in range(2):
        assert await ps.arun(pipeline) == [("42", 42)]
    assert len(calls) == 2


async def test_an_awaitable_is_cancelled(edge, autojump_clock):
    cancelled = []

    async def slow():
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            cancelled.append(True)
            raise

    async with edge(ps.from_awaitable(slow)) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(1)
        await reader.abort()
    assert cancelled == [True]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with edge(ps.from_awaitable(slow())) as reader:
            await reader.abort()
        gc.collect()


async def test_from_channel(limit, autojump_clock):
    send, receive = trio.open_memory_channel(100)
    for n in range(10):
        send.send_nowait(n)
    pipeline = ps.pipe(ps.from_channel(receive, time=lambda n: n // 4), ps.collect(timed=True))
    async with pipeline.open(limit=limit) as running:
        await trio.sleep(1)
        await send.send(10)
        send.close()
        assert await running.result() == [(n // 4, n) for n in range(11)]


async def test_a_channel_is_read_only_as_asked(edge, autojump_clock):
    send, receive = trio.open_memory_channel(5)
    for n in range(5):
        send.send_nowait(n)
    async with edge(ps.from_channel(receive)) as reader:
        assert (await reader.ask(2)).values == [0, 1]
        assert send.statistics().current_buffer_used == 3
        assert (await reader.ask(9)).values == [2, 3, 4]
        with trio.move_on_after(1):
            await reader.ask()
        with pytest.raises(trio.BrokenResourceError):
            await send.send(1)


@pytest.mark.parametrize("how", ["abort", "never asked", "end"])
async def test_a_channel_is_closed(how, edge, autojump_clock):
    send, receive = trio.open_memory_channel(5)
    async with edge(ps.from_channel(receive)) as reader:
        send.send_nowait(1)
        if how == "end":
            send.close()
        await finish(reader, how)
    with pytest.raises(trio.ClosedResourceError):
        receive.receive_nowait()


async def test_interval(edge, autojump_clock):
    """At multiples, without drift; a slow consumer gets no burst, but the next number."""
    async with edge(ps.interval(2, time=lambda n: n)) as reader:
        start = trio.current_time()
        ticks = []

        async def tick():
            batch = await reader.ask(7)
            ticks.append((round(trio.current_time() - start, 6), batch.time, *batch.values))

        await tick()
        await trio.sleep(1.5)
        await tick()
        await trio.sleep(5)
        await tick()
        await trio.sleep(2)
        await tick()
        assert ticks == [(2, 0, 0), (4, 1, 1), (10, 2, 2), (12, 3, 3)]


# ---- collections


def collatz(n):
    if n == 1:
        return None
    return n, n // 2 if n % 2 == 0 else 3 * n + 1


@pytest.mark.parametrize(
    ("source", "timed"),
    [
        (ps.once(7, time=str), [("7", 7)]),
        (ps.pipe(ps.integers(8, 4, time=lambda n: n // 10), ps.take(3)), [(0, 8), (1, 12), (1, 16)]),
        (ps.repeat(None, 3), [(0, None)] * 3),
        (ps.repeat(1, 0), []),
        (ps.pipe(ps.repeat(1), ps.take(9)), [(0, 1)] * 9),
        (ps.unfold(6, collatz), [(0, n) for n in (6, 3, 10, 5, 16, 8, 4, 2)]),
        (ps.unfold(0, lambda n: (n, n + 1) if n < 5 else None, time=lambda n: n // 2), [(n // 2, n) for n in range(5)]),
        (ps.from_async_iterable(Numbers(4), time=lambda n: n // 2), [(0, 0), (0, 1), (1, 2), (1, 3)]),
        *(
            (
                ps.catch_up(range(7), ps.values(range(7, 20), time=lambda n: n // 3), capacity=capacity, sync=sync),
                [*((0, n) for n in range(7)), *[(0, "-")] * (2 if sync else 0), *((n // 3, n) for n in range(7, 20))],
            )
            for capacity in (1, 2, 100)
            for sync in (None, ps.Batch(0, ["-", "-"]))
        ),
    ],
)
def test_values(source, timed, limit):
    pipeline = ps.pipe(source, ps.collect(timed=True))
    assert run(pipeline, limit) == run(pipeline) == timed


@pytest.mark.parametrize("count", [2, 3, 9])
def test_a_collections_generator_is_closed(count):
    happened = []

    class Rows:
        def __iter__(self):
            happened.append("opened")
            try:
                yield from range(3)
            finally:
                happened.append("closed")

    def last(exc):
        happened.append("ended")

    ps.run(ps.pipe(ps.values(Rows()), ps.take(count), ps.on_end(last)), limit=1)
    assert happened == ["opened", "closed", "ended"]


def test_an_unread_iterator_is_closed(tmp_path):
    (tmp_path / "lines").write_text("a\nb\n")
    for count in range(4):
        file = (tmp_path / "lines").open()
        assert ps.run(ps.pipe(ps.values(file), ps.take(count), ps.reduce(lambda n, _: n + 1, 0))) == min(count, 2)
        assert file.closed


# ---- catch_up: no gap, nothing lost, bounded


NEW = {
    "alone": lambda new: new,
    "merged": lambda new: ps.merge(ps.empty(), ps.merge(new, ps.empty())),
    "through calls": lambda new: ps.pipe(new, *[ps.map_async(after_a_moment, 2)] * 3),
    "inside": lambda new: ps.pipe(ps.once(None), ps.flat_map(lambda _: ps.pipe(new, ps.prefetch(1), ps.prefetch(1)))),
}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", NEW)
def test_there_is_no_gap(name, seed):
    """New values are subscribed to before any old one is read, whatever order tasks run in."""
    events, snapshot = ["a", "b"], []
    listeners = []

    def register(emit):
        listeners.append(emit)
        if snapshot:
            emit.end()

    def read():
        # Events right after the snapshot reach only those who are already listening.
        snapshot.extend(events)
        for emit in listeners:
            emit("c")
            emit.end()
        yield from snapshot

    trio._core._run._r.seed(seed)
    old = ps.flat_map(lambda _: read())
    source = ps.catch_up(ps.pipe(ps.once(None), old), NEW[name](ps.from_callback(register)))
    assert ps.run(ps.pipe(source, ps.collect())) == ["a", "b", "c"]


@pytest.mark.parametrize("which", ["old", "new"])
async def test_failures_follow_earlier_values(which, counting, new_probe, autojump_clock):
    old, new = new_probe(), new_probe()
    failure = Unseen()
    source = ps.catch_up(
        counting(old, 3, delay=1, timed=True, failure=failure if which == "old" else None),
        counting(new, 2 if which == "new" else 5000, failure=failure if which == "new" else None),
    )
    got = []
    with pytest.raises(Unseen) as caught:
        async with ps.pipe(source, ps.drain(got.append)).open():
            pass
    assert caught.value is failure
    assert got == ([0, 1, 2] if which == "old" else [0, 1, 2, 0, 1])
    assert old.balanced
    assert new.balanced
    assert old.acquired == new.acquired == 1
    assert (old if which == "new" else new).ended == (which == "new")
    assert new.reasons == [failure]
