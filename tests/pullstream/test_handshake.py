"""handshake: a talk first, and then the streams."""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import answer


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

    async def endless(io):
        try:
            while True:
                await io.read()
        except trio.Cancelled:
            cancelled.append(trio.current_time() - start)
            raise

    side = ps.duplex.handshake(ps.duplex.Duplex(counting(probes[0], 99, delay=1), ps.collect()), endless, timeout=99)
    async with ps.duplex.connect(side, ps.duplex.Duplex(counting(probes[1], 9), ps.collect())).open() as running:
        start = trio.current_time()
        await trio.sleep(3.5)
        await running.abort()
    assert cancelled == [3.5]
    assert all(probe.balanced for probe in probes)
