"""run() and open(): results, exceptions as themselves, leaving early, running twice, Ctrl-C."""

import signal
import subprocess

import pytest
import trio

import pullstream as ps
from pullstream.engine.sidecar.sidecar import Sidecar
from tests.programs import started
from tests.pullstream.common import Unseen, broken


@ps.source
async def endless(ctx, released):
    try:
        yield ps.Batch(0, [1])
        await trio.sleep_forever()
    finally:
        released.append(True)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
async def test_an_abort_that_is_not_awaited_stops_the_run(autojump_clock):
    released = []
    async with ps.pipe(endless(released), ps.drain()).open() as running:
        await trio.sleep(1)
        running.abort()
        with pytest.raises(ps.errors.Abandoned):
            await running.result()
    assert released == [True]


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
"""A handler that makes a Ctrl-C of a SIGTERM, as the README has it."""


@pytest.mark.parametrize(
    ("sent", "twice"),
    [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False)],
    ids=["once", "twice", "SIGTERM"],
)
def test_ctrl_c(sent, twice, tmp_path):
    """An abort in order, then KeyboardInterrupt; a second one during the release leaves no half file either."""
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


async def test_trouble_at_the_very_end_is_told(monkeypatch):
    def broken(sidecar, failure, *, abandoned):
        raise ZeroDivisionError("in the sidecar")

    monkeypatch.setattr(Sidecar, "end", broken)
    with trio.fail_after(300), pytest.raises(ZeroDivisionError, match="in the sidecar"):
        async with ps.pipe(ps.values("ab"), ps.collect()).open() as running:
            await running.result()
