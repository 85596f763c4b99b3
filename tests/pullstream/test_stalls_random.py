"""Random programs of tasks that wait for each other, against an oracle that knows whether anything can still move.

A program is several runs, each with a sink whose task has a script. Signals stay set, so the order of steps does not
change the outcome, and an oracle without trio can tell when each run ends, and how.
"""

import random
from collections import Counter

import attrs
import trio
import trio.testing

import pullstream as ps
from tests.sampling import amount

FOR_EVER = 1000


@attrs.frozen
class Program:
    """A script for each run, whose tasks alone set its signals, and scripts for tasks outside, which cancel scopes.

    Steps: sleep n · set k · wait k · wait for k or until scope s is cancelled · cancel s · open scripts, and join them.
    """

    runs: tuple
    outside: tuple


def made(seed):
    """A random program."""
    rng = random.Random(seed)
    number = rng.choice([1, 1, 1, 2, 3])
    signals = [(run, k) for run in range(number) for k in range(rng.randrange(1, 5))]
    waited, scopes, left = set(signals), 0, 18

    def script(run, depth=0):
        return tuple(steps(run, depth))

    def steps(run, depth):
        nonlocal scopes, left
        for _ in range(rng.randrange(1, 5)):
            left -= 1
            if left < 0:
                return
            kind = rng.choice(["sleep", "set", "set", "wait", "wait", "scoped", "open", "open", "cancel"])
            if kind == "sleep":
                yield "sleep", rng.randrange(1, 9)
            elif kind == "set":
                yield "set", rng.choice([signal for signal in signals if signal[0] == run])
            elif kind == "cancel" and scopes:
                yield "cancel", rng.randrange(scopes)
            elif kind in ("wait", "scoped") and waited:
                signal = rng.choice(sorted(waited))
                waited.discard(signal)
                if kind == "wait" or rng.random() < 0.5:
                    yield "wait", signal
                else:
                    scopes += 1
                    yield "scoped", signal, scopes - 1
            elif kind == "open" and depth < 3:
                yield "open", *(script(run, depth + 1) for _ in range(rng.randrange(2, 5)))

    runs = tuple(script(run) for run in range(number))
    outside = [(("sleep", rng.randrange(1, 20)), ("cancel", scope)) for scope in range(scopes)]
    return Program(runs, tuple(script for script in outside if rng.random() < 0.7))


# ---- the oracle


@attrs.define(eq=False)
class Task:
    """A task of the oracle, in a run or outside, and what it waits for; None when it has ended."""

    run: int | None
    steps: object
    waits: tuple | None = None

    def proceed(self):
        self.waits = next(self.steps, None)


class Oracle:
    """Steps through a program, without trio; `fates` is how each run ends, and when."""

    def __init__(self, program):
        self.now, self.set, self.cancelled, self.fates, self.tasks = 0, set(), set(), {}, []
        roots = [self.start(run, script) for run, script in enumerate(program.runs)]
        for script in program.outside:
            self.start(None, script)
        while self.now <= FOR_EVER:
            self.settle(roots)
            wakes = [task.waits[1] for task in self.blocked() if task.waits[0] == "until"]
            if not wakes:
                break
            self.now = min(wakes)
        for root in roots:
            self.fates.setdefault(root.run, ("hangs", FOR_EVER))

    def start(self, run, script):
        self.tasks.append(task := Task(run, self.steps(run, script)))
        task.proceed()
        return task

    def steps(self, run, script):
        """Take the steps of a script, up to each wait."""
        for what, *given in script:
            match what:
                case "sleep":
                    yield "until", self.now + given[0]
                case "set":
                    self.set.add(*given)
                case "cancel":
                    self.cancelled.add(*given)
                case "open":
                    yield "join", [self.start(run, inside) for inside in given]
                case _:
                    yield what, *given

    def blocked(self):
        return [task for task in self.tasks if task.waits and task.run not in self.fates]

    def ready(self, task):
        match task.waits:
            case "until", time:
                return time <= self.now
            case "join", tasks:
                return not any(each.waits for each in tasks)
            case _, signal, *scope:
                return signal in self.set or not self.cancelled.isdisjoint(scope)

    def settle(self, roots):
        while ready := [task for task in self.blocked() if self.ready(task)]:
            for task in ready:
                task.proceed()
        blocked = [task for task in self.blocked() if task.run is not None]
        # The runs in which anything may still move, including runs that wait for such a run.
        live = {task.run for task in blocked if task.waits[0] in ("until", "scoped")}
        waits = [(task.run, task.waits[1][0]) for task in blocked if task.waits[0] == "wait"]
        while more := {run for run, other in waits if other in live} - live:
            live |= more
        for root in roots:
            if root.run not in live or not root.waits:
                self.fates.setdefault(root.run, ("stalls" if root.waits else "ends", self.now))


# ---- the same with trio


class Real:
    """Runs a program; `fates` is how each run ended, and when."""

    def __init__(self, program):
        self.program = program
        self.signals, self.scopes, self.fates, self.running = {}, {}, {}, {}
        trio.run(self.all, clock=trio.testing.MockClock(autojump_threshold=0))

    def signal(self, key):
        if key not in self.signals:
            self.signals[key] = self.running[key[0]]._run.signal()
        return self.signals[key]

    def scope(self, number):
        return self.scopes.setdefault(number, trio.CancelScope())

    async def take(self, script):
        for what, *given in script:
            match what:
                case "sleep":
                    await trio.sleep(given[0])
                case "set":
                    self.signal(given[0]).set()
                case "cancel":
                    self.scope(given[0]).cancel()
                case "wait":
                    await self.signal(given[0]).wait()
                case "scoped":
                    with self.scope(given[1]):
                        await self.signal(given[0]).wait()
                case _:
                    async with trio.open_nursery() as nursery:
                        for inside in given[1:]:
                            nursery.start_soon(self.take, inside)
                        await self.take(given[0])

    async def fate(self, run, begin):
        @ps.sink
        async def scripted(upstream, ctx):
            await begin.wait()
            await self.take(self.program.runs[run])

        how = "ends"
        try:
            async with ps.pipe(ps.integers(), scripted()).open() as self.running[run]:
                await self.running[run].result()
        except ps.StalledError:
            how = "stalls"
        self.fates[run] = how, trio.current_time()

    async def all(self):
        begin = trio.Event()
        with trio.move_on_after(FOR_EVER):
            async with trio.open_nursery() as nursery:
                for run in range(len(self.program.runs)):
                    nursery.start_soon(self.fate, run, begin)
                await trio.testing.wait_all_tasks_blocked()
                for script in self.program.outside:
                    nursery.start_soon(self.take, script)
                begin.set()
        for run in range(len(self.program.runs)):
            self.fates.setdefault(run, ("hangs", FOR_EVER))


def test_random_programs_stall_when_nothing_can_move_and_not_before():
    seen = Counter()
    for seed in range(amount(300, 10_000)):
        program = made(seed)
        expected = Oracle(program).fates
        assert Real(program).fates == expected, f"seed {seed}: {program}"
        seen.update(how for how, _ in expected.values())
    assert min(seen[how] for how in ("ends", "stalls", "hangs")) > 10
