"""How runs end: by themselves, from outside, by Ctrl-C, or by one of the run's own tasks."""

import signal
import subprocess

import pytest
import trio

import pullstream as ps
from pullstream.engine.sidecar.sidecar import Sidecar
from tests.programs import started
from tests.pullstream.common import Unseen, after, broken, endless, script


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
async def test_an_abort_that_is_not_awaited_stops_the_run(autojump_clock):
    released = []
    async with ps.pipe(endless(released), ps.drain()).open() as running:
        await trio.sleep(1)
        running.abort()
        with pytest.raises(ps.errors.Abandoned):
            await running.result()
    assert released == ["begun", "released"]


async def test_a_failure_that_ends_the_block_is_shown_alone(autojump_clock):
    with pytest.raises(Unseen) as caught:
        async with ps.pipe(ps.once(1), ps.map(broken), ps.drain()).open():
            await trio.sleep_forever()
    assert caught.value.__context__ is None


PROGRAM = """
import sys, trio
from pathlib import Path
import pullstream as ps
from adapters import files

@ps.source
async def source(ctx):
    try:
        yield ps.Batch(1, [1])
        yield ps.Batch(2, [2])
        ctx.advance(3)
        while not Path(sys.argv[1], "2.jsonl").exists():
            await trio.sleep(0.01)
        print("waiting", flush=True)
        await trio.sleep_forever()
    finally:
        print("releasing", flush=True)
        with trio.CancelScope(shield=True):
            await trio.sleep(0.1)
        print("released", flush=True)

try:
    ps.run(ps.pipe(source(), files.write_jsonl(sys.argv[1] + "/{time}.jsonl")), release_timeout=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


SIGTERM_TOO = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))\n"
"""A handler that turns a SIGTERM into a Ctrl-C, as in the README."""


@pytest.mark.parametrize(
    ("sent", "twice"),
    [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False)],
    ids=["once", "twice", "SIGTERM"],
)
def test_ctrl_c(sent, twice, tmp_path):
    """An abort in order, then KeyboardInterrupt; a second one during the release leaves no partial file either."""
    with started("-c", SIGTERM_TOO + PROGRAM, tmp_path, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(sent)
        assert process.stdout.readline() == "releasing\n"
        if twice:
            process.send_signal(sent)
        out, err = process.communicate(timeout=300)
    assert out.splitlines()[-1] == "interrupted", err
    assert "released" in out or twice
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == ["1.jsonl", "2.jsonl"]


async def test_an_error_at_the_end_is_raised(monkeypatch):
    def broken(sidecar, failure, *, abandoned):
        raise ZeroDivisionError("in the sidecar")

    monkeypatch.setattr(Sidecar, "end", broken)
    with trio.fail_after(300), pytest.raises(ZeroDivisionError, match="in the sidecar"):
        async with ps.pipe(ps.values("ab"), ps.collect()).open() as running:
            await running.result()


# ---- from outside


@ps.sink
async def writer(upstream, ctx, written):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, _):
                ctx.notify_at(time)
                await trio.sleep(0.05)
            case ps.Completed(time):
                written.append(time)


@pytest.mark.parametrize("deadline", [0.02, 0.1, 0.3, 0.55])
async def test_a_cancellation_from_outside_completes_nothing(deadline, autojump_clock):
    written = []
    slowly = script(*(part for n in range(20) for part in (0.05, ps.Batch(n // 4, [n]))))
    running = ps.pipe(slowly, writer(written)).open()

    with trio.move_on_after(deadline) as scope:
        async with running:
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(0.2)

    assert scope.cancelled_caught
    complete = int((deadline + 0.2) / 0.2) - 1
    assert written == list(range(max(0, len(written))))
    assert len(written) <= complete + 1
    with pytest.raises(ps.errors.Abandoned):
        await running.progress.completed(len(written) + 1)


async def test_a_shielded_block_may_wait_for_the_result(autojump_clock):
    """The run's own tasks continue as long as the block does, so a shielded wait in it ends."""

    with trio.move_on_after(0.15):
        async with ps.pipe(ps.values(range(5)), ps.map_async(after(0.1), 1), ps.collect()).open() as running:
            with trio.fail_after(100) as scope:
                scope.shield = True
                assert await running.result() == [0, 1, 2, 3, 4]


def test_a_source_is_not_notified():
    @ps.source
    async def asks(ctx):
        ctx.notify_at(0)
        yield 1

    with pytest.raises(ps.errors.CapabilityError, match="is a source"):
        ps.run(ps.pipe(asks(), ps.collect()))


# ---- by the run's own tasks


class Planted(ps.authoring.Kernel[int]):
    """Answers numbers, and makes one of the run's own tasks fail: at once, or when it is cancelled."""

    def __init__(self, fail):
        self._fail = fail

    async def acquire(self):
        self.run.spawn(self._fail)

    async def produce(self, limit):
        await trio.sleep(0.001)
        return ps.Batch(0, [1])


def planted(*fails):
    return ps.merge(*(ps.Source((ps.blueprint.Module("planted", Planted, (fail,)),)) for fail in fails))


async def fails():
    await trio.sleep(0.01)
    raise Unseen("of the toolkit's own")


async def fails_at_the_end():
    try:
        await trio.sleep_forever()
    finally:
        raise Unseen("at the end")


def test_a_task_s_exception_fails_the_run(counting, probe):
    with pytest.raises(Unseen, match="of the toolkit's own") as caught:
        ps.run(ps.pipe(ps.merge(planted(fails), counting(probe, 1_000_000, timed=True)), ps.drain()))
    assert caught.value.__notes__ == ["raised in one of the run's own tasks, alongside the stream"]
    assert probe.balanced


@pytest.mark.parametrize(("first", "rest"), [([fails], [ps.drain()]), ([], [ps.take(3), ps.collect()])])
def test_a_failure_at_the_end_is_not_lost(first, rest):
    """Also after another failure."""
    with pytest.raises(Unseen) as caught:
        ps.run(ps.pipe(planted(*first, fails_at_the_end), *rest))
    assert any("at the end" in text for text in [str(caught.value), *caught.value.__notes__])


async def test_a_block_is_notified():
    with trio.fail_after(5), pytest.raises(Unseen):
        async with ps.pipe(planted(fails), ps.drain()).open():
            await trio.sleep_forever()


async def test_a_group_from_a_clean_up_is_raised():
    """Even if the group is raised from None: the cancellation caused it."""
    begun = trio.Event()

    async def untidy(_):
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            raise ExceptionGroup("of its clean-up", [Unseen("one"), Unseen("two")]) from None

    with pytest.raises(ExceptionGroup, match="of its clean-up"):
        async with ps.pipe(ps.once(1), ps.map_async(untidy, concurrency=1), ps.drain()).open() as running:
            await begun.wait()
            await running.abort()
