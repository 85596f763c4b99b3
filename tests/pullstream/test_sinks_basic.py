"""concat_values, find, first, last, on_end, to_channel: their results, how much they ask for, how they end."""

import math
from decimal import Decimal

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import PassesOn, Unseen, broken


@pytest.mark.parametrize(
    ("sink", "words", "result"),
    [
        (ps.concat_values(), ["a", "bc", "", "d"], "abcd"),
        (ps.concat_values(str), [], ""),
        (ps.concat_values(bytes), [b"a", bytearray(b"b"), memoryview(b"c")], b"abc"),
        (ps.concat_values(bytes), [], b""),
        (ps.concat_values(list[int]), [], []),
        (ps.concat_values(list), [[1], (2, 3), range(4, 5)], [1, 2, 3, 4]),
        (ps.find(lambda n: n > 2), range(9), 3),
        (ps.find(lambda n: n > 2, limit=5), range(9), 3),
        (ps.find(lambda n: n > 20), range(9), None),
        (ps.find(lambda n: n > 20, -1), range(9), -1),
        (ps.find(lambda n: n is None, 1), [0, None], None),
        (ps.first(), [0, 1], 0),
        (ps.first(), [], None),
        (ps.first("none"), [], "none"),
        (ps.collect(timed=False), [0, 1, 2], [0, 1, 2]),
        (ps.reduce(int.__add__, 0), [1, 2, 3], 6),
        (ps.reduce(lambda n, m: n + 10 // m, 0, on_error="skip"), [1, 0, 5], 12),
        (ps.last(), [0, 1, 2], 2),
        (ps.last(5), [], 5),
        (ps.tee(ps.tee(ps.collect(), ps.reduce(max, 0)), ps.drain()), [1, 3, 2], (([1, 3, 2], 3), None)),
    ],
)
def test_results(sink, words, result, limit):
    for source in (ps.values(words), ps.pipe(ps.values(words), ps.stamp_epochs(1))):
        pipeline = ps.pipe(source, sink)
        assert ps.run(pipeline, limit=limit) == result
        assert ps.run(pipeline, limit=limit) == result


@pytest.mark.parametrize(("kind", "value"), [(str, 1), (bytes, "a"), (list, 3)])
def test_concat_values_names_a_value_that_it_cannot_join(kind, value):
    with pytest.raises(TypeError, match=rf"concat_values\({kind.__name__}\) joins .*, but got {value!r}: map each"):
        ps.run(ps.pipe(ps.values([kind(), value, kind()]), ps.concat_values(kind)), check=True)


FRUIT = ["melon", "fig", "plum", "kiwi"]


@pytest.mark.parametrize(
    ("fold", "of_all", "of_none"),
    [
        (ps.agg.count(), 4, 0),
        (ps.agg.sum(len), 16, 0),
        (ps.agg.top(1, len), ["melon"], []),
        (ps.agg.count_unique(len), 3, 0),
        (ps.agg.min_by(len), "fig", None),
        (ps.agg.max_by(lambda name: -len(name)), "fig", None),
        (ps.agg.min_by(lambda name: name[2]), "fig", None),
        (ps.agg.max(len), 5, None),
        (ps.agg.mean(len), 4, None),
        (ps.agg.quantile(0.5, len), 4, None),
        (ps.agg.quantile(0.25, lambda name: Decimal(len(name))), Decimal("3.75"), None),
        (ps.Fold(list, lambda seen, name: [*seen, name], len), 4, 0),
    ],
)
def test_reduce_takes_a_fold(fold, of_all, of_none, limit):
    pipeline = ps.pipe(ps.values(FRUIT), ps.reduce(fold))
    assert [ps.run(pipeline, limit=limit), ps.run(pipeline, limit=limit)] == [of_all, of_all]
    if of_none is None:
        with pytest.raises(ValueError, match="no values, so"):
            ps.run(ps.pipe(ps.empty(), ps.reduce(fold)))
    else:
        assert ps.run(ps.pipe(ps.empty(), ps.reduce(fold))) == of_none


def test_find_may_ask_for_more(counting, probe):
    ps.run(ps.pipe(counting(probe, 100), ps.find(lambda n: n == 9, limit=4)))
    assert probe.asked[0] == max(probe.asked) == 4


@pytest.mark.parametrize("how", ["end", "failure", "abort", "cancel", "block", "release"])
async def test_on_end(how, counting, probe, autojump_clock):
    """Called once, after the source was released, with the run's exception; Abandoned, if it is ended from outside."""
    called, failure = [], Unseen()

    @ps.transformer
    class Leaky(PassesOn):
        async def release(self):
            if how == "release":
                raise failure

    source = counting(probe, 9, delay=1, timed=True, failure=failure if how == "failure" else None)
    pipeline = ps.pipe(source, Leaky(), ps.on_end(lambda exc: called.append((exc, probe.released))))
    raised = None
    with trio.move_on_after(2.5 if how == "cancel" else 100):
        try:
            async with pipeline.open() as running:
                await trio.sleep(1.5)
                if how in {"abort", "release"}:
                    await running.abort()
                elif how == "block":
                    raise Unseen
        except Unseen as exc:
            raised = exc
    ((reason, released),) = called
    assert released == 1
    if how in {"abort", "cancel", "block"}:
        assert isinstance(reason, ps.errors.Abandoned)
    else:
        assert reason is raised is (None if how == "end" else failure)


def test_on_end_that_raises():
    with pytest.raises(Unseen) as caught:
        ps.run(ps.pipe(ps.fail(KeyError("reason")), ps.on_end(broken)))
    assert isinstance(caught.value.__context__, KeyError)
    with pytest.raises(Unseen):
        ps.run(ps.pipe(ps.empty(), ps.on_end(broken)))


# ---- to_channel: back-pressure, endings, completion


async def test_a_closed_receiver_is_an_abort(counting, probe, autojump_clock):
    send, receive = trio.open_memory_channel(0)
    async with ps.pipe(counting(probe, 9, timed=True), ps.to_channel(send)).open(limit=1) as running:
        assert [await receive.receive(), await receive.receive()] == [0, 1]
        await running.progress.completed(0)
        receive.close()
        assert await running.result() is None
        with pytest.raises(ps.errors.Abandoned):
            await running.progress.completed(3)
    assert probe.reasons == [None]
    assert probe.balanced


@pytest.mark.parametrize("how", ["failure", "abort"])
async def test_the_channel_is_closed_in_every_ending(how, counting, probe, autojump_clock):
    send, receive = trio.open_memory_channel(math.inf)
    source = counting(probe, 3, delay=1, timed=True, failure=KeyError() if how == "failure" else None)
    try:
        async with ps.pipe(source, ps.to_channel(send)).open() as running:
            if how == "abort":
                await trio.sleep(1.5)
                await running.abort()
    except KeyError:
        assert how == "failure"
    assert [value async for value in receive] == ([0, 1, 2] if how == "failure" else [0])


@pytest.mark.parametrize("both", [ps.tee, lambda *sinks: ps.partition(str, dict(zip("ab", sinks, strict=True)))])
def test_two_sinks_of_one_channel_are_refused(both):
    """Before anything runs: the first of them to end would close it for the other."""
    send, _ = trio.open_memory_channel(9)
    with pytest.raises(ps.errors.ReuseError, match=r"to_channel.* and to_channel.* would read from the same object"):
        ps.run(ps.pipe(ps.values("ab"), both(ps.to_channel(send), ps.to_channel(send))))
