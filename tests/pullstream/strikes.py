"""Interrupts programs by Ctrl-C, at one line or instruction after another. Run as a script.

    strikes.py [SCENE ...] [--opcodes] [--every N] [--seed S]    at every line (instruction) that the scenes' runs pass

It prints what was wrong after an interrupt, and exits with 1 if anything was.
"""

import argparse
import asyncio
import faulthandler
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from contextlib import suppress

import trio

import pullstream as ps
from pullstream.engine.runtime.interrupts import Standing

LIMIT = 60.0
"""Seconds after which a program counts as hanging, even on a busy machine."""


class Source(ps.authoring.Kernel):
    """A few numbers, each at its time; counts the sources that are open."""

    open_now = 0

    def __init__(self, n):
        self._values = iter(range(n))

    async def acquire(self):
        Source.open_now += 1

    async def produce(self, limit):
        await trio.lowlevel.checkpoint()
        for n in self._values:
            return ps.Batch(n, [n])
        return ps.DONE

    async def release(self):
        Source.open_now -= 1


def few(n=3):
    return ps.source(Source)(n)


async def slowly(value):
    await trio.lowlevel.checkpoint()
    return value


# ---- short programs of this process, interrupted at one place after another; each ends by itself


def plain(folder):
    ps.run(ps.pipe(few(), ps.map(str), ps.collect()), check=True)


def tasks(folder):
    ps.run(ps.pipe(few(), ps.map_async(slowly, 2), ps.count_by_key(str), ps.tee(ps.collect(), ps.drain())))


def threads(folder):
    ps.run(ps.pipe(few(2), ps.map_thread(str, 1), ps.drain()))


def journal(folder):
    from adapters import files

    lines = ps.pipe(few(), files.write_jsonl(f"{folder}/{{time}}.jsonl"))

    async def look(running):
        await running.progress.completed(1)

    ps.run(lines, journal=f"{folder}/journal", beside=look)


def failing(folder):
    with suppress(ZeroDivisionError):
        ps.run(ps.pipe(few(), ps.map(lambda n: 1 // n), ps.collect()))


def in_asyncio(folder):
    async def main():
        with warnings.catch_warnings(action="ignore"):
            ps.run(ps.pipe(few(2), ps.map_async(slowly, 1), ps.collect()))

    asyncio.run(main())


def loop(folder):
    for _ in ps.iterate(ps.pipe(few(), ps.map(str)), limit=1):
        pass


def loop_left(folder):
    for _ in ps.iterate(few(), limit=1):
        break
    # An interrupt while a loop is being closed is repeated when that is done.
    for thread in threading.enumerate():
        if thread.name == "pullstream interrupt":
            thread.join()


def opened(folder):
    async def main():
        async with ps.pipe(few(), ps.map_async(slowly, 1), ps.collect()).open(check=True) as running:
            await running.progress.completed(1)
            await running.result()

    trio.run(main)


def read(folder):
    async def main():
        async with ps.aiterate(ps.pipe(few(), ps.map(str)), limit=1) as values:
            async for _ in values:
                pass

    trio.run(main)


SCENES = {f.__name__: f for f in (plain, tasks, threads, journal, failing, in_asyncio, loop, loop_left, opened, read)}
OURS = f"{os.sep}pullstream{os.sep}"


class Tracer:
    """Counts the places that a program passes while the toolkit is at work, or strikes at one of them."""

    def __init__(self, opcodes, strike_at=None):
        self.opcodes, self.strike_at = opcodes, strike_at
        self.passed = 0
        self.seen = set()
        self.new = []
        """The numbers of the places that were passed for the first time."""
        self.struck = None
        self.printed = []
        """Exceptions that Python would have printed, because the interpreter was finalizing something."""

    def __call__(self, frame, event, arg):
        frame.f_trace_opcodes = self.opcodes
        return None if frame.f_code is traced.__code__ else self.step

    def step(self, frame, event, arg):
        if event != ("opcode" if self.opcodes else "line") or not at_work(frame):
            return self.step
        place = (frame.f_code, frame.f_lasti)
        if place not in self.seen:
            self.seen.add(place)
            self.new.append(self.passed)
        self.passed += 1
        if self.passed - 1 == self.strike_at:
            self.stood = stands()
            self.struck = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
            os.kill(os.getpid(), signal.SIGINT)
        return self.step


def stands():
    """Whether a handler of the toolkit is installed."""
    return isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Standing)


def at_work(frame):
    """Whether a handler of the toolkit is installed, or its code is running."""
    if stands():
        return True
    while frame is not None:
        if OURS in frame.f_code.co_filename and frame.f_code.co_filename != __file__:
            return True
        frame = frame.f_back
    return False


def traced(scene, tracer):
    """Run a scene; return what it raised."""
    with tempfile.TemporaryDirectory() as folder:
        raised = None
        sys.unraisablehook = tracer.printed.append
        try:
            sys.settrace(tracer)
            try:
                scene(folder)
            finally:
                sys.settrace(None)
        except BaseException as exc:
            raised = exc
        return raised


def wrong(raised, tracer):
    """The problems after a strike."""
    found = []
    # Without a handler of the toolkit, for example while a loop is collected, Python only prints an interrupt.
    if type(raised) is not KeyboardInterrupt and not (tracer.printed and not tracer.stood):
        found.append(f"raised {raised!r}")
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        found.append(f"the handler is {signal.getsignal(signal.SIGINT)}")
    if (descriptor := signal.set_wakeup_fd(-1)) != -1:
        found.append(f"the wakeup descriptor is {descriptor}")
    if Source.open_now:
        found.append("the source was not released")
        Source.open_now = 0
    if left := [thread.name for thread in threading.enumerate() if "pullstream" in thread.name]:
        found.append(f"left {left}")
    return found


def each(name, opcodes, every, seed):
    scene = SCENES[name]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for _ in range(3):
        tracer = Tracer(opcodes)
        assert traced(scene, tracer) is None
    places = tracer.new[random.Random(seed).randrange(every) :: every]
    bad = missed = 0
    for place in places:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        sys.stdout.flush()
        tracer = Tracer(opcodes, place)
        raised = traced(scene, tracer)
        found = wrong(raised, tracer) if tracer.struck else []
        missed += not tracer.struck
        if found:
            bad += 1
            print(f"struck at {place}, {tracer.struck}: {'; '.join(found)}")
    faulthandler.cancel_dump_traceback_later()
    print(f"{name}: {len(places) - missed} interrupts at as many places, {bad} not in order")
    return bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="*", metavar="SCENE")
    parser.add_argument("--opcodes", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.exit(sum(each(scene, options.opcodes, options.every, options.seed) for scene in options.scenes or SCENES) > 0)
