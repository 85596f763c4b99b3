"""from_callback: threads, room, endings; registered and unregistered once."""

import threading

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, broken


class Producer:
    """Registers, and keeps a record."""

    def __init__(self, first=()):
        self.first = first
        self.registered = 0
        self.unregistered = 0

    def __call__(self, emit):
        self.emit = emit
        self.registered += 1
        for value in self.first:
            emit(value)
        return self.unregister

    def unregister(self):
        self.unregistered += 1


def test_from_threads(limit):
    def register(emit):
        left = [3]
        lock = threading.Lock()

        def work(name):
            for n in range(100):
                emit((name, n))
            with lock:
                left[0] -= 1
                if not left[0]:
                    emit.end()

        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        return lambda: [thread.join() for thread in threads]

    got = ps.run(ps.pipe(ps.from_callback(register), ps.collect()), limit=limit)
    for name in "abc":
        assert [n for given, n in got if given == name] == list(range(100))


def test_times_and_the_end(limit):
    """Each value at its time; a value emitted before the end arrives."""
    producer = Producer([1, 2, 11, 12, 21])

    def register(emit):
        unregister = producer(emit)
        emit.end()
        assert emit(99) is False
        emit.fail(Unseen())
        return unregister

    source = ps.from_callback(register, time=lambda n: n // 10)
    assert ps.run(ps.pipe(source, ps.collect(timed=True)), limit=limit) == [(0, 1), (0, 2), (1, 11), (1, 12), (2, 21)]
    assert (producer.registered, producer.unregistered) == (1, 1)


@pytest.mark.parametrize(
    ("overflow", "got", "dropped"), [("fail", [0, 1], 0), ("drop_oldest", [2, 3], 2), ("drop_newest", [0, 1], 2)]
)
async def test_overflow(overflow, got, dropped, edge, drained):
    """Two fit: the stream fails after them, or the first or last two are dropped and counted; a later one wakes."""
    producer = Producer(range(4))
    async with edge(ps.from_callback(producer, capacity=2, overflow=overflow)) as reader:
        assert (await reader.ask(9)).values == got
        assert producer.emit.dropped == dropped
        if overflow == "fail":
            with pytest.raises(ps.Overflow, match="buffer of 2 values is full"):
                await reader.ask()
            assert producer.emit(4) is False
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.to_thread.run_sync, producer.emit, 4)
                with trio.fail_after(300):
                    assert (await reader.ask(9)).values == [4]
            producer.emit.end()
            assert await drained(reader) == []
    assert producer.unregistered == 1


def test_callables_that_raise():
    def end(emit):
        emit.end()
        return broken

    for register in (broken, end):
        with pytest.raises(Unseen):
            ps.run(ps.pipe(ps.from_callback(register), ps.collect()))
    with pytest.raises(TypeError, match="must return a function that unregisters"):
        ps.run(ps.pipe(ps.from_callback(lambda _: 3), ps.collect()))


def test_emitting_after_the_program():
    producer = Producer([1])
    ps.run(ps.pipe(ps.from_callback(producer), ps.first()))
    assert producer.emit(2) is False
    producer.emit.end()
