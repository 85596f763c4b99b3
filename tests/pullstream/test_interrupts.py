"""Ctrl-C at one place of a run after another: kept or raised, never lost; everything released, and one exception.

`strikes.py` makes the strikes, in its own process, which is ended if it hangs.
"""

import random
import signal
import subprocess
import sys
import traceback
from collections import deque
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.engine.runtime.interrupts import Interrupts, Spared
from tests.sampling import amount

STRIKES = Path(__file__).with_name("strikes.py")
SCENES = ["plain", "tasks", "threads", "journal", "failing", "in_asyncio", "loop", "loop_left", "opened", "read"]


def strike(*options):
    """Run `strikes.py`, which must succeed, and return its output."""
    command = [sys.executable, str(STRIKES), *map(str, options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_at_some_lines():
    """At a sample of the lines that runs execute, in the toolkit and below it; in a full run at each of them."""
    assert strike("--every", amount(3000, 1)).count(" 0 not in order") == len(SCENES)


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["plain", "loop"])
def test_at_every_instruction(scene):
    """The same, finer than the interpreter itself looks for signals."""
    assert " 0 not in order" in strike(scene, "--opcodes")


@contextmanager
def handling(handler, number=signal.SIGINT):
    """A handler of the program's own."""
    before = signal.signal(number, handler)
    try:
        yield
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


def strike_at(number, struck_by=signal.SIGINT):
    """A function that raises a signal at one of its calls."""

    def struck(n):
        if n == number:
            signal.raise_signal(struck_by)
        return n

    return struck


def test_exceptions_of_custom_handlers(counting, probe):
    class Reload(Exception):
        pass

    def reload(signum, frame):
        raise Reload

    with handling(reload):
        with pytest.raises(Reload) as caught:
            ps.run(ps.pipe(counting(probe, 9), ps.map(strike_at(3)), ps.collect()), limit=1)
        with pytest.raises(Reload) as beside, Interrupts():
            strike_at(3)(3)
            raise ZeroDivisionError
    assert probe.balanced
    assert caught.value.__cause__ is None
    assert isinstance(beside.value.__cause__, ZeroDivisionError)


def test_a_sigterm_whose_handler_exits(counting, probe):
    """As services are stopped: the run is aborted in order, and the exit continues."""
    parts = [ps.map(strike_at(3, signal.SIGTERM)), ps.collect()]
    with handling(lambda *_: sys.exit(3), signal.SIGTERM), pytest.raises(SystemExit) as caught:
        ps.run(ps.pipe(counting(probe, 9), *parts), limit=1)
    assert caught.value.code == 3
    assert probe.balanced


@pytest.mark.parametrize("handler", [lambda signum, frame: None, signal.SIG_IGN])
def test_a_handler_that_raises_nothing_ends_nothing(handler):
    with handling(handler):
        assert ps.run(ps.pipe(ps.values(range(5)), ps.map(strike_at(3)), ps.collect()), limit=1) == [0, 1, 2, 3, 4]
        assert list(ps.iterate(ps.pipe(ps.values(range(5)), ps.map(str)))) == ["0", "1", "2", "3", "4"]


def test_an_interrupt_at_the_very_end():
    """The run has ended, but its result is not returned: the program must get the signal."""
    with handling(signal.default_int_handler), pytest.raises(KeyboardInterrupt):
        ps.run(ps.pipe(ps.values(range(4)), ps.map(strike_at(3)), ps.collect()))


def test_the_note_names_the_line(monkeypatch):
    """In a note: its traceback has only the line that runs the pipeline, as it is raised after all releases."""

    def struck(value):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(KeyboardInterrupt) as caught:
        ps.run(ps.pipe(ps.values([1]), ps.map(struck), ps.drain()))
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)] == [__file__]
    (note,) = caught.value.__notes__
    assert note.startswith(f"interrupted at {__file__}:")
    assert note.endswith(", in struck")


def test_the_note_names_the_run_if_no_user_function_is_active():
    """The line that runs the pipeline: the loop of the modules is the toolkit's, though it has no module's name."""
    with handling(signal.default_int_handler), pytest.raises(KeyboardInterrupt) as caught:
        ps.run(ps.pipe(ps.values([signal.SIGINT]), ps.map(signal.raise_signal), ps.map(str), ps.drain()))
    (note,) = caught.value.__notes__
    assert note.startswith(f"interrupted at {__file__}:")
    assert note.endswith(f", in {test_the_note_names_the_run_if_no_user_function_is_active.__name__}")


def test_a_second_interrupt_ends_blocking_code():
    """It is raised in the user's function, or in its callees; a third one where no Python code runs at all."""
    rounds = []

    def endless(n):
        while True:
            rounds.append(n)
            signal.raise_signal(signal.SIGINT)

    def endless_in_a_library(n):
        while True:
            rounds.append(n)
            with ExitStack() as stack:
                stack.callback(signal.raise_signal, signal.SIGINT)

    with handling(signal.default_int_handler):
        for number, blocks in enumerate((endless, endless_in_a_library)):
            with pytest.raises(KeyboardInterrupt):
                ps.run(ps.pipe(ps.values([number]), ps.map(blocks), ps.collect()))
        assert rounds == [0, 0, 1, 1]
        with pytest.raises(KeyboardInterrupt):
            ps.run(ps.pipe(ps.values([signal.SIGINT] * 9), ps.map(signal.raise_signal), ps.collect()))


async def test_in_a_trio_program_that_aborts_on_it():
    with handling(signal.getsignal(signal.SIGINT)):
        running = ps.pipe(ps.integers(), ps.map(strike_at(3)), ps.drain()).open(limit=1)
        with pytest.raises(ps.errors.Abandoned):
            async with running:
                running.abort_on_interrupt()
                await running.result()
        assert running.interrupted
        with pytest.raises(KeyboardInterrupt):
            async with ps.pipe(ps.values("ab"), ps.collect()).open() as running:
                running.abort_on_interrupt()
                assert await running.result() == ["a", "b"]
                signal.raise_signal(signal.SIGINT)


def test_in_the_release_of_an_open_pipeline(probe):
    @ps.source
    async def quiet(ctx):
        try:
            yield 1
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                signal.raise_signal(signal.SIGINT)
                await trio.sleep(0.01)
            probe.released += 1

    async def main():
        async with ps.pipe(quiet(), ps.drain()).open():
            await trio.testing.wait_all_tasks_blocked()
            raise ZeroDivisionError

    with handling(signal.default_int_handler), pytest.raises(KeyboardInterrupt) as caught:
        trio.run(main)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert probe.released == 1


def test_loops_that_overlap():
    with handling(signal.default_int_handler):
        loops = deque()
        for _ in range(30):
            loops.append(ps.iterate(ps.values(range(9)), limit=1))
            next(loops[-1])
            if len(loops) > 2:
                loops.popleft().close()
        with pytest.raises(KeyboardInterrupt) as caught:
            signal.raise_signal(signal.SIGINT)
        assert len(caught.traceback) < 10
        while loops:
            loops.popleft().close()


def test_10000_blocks_that_overlap():
    """Each costs the same, however many there are, and Ctrl-C reaches the program's own handler through all."""
    struck = []
    with handling(lambda signum, frame: struck.append(frame)):
        theirs = signal.getsignal(signal.SIGINT)

        def calls(count):
            """Count the calls that opening and closing so many takes, closed in any order."""
            made = 0

            def called(frame, event, arg):
                nonlocal made
                made += 1

            blocks = [Spared() for _ in range(count)]
            closed = random.Random(1).sample(blocks, count)
            sys.setprofile(called)
            try:
                for block in blocks:
                    block.__enter__()
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)
                sys.setprofile(called)
                for block in closed:
                    block.__exit__(None, None, None)
            finally:
                sys.setprofile(None)
            assert signal.getsignal(signal.SIGINT) is theirs
            return made / count

        assert calls(10_000) < 1.1 * calls(100)
    assert len(struck) == 2
