"""Random programs of tasks that wait for each other, against an oracle that knows whether anything can still move.

A program is some runs, each with a sink whose task has a script; what is set is set for good, so that no order of steps
changes what comes of it, and an oracle without trio can tell when each run ends, and how.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import attrs
import trio
import trio.testing

import pullstream as ps
from tests.sampling import amount

Script = tuple[tuple[Any, ...], ...]
"""Steps: sleep n · set k · wait k · wait for k or until scope s is cancelled · cancel s · open scripts, step, join."""

FOR_EVER = 1000


@attrs.frozen
class Program:
    """A script for each run, whose tasks alone set a signal, and for those outside, which cancel scopes."""

    runs: tuple[Script, ...]
    outside: tuple[Script, ...]


class Maker:
    """Makes a random program."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        number = self.random.choice([1, 1, 1, 2, 3])
        self.signals = [(run, k) for run in range(number) for k in range(self.random.randrange(1, 5))]
        self.waited = set(self.signals)
        self.scopes = 0
        self.left = 18
        runs = tuple(self.script(run, 0) for run in range(number))
        outside = [(("sleep", self.random.randrange(1, 20)), ("cancel", s)) for s in range(self.scopes)]
        self.program = Program(runs, tuple(script for script in outside if self.random.random() < 0.7))

    def script(self, run: int, depth: int) -> Script:
        return tuple(self.steps(run, depth))

    def steps(self, run: int, depth: int) -> Iterator[tuple[Any, ...]]:
        for _ in range(self.random.randrange(1, 5)):
            self.left -= 1
            if self.left < 0:
                return
            kind = self.random.choice(["sleep", "set", "set", "wait", "wait", "scoped", "open", "open", "cancel"])
            own = [signal for signal in self.signals if signal[0] == run]
            if kind == "sleep":
                yield "sleep", self.random.randrange(1, 9)
            elif kind == "set":
                yield "set", self.random.choice(own)
            elif kind == "cancel" and self.scopes:
                yield "cancel", self.random.randrange(self.scopes)
            elif kind in ("wait", "scoped") and self.waited:
                signal = self.random.choice(sorted(self.waited))
                self.waited.discard(signal)
                if kind == "wait" or self.random.random() < 0.5:
                    yield "wait", signal
                else:
                    self.scopes += 1
                    yield "scoped", signal, self.scopes - 1
            elif kind == "open" and depth < 3:
                inside = tuple(self.script(run, depth + 1) for _ in range(self.random.randrange(1, 4)))
                yield "open", inside, self.script(run, depth + 1)


# ---- the oracle


@attrs.define(eq=False)
class Task:
    """A task of the oracle's: where it is in its script, and what it has open."""

    run: int | None
    script: Script
    at: int = 0
    wakes: float | None = None
    children: list["Task"] | None = None
    body: "Task | None" = None

    @property
    def over(self) -> bool:
        return self.at == len(self.script)


class Oracle:
    """Steps through a program, without trio; `fates` is how each run ends, and when."""

    def __init__(self, program: Program) -> None:
        self.now = 0.0
        self.set: set[Any] = set()
        self.cancelled: set[int] = set()
        self.roots = [Task(run, script) for run, script in enumerate(program.runs)]
        self.outside = [Task(None, script) for script in program.outside]
        self.fates: dict[int, tuple[str, float]] = {}
        while self.now <= FOR_EVER:
            self.settle()
            wakes = [task.wakes for task in self.tasks() if task.wakes is not None]
            if not wakes:
                break
            self.now = min(wakes)
        for run in range(len(self.roots)):
            self.fates.setdefault(run, ("hangs", FOR_EVER))

    def tasks(self) -> list[Task]:
        found = [root for root in self.roots if root.run not in self.fates] + self.outside
        for task in found:
            found += task.children or []
            if task.body is not None:
                found.append(task.body)
        return found

    def settle(self) -> None:
        while any(self.step(task) for task in self.tasks()):
            pass
        for root in self.roots:
            if root.over:
                self.fates.setdefault(root.run or 0, ("ends", self.now))
        live = self.live()
        for root in self.roots:
            if root.run not in live:
                self.fates.setdefault(root.run or 0, ("stalls", self.now))

    def live(self) -> set[int | None]:
        """The runs in which anything may still move: one that waits for such a one is one."""
        blocked = [task for task in self.tasks() if not task.over and task.run is not None]
        kinds = [(task, task.script[task.at]) for task in blocked]
        live = {task.run for task, step in kinds if task.wakes is not None or step[0] == "scoped"}
        while more := {task.run for task, step in kinds if step[0] == "wait" and step[1][0] in live} - live:
            live |= more
        return live

    def step(self, task: Task) -> bool:
        """Take a step, if there is one to take."""
        if task.over:
            return False
        what, *given = task.script[task.at]
        match what:
            case "sleep":
                if task.wakes is None:
                    task.wakes = self.now + given[0]
                    return True
                if task.wakes > self.now:
                    return False
                task.wakes = None
            case "set":
                self.set.add(given[0])
            case "cancel":
                self.cancelled.add(given[0])
            case "wait":
                if given[0] not in self.set:
                    return False
            case "scoped":
                if given[0] not in self.set and given[1] not in self.cancelled:
                    return False
            case _:
                if task.children is None:
                    task.children = [Task(task.run, script) for script in given[0]]
                    task.body = Task(task.run, given[1])
                    return True
                if not all(child.over for child in task.children) or not (task.body and task.body.over):
                    return False
                task.children = task.body = None
        task.at += 1
        return True


# ---- the same with trio


class Real:
    """Runs a program; `fates` is how each run ended, and when."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.signals: dict[Any, Any] = {}
        self.scopes: dict[int, trio.CancelScope] = {}
        self.fates: dict[int, tuple[str, float]] = {}
        self.running: dict[int, Any] = {}

    def signal(self, key: Any) -> Any:
        if key not in self.signals:
            self.signals[key] = self.running[key[0]]._run.signal()
        return self.signals[key]

    def scope(self, number: int) -> trio.CancelScope:
        return self.scopes.setdefault(number, trio.CancelScope())

    async def take(self, script: Script) -> None:
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
                        for inside in given[0]:
                            nursery.start_soon(self.take, inside)
                        await self.take(given[1])

    async def fate(self, run: int, begin: trio.Event) -> None:
        @ps.sink
        async def scripted(upstream, ctx):
            await begin.wait()
            await self.take(self.program.runs[run])

        try:
            async with ps.pipe(ps.integers(), scripted()).open() as self.running[run]:
                await self.running[run].result()
        except ps.StalledError:
            self.fates[run] = "stalls", trio.current_time()
        else:
            self.fates[run] = "ends", trio.current_time()

    async def all(self) -> None:
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


def fates(program: Program) -> dict[int, tuple[str, float]]:
    real = Real(program)
    clock = trio.testing.MockClock(autojump_threshold=0)
    trio.run(real.all, clock=clock)
    return real.fates


def agree(seeds: range) -> dict[str, int]:
    """How many runs came to which end; all as the oracle says."""
    seen: dict[str, int] = {}
    for seed in seeds:
        program = Maker(seed).program
        expected = Oracle(program).fates
        assert fates(program) == expected, f"seed {seed}: {program}"
        for how, _ in expected.values():
            seen[how] = seen.get(how, 0) + 1
    return seen


def test_random_programs_stall_when_nothing_can_move_and_not_before():
    seen = agree(range(amount(300, 10_000)))
    assert min(seen[how] for how in ("ends", "stalls", "hangs")) > 10
