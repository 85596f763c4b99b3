"""Duplexes: pairs within a run and between two, connections of both directions, and handshakes before them."""

import gc
from contextlib import asynccontextmanager
from weakref import ref

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, after, answer, completions, endless, script


@asynccontextmanager
async def paired(source, sink, runs, **options):
    """The run of a sink that reads a source through a pair, which the same run writes to or another."""
    reading, writing = ps.duplex.pair()
    if runs == 1:
        both = ps.duplex.connect(ps.duplex.Duplex(source, sink), ps.duplex.Duplex(reading, writing))
        async with both.open(**options) as running:
            yield running
    else:
        async with ps.pipe(source, writing).open(**options) as writer, ps.pipe(reading, sink).open(**options) as reader:
            yield reader
            await writer.wait()


async def through_a_pair(source, sink, *, runs, **options):
    async with paired(source, sink, runs, **options) as running:
        result = await running.result()
    return result[1] if runs == 1 else result


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize("runs", [1, 2])
async def test_values_pass_through(runs, limit, counting, probe, autojump_clock):
    """Every value passes, at its time; the writer is asked only for as many as the reader asked for."""
    values = await through_a_pair(counting(probe, 5, timed=True), ps.collect(timed=True), runs=runs, limit=limit)
    assert values == [(n, n) for n in range(5)]
    assert probe.balanced
    probe.asked.clear()
    assert await through_a_pair(counting(probe, 5), ps.pipe(ps.take(2), ps.collect()), runs=runs, limit=1) == [0, 1]
    assert sum(probe.asked) <= 2


@pytest.mark.parametrize("runs", [1, 2])
async def test_failures_pass_through(runs, counting, new_probe, autojump_clock):
    """The source raises the writer's failure unchanged, after earlier values; a reader's error goes upstream."""
    boom, given, probe = Unseen(), [], new_probe()
    with pytest.raises((Unseen, BaseExceptionGroup)) as caught:
        await through_a_pair(counting(probe, 3, failure=boom), ps.drain(given.append), runs=runs)
    assert caught.value is boom or caught.value.exceptions == (boom, boom)
    assert [note.partition(",")[0] for note in boom.__notes__] == ["raised in Counting"]
    assert given == [0, 1, 2]
    assert probe.balanced

    def raising(_):
        raise boom

    probe = new_probe()
    with pytest.raises((Unseen, BaseExceptionGroup)):
        await through_a_pair(counting(probe, 99), ps.drain(raising), runs=runs)
    assert probe.balanced
    assert probe.reasons == [boom]


async def test_an_aborted_writer_has_not_ended(counting, probe, autojump_clock):
    reading, writing = ps.duplex.pair()
    with pytest.raises(ps.errors.Abandoned, match="writing end of the pair"):
        async with (
            ps.pipe(counting(probe, 9, delay=1, timed=True), writing).open() as writer,
            ps.pipe(reading, ps.collect()).open() as reader,
        ):
            await trio.sleep(3.5)
            await writer.abort()
            assert reader.progress.frontier().less_equal(2)
            await reader.result()
    assert probe.balanced


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("way", ["abort", "error"])
async def test_the_reader_terminates(  # noqa: PLR0917 - fixtures
    way, position, counting, probe, edge, autojump_clock
):
    """A termination is confirmed when modules upstream of the writing end have its reason and are released."""
    reading, writing = ps.duplex.pair()
    reason = Unseen()
    outcome = []
    async with trio.open_nursery() as nursery:

        async def write():
            outcome.append(await answer(ps.arun, ps.pipe(counting(probe, 9, delay=1), writing)))

        nursery.start_soon(write)
        await trio.sleep(1)
        async with edge(reading) as reader:
            for n in range(position):
                assert (await reader.ask(1)).values == [n]
            await (reader.abort() if way == "abort" else reader.error(reason))
            assert probe.balanced
    assert outcome == [None if way == "abort" else reason]
    if position:
        assert probe.reasons == [None if way == "abort" else reason]


@pytest.mark.parametrize("runs", [1, 2])
async def test_completions_pass_through(runs, autojump_clock):
    """A time is complete after the pair when it is before it, also if the source advances without a value."""

    telling = script(ps.Batch(1, ["a"]), 1.0, ps.Completed(5), 3.0, ps.Batch(5, ["b"]))
    async with paired(telling, ps.collect().named("got"), runs) as running:
        assert await completions(running, (0, 1, 4, 5), at="got") == {0: 0, 1: 1, 4: 1, 5: 4}


@pytest.mark.parametrize("cycle", [False, True])
async def test_finish_completes_what_is_in_flight_above_a_pair_but_cuts_a_cycle(cycle, autojump_clock):
    got = []
    reading, writing = ps.duplex.pair()
    if cycle:
        pipeline = ps.pipe(
            ps.merge(ps.interval(1), reading),
            ps.map_async(after(4), 9),
            ps.tee(writing, ps.drain(got.append), capacity=9),
        )
    else:
        writer = ps.duplex.Duplex(ps.pipe(ps.interval(1), ps.map_async(after(4), 9)), ps.drain(got.append))
        pipeline = ps.duplex.connect(writer, ps.duplex.Duplex(reading, writing))
    async with pipeline.open() as running:
        await trio.sleep(5.5)
        assert got == [0]
        with trio.fail_after(9):
            await running.finish()
    assert set(got) == set(range(5))


async def test_the_ends_of_a_pair_are_in_one_program():
    source, sink = ps.duplex.pair()
    async with ps.pipe(ps.values("ab"), sink).open() as running:
        with pytest.raises(ps.PullstreamError, match=r"pair, made at .* two trio programs"):
            await trio.to_thread.run_sync(ps.run, ps.pipe(source, ps.collect()))
        await running.abort()


def test_the_ends_of_a_pair_may_be_used_one_after_the_other():
    source, sink = ps.duplex.pair()
    assert ps.run(ps.pipe(source, ps.take(0), ps.collect())) == []
    assert ps.run(ps.pipe(ps.values("ab"), sink)) is None


def test_a_pair_is_used_once():
    reading, writing = ps.duplex.pair()

    def run():
        def same(value):
            return value

        here = ps.duplex.Duplex(ps.values("ab"), ps.pipe(ps.map(same), ps.collect()))
        assert ps.run(ps.duplex.connect(here, ps.duplex.Duplex(reading, writing))) == (None, ["a", "b"])
        return ref(same)

    same = run()
    gc.collect()
    assert same() is None, "the pair keeps its run"
    with pytest.raises(ps.errors.ReuseError, match="sink of pair"):
        ps.run(ps.pipe(ps.values("ab"), writing))
    with pytest.raises(ps.errors.ReuseError, match="source of pair"):
        ps.run(ps.pipe(reading, ps.collect()))


def test_a_refused_run_gives_back_what_it_has_taken():
    """The pushable that it was refused for belongs to an earlier run."""
    used, fresh, (reading, writing) = ps.pushable(1), ps.pushable(1), ps.duplex.pair()
    used.end()
    fresh.push_nowait("a")
    fresh.end()
    ps.run(ps.pipe(used, ps.drain()))
    side, _ = ps.duplex.duplex_pair()
    talk = ps.duplex.handshake(side, len)
    ends = ps.duplex.Duplex(ps.concat(fresh, used), writing), ps.duplex.Duplex(reading, ps.collect())
    for here, there in ((talk, ps.duplex.Duplex(ps.concat(fresh, used), ps.drain())), ends) * 2:
        with pytest.raises(ps.errors.ReuseError, match="pushable"):
            ps.run(ps.duplex.connect(here, there))
    here = ps.duplex.Duplex(fresh, ps.collect())
    assert ps.run(ps.duplex.connect(here, ps.duplex.Duplex(reading, writing))) == (None, ["a"])


@pytest.mark.parametrize("side", [0, 1])
async def test_a_direction_that_fails_ends_the_other(side, counting, new_probe, autojump_clock):
    fails, other, boom = new_probe(), new_probe(), Unseen()
    sides = [
        ps.duplex.Duplex(counting(fails, 2, delay=1, failure=boom), ps.collect()),
        ps.duplex.Duplex(counting(other, 99, delay=1), ps.collect()),
    ]
    with pytest.raises(Unseen) as caught:
        await ps.arun(ps.duplex.connect(sides[side], sides[1 - side]))
    assert caught.value is boom
    assert fails.balanced
    assert other.balanced
    assert other.reasons == [boom]


async def test_a_release_that_fails_does_not_hide_the_failure(counting, new_probe, autojump_clock):
    boom, stuck = Unseen(), OSError("not released")
    fails = ps.duplex.Duplex(counting(new_probe(), 2, delay=1, failure=boom), ps.collect())
    with pytest.raises(BaseExceptionGroup, match="both directions failed") as caught:
        await ps.arun(ps.duplex.connect(fails, ps.duplex.Duplex(endless([], stuck), ps.collect())))
    assert caught.value.exceptions == (boom, stuck)


# ---- handshake: a talk first, and then the streams


async def nothing(io):
    """Write nothing, and read nothing."""


async def conversation(ask, tell, said=(), answered=(), **options):
    """Both sides' results: the values that the other sent after the talk."""
    client, server = ps.duplex.duplex_pair()
    client, server = ps.duplex.handshake(client, ask, **options), ps.duplex.handshake(server, tell, **options)
    here = ps.duplex.connect(client, ps.duplex.Duplex(ps.values(said), ps.collect()))
    there = ps.duplex.connect(server, ps.duplex.Duplex(ps.values(answered), ps.collect()))
    async with here.open() as one, there.open() as other:
        return (await one.result())[0], (await other.result())[0]


async def test_an_empty_talk():
    assert await conversation(nothing, nothing, "ab", "xyz") == (list("xyz"), list("ab"))


async def test_values_bytes_and_lines(autojump_clock):
    """A talk reads exactly what it asks for, and the stream begins with the rest."""
    heard = []

    async def ask(io):
        await io.write("hello")
        for chunk in (b"ab", b"cd\nli", b"ne 2\nrest", b"last"):
            await trio.sleep(0.5)
            await io.write(chunk)

    async def tell(io):
        heard.append(await io.read())
        heard.append(await io.read_bytes(3))
        heard.append(await io.read_line())
        heard.append(await io.read_line())

    assert await conversation(ask, tell, [b"more"]) == ([], [b"rest", b"last", b"more"])
    assert heard == ["hello", b"abc", b"d", b"line 2"]


async def test_a_talk_that_takes_too_long(autojump_clock):
    start = trio.current_time()

    async def silent(io):
        await io.read()

    with pytest.raises(ps.AskTimeout, match="within 2 s"):
        client, _ = ps.duplex.duplex_pair()
        side = ps.duplex.handshake(client, silent, timeout=2)
        await ps.arun(ps.duplex.connect(side, ps.duplex.Duplex(ps.empty(), ps.collect())))
    assert trio.current_time() - start == 2


async def test_a_side_that_ends_in_the_talk(autojump_clock):
    errors = []

    async def reading(io):
        errors.append(await answer(io.read))

    side = ps.duplex.handshake(ps.duplex.Duplex(ps.empty(), ps.collect()), reading)
    assert await ps.arun(ps.duplex.connect(side, ps.duplex.Duplex(ps.values("ab"), ps.collect()))) == ([], ["a", "b"])
    assert [type(exc) for exc in errors] == [ps.errors.Ended]


@pytest.mark.parametrize("chunks", [[b"xxxx"] * 9, [b"x" * 11 + b"\n"], [b"x" * 11, b"\n"]])
async def test_a_line_that_is_too_long(chunks, autojump_clock):
    async def talk(given):
        heard = []

        async def hear(io):
            heard.append(await io.read_line(most=10))

        side = ps.duplex.handshake(ps.duplex.Duplex(ps.values(given), ps.collect()), hear)
        await ps.arun(ps.duplex.connect(side, ps.duplex.Duplex(ps.empty(), ps.collect())))
        return heard

    assert await talk([b"x" * 10 + b"\nrest"]) == [b"x" * 10]
    with pytest.raises(ps.errors.Ended, match="got no line end within 10 bytes"):
        await talk(chunks)


async def test_an_abort_in_the_talk(counting, new_probe, autojump_clock):
    """It is confirmed at once, the talk is cancelled, and both sources are released."""
    probes = [new_probe(), new_probe()]
    cancelled = []

    async def listens(io):
        try:
            while True:
                await io.read()
        except trio.Cancelled:
            cancelled.append(trio.current_time() - start)
            raise

    side = ps.duplex.handshake(ps.duplex.Duplex(counting(probes[0], 99, delay=1), ps.collect()), listens, timeout=99)
    async with ps.duplex.connect(side, ps.duplex.Duplex(counting(probes[1], 9), ps.collect())).open() as running:
        start = trio.current_time()
        await trio.sleep(3.5)
        await running.abort()
    assert cancelled == [3.5]
    assert all(probe.balanced for probe in probes)
