"""Strikes Ctrl-C into programs: at one instruction after the other, or at random moments. Run as a script.

    strikes.py each SCENE ... [--opcodes] [--every N] [--seed S]    at every line (instruction) that SCENE's runs pass
    strikes.py random TRIES [--seed S] [--scenes A,B]            at random moments: the first 20 ms, the end, anywhere

What each prints at the end is its finding; it exits with 1 if there was one that is wrong, and says which.
"""

import argparse
import asyncio
import faulthandler
import os
import pkgutil
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

import trio

import pullstream as ps
from pullstream.engine.runtime.interrupts import Standing

LIMIT = 60.0
"""Seconds after which a program is said to hang, on a machine however busy."""


class Source(ps.authoring.Kernel):
    """A few numbers, each at its time; knows what it has acquired and released."""

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


# ---- short programs of this process, struck at one place after the other; each ends by itself


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
    # What strikes while a loop is let go of strikes again when that is done.
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
        """Which of those passed are at an instruction that was not passed before."""
        self.struck = None
        self.printed = []
        """What Python would have printed: it was raised where something is let go of by the interpreter itself."""

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
    """Whether a handler of the toolkit's does."""
    return isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Standing)


def at_work(frame):
    """Whether a handler of the toolkit's stands, or its code is being called."""
    if stands():
        return True
    while frame is not None:
        if OURS in frame.f_code.co_filename and frame.f_code.co_filename != __file__:
            return True
        frame = frame.f_back
    return False


def traced(scene, tracer):
    """Run a scene; gives what it raised."""
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
    """What is not as it should be after a strike."""
    found = []
    # What strikes when no handler of the toolkit's stands, where a loop is being collected, say, Python only prints.
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


# ---- the same programs in processes of their own, struck at random moments; some go on until they are struck


def again_and_again(scene, folder, endless):
    for number in count() if endless else range(5):
        inside = Path(folder, str(number))
        inside.mkdir()
        scene(inside)


LOST, OTHER, LEFT, HANGS = "lost", "another exception", "left behind", "hangs"


def program(scene, endless, folder, begun):
    """What is struck, in a child; gives what was wrong."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    found = None
    try:
        os.write(begun, b"x")
        again_and_again(scene, folder, endless)
        # The signal has not come yet, and strikes here, or it is lost.
        time.sleep(LIMIT / 2)
        found = LOST
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc()
        found = OTHER
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        found = f"{LEFT}: a process"
    ours = [thread.name for thread in threading.enumerate() if "pullstream" in thread.name]
    if ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        found = f"{LEFT}: {ours or signal.getsignal(signal.SIGINT)}"
    return found


def struck_at(scene, endless, seconds, folder):
    """Run a program in a child, strike it after that time; gives what was wrong, and what it wrote of it."""
    with tempfile.TemporaryFile() as said:
        code = _struck_at(scene, endless, seconds, folder, said.fileno())
        said.seek(0)
        text = said.read().decode()
    return (HANGS if code is None else text.rpartition("found: ")[2].strip() or f"exit {code}" if code else None), text


def _struck_at(scene, endless, seconds, folder, said):
    begun, beginning = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(said, 2)
        found = program(scene, endless, folder, beginning)
        if found:
            print("found:", found, file=sys.stderr, flush=True)
        os._exit(bool(found))
    os.close(beginning)
    os.read(begun, 1)
    os.close(begun)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
    os.kill(child, signal.SIGINT)
    code = ended(child)
    if code is None:
        os.kill(child, signal.SIGUSR1)
        time.sleep(1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return code


def unstruck(scene):
    """The seconds that a program takes which is not struck."""
    began = time.perf_counter()
    child = os.fork()
    if not child:
        with tempfile.TemporaryDirectory() as folder:
            again_and_again(scene, folder, endless=False)
        os._exit(0)
    assert ended(child) == 0
    return time.perf_counter() - began


def ended(child):
    """The exit code of a process; none, if it hangs."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    return None


def load_all():
    """Load what programs would load when they first need it.

    An import that is struck may lose that, in Python itself: its locks are let go of by the garbage collector.
    """
    for package in (ps, import_module("adapters.files")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)


def at_random(tries, seed, names):
    """Strike every scene in its first 20 ms, at its end, and anywhere; each try has a seed of its own."""
    load_all()
    wrong = Counter()
    longest = 0.0
    usual = {name: unstruck(SCENES[name]) for name in names}
    for number in range(tries):
        draw = random.Random(f"{seed} {number}")
        name = names[number % len(names)]
        when = draw.choice(["first", "end", "anywhere"])
        seconds = {"first": 0.02, "end": 2 * usual[name], "anywhere": 0.3}[when] * draw.random()
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            found, text = struck_at(SCENES[name], when == "anywhere", seconds, folder)
            longest = max(longest, time.monotonic() - began)
        if found:
            wrong[found.split(":")[0]] += 1
            print(
                f"try {number} of seed {seed}: {name}, {when}, after {seconds:.5f} s: {found}\n{text[-3000:]}",
                flush=True,
            )
    print(
        f"{tries:,} interrupts: {wrong[HANGS]} hang, {wrong[LOST]} lost, {wrong[OTHER]} another exception, "
        f"{wrong[LEFT]} with something left behind, {sum(wrong.values())} wrong in all; "
        f"the longest took {longest:.1f} s"
    )
    return sum(wrong.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    ways = parser.add_subparsers(dest="way", required=True)
    way = ways.add_parser("each")
    way.add_argument("scenes", nargs="*", metavar="SCENE")
    way.add_argument("--opcodes", action="store_true")
    way.add_argument("--every", type=int, default=1)
    way.add_argument("--seed", type=int, default=0)
    way = ways.add_parser("random")
    way.add_argument("tries", type=int)
    way.add_argument("--seed", type=int, default=0)
    way.add_argument("--scenes", default=",".join(SCENES))
    options = parser.parse_args()
    if options.way == "random":
        sys.exit(at_random(options.tries, options.seed, options.scenes.split(",")) > 0)
    sys.exit(sum(each(scene, options.opcodes, options.every, options.seed) for scene in options.scenes or SCENES) > 0)
