"""Polled modules: endings, waits, and authors' mistakes."""

import pytest
import trio

import pullstream as ps
from pullstream.authoring import NOT_YET, WAIT, Kernel, Notified, PolledKernel
from pullstream.conformance.ready import resolved
from pullstream.engine.traits import PROMPT
from pullstream.resuming.resuming import drop_in
from tests.pullstream.common import PassesOn, script
from tests.pullstream.shake.scenes import slow_to_close

SOON = script(0.01, 0, 0.01, 1, 0.01, 2)


class PolledOn(PolledKernel):
    def poll(self, limit):
        return self.upstream.poll(limit)


@ps.transformer
class WaitsByHand(PolledOn):
    async def wait(self):
        await self.upstream.ready()


@ps.transformer
class ReleasesLate(PassesOn):
    """Declares wrongly that it waits for nothing."""

    traits = PROMPT

    async def release(self):
        await trio.sleep(1)


@pytest.mark.parametrize(
    "modules",
    [(ps.take(2), ps.map(str)), (ps.map(str), ps.take(2), ps.map(str)), (ps.take(2), ps.flat_map(str))],
)
async def test_polling_waits_for_slow_releases_upstream(autojump_clock, modules):
    """The outer source is closed before the inner stream's end passes on."""
    inside = resolved("transformer", ps.pipe(*modules))
    assert await ps.arun(ps.pipe(slow_to_close(), inside, ps.collect())) == ["0", "1"]


async def test_a_release_may_wait_despite_its_traits(autojump_clock):
    pipeline = ps.pipe(ps.values(range(5)), ReleasesLate(), ps.take(2), ps.map(str), ps.collect())
    assert await ps.arun(pipeline) == ["0", "1"]


async def test_a_wait_may_be_an_async_function(autojump_clock):
    assert await ps.arun(ps.pipe(SOON, WaitsByHand(), ps.collect())) == [0, 1, 2]


async def test_a_module_that_waited_is_polled_again(autojump_clock):
    """A later wait downstream must not be taken for its own."""

    @ps.transformer
    class EverySecond(PolledKernel):
        """Sometimes answers WAIT although it has not polled its upstream."""

        turn = 0

        def poll(self, limit):
            self.turn += 1
            return WAIT if self.turn % 3 == 0 else self.upstream.poll(limit)

    assert sorted(await ps.arun(ps.pipe(ps.merge(SOON, SOON), EverySecond(), ps.collect()))) == [0, 0, 1, 1, 2, 2]


def test_a_failure_follows_values_that_are_dropped():
    called = []

    def fails_at_two(number):
        called.append(number)
        if number == 2:
            raise OSError
        return number

    @ps.sink
    async def asks(upstream, ctx):
        drop_in(upstream.edge, lambda time: time == 0)
        return await upstream.ask(3)

    with pytest.raises(OSError):
        ps.run(ps.pipe(ps.values([1, 2, 3, 4], time=lambda n: n // 4), ps.map(fails_at_two), asks()))
    assert called == [1, 2]


async def produce(self, limit):
    return ps.DONE


@pytest.mark.parametrize(
    ("base", "method", "message"),
    [
        (PolledKernel, {"poll": lambda self, limit: WAIT}, "no input to wait for: define wait"),
        (PolledKernel, {"stepwise": id}, "has a 'stepwise', which is no longer used: inherit PolledKernel"),
        (PolledOn, {"produce": produce}, r"^Old has a 'produce', but is polled: .* poll\(limit\)"),
        (Kernel, {"poll": lambda self, limit: NOT_YET}, "has no produce.* or inherit PolledKernel"),
        *(
            (Kernel, {name: id}, rf"^Old has a '{name}', which is no longer used: .*batch")
            for name in ("answer_many", "receive_many", "takes_many")
        ),
        # It would fail at the first call, in the middle of a run.
        (
            Notified,
            {"receive": lambda self, time, values: None},
            r"^Old.receive, at .*, takes \(time, values\), but is called with \(batch",
        ),
    ],
)
def test_methods_that_do_not_fit_are_refused(base, method, message):
    with pytest.raises(ps.PullstreamError, match=message):
        ps.run(ps.pipe(ps.source(type("Old", (base,), method))(), ps.collect()))


@pytest.mark.parametrize("how", ["ask", "poll"])
@pytest.mark.parametrize("number", [0, 1.5, "2"])
def test_ask_needs_a_whole_number(how, number):
    class Asks(Kernel):
        async def produce(self, limit):
            answer = getattr(self.upstream, how)(number)
            return answer if how == "poll" else await answer

    with pytest.raises(ValueError, match=f"at least 1, not for {number!r}") as caught:
        ps.run(ps.pipe(ps.values([1]), ps.transformer(Asks)(), ps.collect()))
    assert "raised in Asks," in caught.value.__notes__[0]


@pytest.mark.parametrize("after", [ps.collect, lambda: ps.pipe(ps.count_by_key(), ps.collect())], ids=["asks", "polls"])
def test_a_mistake_in_waiting_is_blamed_on_its_module(after):
    @ps.source
    class Waits(PolledKernel):
        def poll(self, limit):
            return WAIT

    with pytest.raises(ps.errors.ProtocolError, match="Waits.* has no input to wait for: define wait") as caught:
        ps.run(ps.pipe(ps.merge(Waits(), Waits()), after()))
    assert [note.split(",")[0] for note in caught.value.__notes__] == ["raised in Waits"]
