"""Deadlock detection: noticing that nothing in a run can move.

A wait for something that the run's own tasks must do is an inside wait; it is made with a `Signal`. Every other wait
(user code, a clock, a disk, a handle) is an outside wait: something may come from there at any time. When all tasks of
a run wait inside, none will ever be woken: the run is stalled, and fails at once instead of hanging.

A run's tasks are those in its nursery, the task that opened it if that task runs the sinks, and those outside that read
one of its streams. One run may wait for another through a `pair`: then both are stalled when nothing moves in either.

A run may stall when one of its tasks begins to wait, but also when a task ends, leaves or is cancelled, which calls no
code of the run. So `Rounds`, a trio instrument, remembers for each run one task that may move it, and another one is
sought only when something happens to that task. A run without such a task is stalled.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from inspect import CORO_CLOSED, getcoroutinestate
from typing import Any, Final
from weakref import WeakSet

import trio
from typing_extensions import override

from pullstream.engine.runtime.blocked import is_only_task, joined, may_be_cancelled, opened_in, supported
from pullstream.engine.runtime.busy import BusyClock
from pullstream.logger import LOG

LOOKS_ON: ContextVar[bool] = ContextVar("LOOKS_ON", default=False)
"""Whether this task only observes: its waits, and the failures it receives, mean nothing to the run or its user."""

FEW: Final = 64
"""The number of remembered tasks above which it is worth checking which of them have ended."""

SOMEBODY: Final = "somebody"
"""A stand-in for a task that is unknown or has not begun, and for a clock."""

_PROGRAM: trio.lowlevel.RunVar[BusyClock | None] = trio.lowlevel.RunVar("pullstream's instrument", None)


class Rounds(BusyClock):
    """The scheduler rounds of one trio program; in each round, every task that can take a step takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: dict[trio.lowlevel.Task, DeadlockDetector] = {}
        """The tasks that wait for the tasks of a run, each with that run."""
        self.runs: dict[trio.Nursery | trio.lowlevel.Task, DeadlockDetector] = {}
        """The runs, by the nursery of their tasks, and by the task that runs the sinks outside of it."""
        self.to_check: dict[DeadlockDetector, None]
        """The runs to check before the next round."""
        self._movers: dict[object, list[DeadlockDetector]] = {}
        """The runs that need no check, by the task that may move them."""

    def changed(self, mover: object) -> None:
        """Check the runs that a task could move, because something has happened to the task."""
        runs = self._movers.pop(mover, None)
        if runs is not None:
            self.to_check.update(dict.fromkeys(runs))

    # ---- for trio

    @override
    def __dir__(self) -> list[str]:
        return ["before_io_wait", "task_exited", "task_spawned"]

    @override
    def task_exited(self, task: trio.lowlevel.Task) -> None:
        if task in self._movers:
            self.changed(task)

    @override
    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        # A task with child tasks may wait for them, and trio reports nothing when that wait begins.
        nursery = task.parent_nursery
        if nursery is not None and nursery.parent_task in self._movers:
            self.changed(nursery.parent_task)
        while nursery is not None:
            run = self.runs.get(nursery) or self.runs.get(nursery.parent_task)
            if run is not None:
                run.unblocked(task)
                break
            nursery = nursery.parent_task.parent_nursery

    @override
    def look(self) -> None:
        runs, self.to_check = self.to_check, {}
        still: list[tuple[int, DeadlockDetector]] = []
        for run in runs:
            if run.ended:
                continue
            seen: set[Any] = set()
            mover = run.mover(seen)
            if mover is None:
                still.append((len(seen), run))
            elif (
                len(seen) == 1
                and isinstance(mover, trio.lowlevel.Task)
                and (not mover.child_nurseries or run.works(mover))
            ):
                self._movers.setdefault(mover, []).append(run)
            else:
                # Trio reports nothing when this mover begins to wait for its child tasks, or when it changes the run it
                # waits for. So the run is checked in every round.
                self.to_check[run] = None
        if still:
            # A run that waits for no other comes first: when it ends, the others may continue.
            _, first = min(still, key=lambda found: found[0])
            self.to_check.update((run, None) for _, run in still if run is not first)
            # In the next round: this call makes it begin at once, although the I/O timeout was computed before.
            # A program that is ending takes no more calls, and its stalled runs end with it.
            with suppress(trio.RunFinishedError):
                trio.lowlevel.current_trio_token().run_sync_soon(first.tell)


def instrument() -> BusyClock:
    """The instrument of the current trio program. All its runs share one, since each costs at every step of a program.

    It is a `Rounds`, unless this version of trio lacks the attributes that stall detection needs.
    """
    clock = _PROGRAM.get()
    if clock is not None:
        return clock
    task = trio.lowlevel.current_task()
    assert task.parent_nursery is not None, "only trio's own first task has none"
    if supported(task, task.parent_nursery):
        clock = Rounds()
    else:
        clock = BusyClock()
        _warn()
    _PROGRAM.set(clock)
    trio.lowlevel.add_instrument(clock)
    return clock


def begun() -> Rounds | None:
    """The rounds of the current trio program, if a run has begun in it and this trio supports stall detection."""
    clock = _PROGRAM.get()
    return clock if isinstance(clock, Rounds) else None


@cache
def _warn() -> None:
    LOG.warning(
        "trio %s does not show in a supported way what its tasks wait for: a run in which nothing can move will hang "
        "instead of failing with StalledError",
        trio.__version__,
    )


class DeadlockDetector:
    """Deadlock detection in one run: tracks which tasks wait inside, and whether any task may still move."""

    def __init__(self, on_failure: Callable[[BaseException], None] | None = None) -> None:
        self.nursery: trio.Nursery | None = None
        self.runner: trio.lowlevel.Task | None = None
        """The task that runs the sinks, if it is the task that opened the nursery."""
        self._on_failure = on_failure
        """Called with an exception that belongs to no module: the run ends with it."""
        self._failure: BaseException | None = None
        self.reason: BaseException | None = None
        """The exception with which a deadlocked run fails."""
        self.within: trio.CancelScope | None = None
        """The scope around the block in which the run is open."""
        self.outside: dict[Signal, None] = {}
        """The signals that something outside may set, while tasks wait for them."""
        self.awaiting: trio.lowlevel.Task | None = None
        """The task in which the program itself waits for the run."""
        self._alone: bool | None = False
        self._clocks = 0
        """The number of clocks that will wake a task of the run."""
        self._lanes: WeakSet[Any] | None = None
        """The lanes that tasks outside the run may ask, once there are any."""
        self._on_deadlock: Callable[[], None] | None = None
        self._rounds: Rounds | None = None
        self.ended = False
        """Whether the run has ended."""
        self._check_when_woken = False
        self._watching: dict[trio.lowlevel.Task, None] = {}
        self._reading: trio.lowlevel.Task | None = None
        self._unblocked: dict[trio.lowlevel.Task, None] = {}
        """Tasks that have begun or been woken, and have not waited inside since. A task that may move the run is
        usually among these; checking all tasks each time would take quadratic time."""
        self._most_unblocked = FEW

    # ---- the life of a run

    def begin(self, nursery: trio.Nursery, clock: BusyClock) -> None:
        """Take note of the nursery that the run's tasks will be in, and of the program's clock."""
        self.nursery = nursery
        if isinstance(clock, Rounds):
            self._rounds = clock
            clock.runs[nursery] = self

    def arm(self, on_deadlock: Callable[[], None], within: trio.CancelScope) -> None:
        """From now on, call `on_deadlock` between the steps of tasks when nothing can move."""
        self._on_deadlock = on_deadlock
        self.within = within
        self.check_soon()

    def over(self) -> None:
        """Stop detecting, because the run has ended."""
        self.ended = True
        self._on_deadlock = None
        self._unblocked.clear()
        if self._rounds is not None:
            if self.runner is not None:
                # The task may run thousands of other runs.
                self._rounds.runs.pop(self.runner, None)
                self._rounds.changed(self.runner)
            self._rounds.to_check.pop(self, None)
            if self.nursery is not None:
                self._rounds.runs.pop(self.nursery, None)

    def left(self) -> None:
        """Forget the program, which has left the run, so that its results are freed before a garbage collection."""
        self._on_failure = self.nursery = self.runner = self.within = None

    # ---- tasks

    def unblocked(self, task: trio.lowlevel.Task) -> None:
        """Remember a task that has begun, or whose wait has ended, as one that may move."""
        self._unblocked[task] = None
        if len(self._unblocked) > self._most_unblocked:
            # While one task stays able to move, the others are never checked, and ended ones would be kept forever.
            for other in [other for other in self._unblocked if getcoroutinestate(other.coro) == CORO_CLOSED]:
                del self._unblocked[other]
            self._most_unblocked = max(FEW, 2 * len(self._unblocked))

    def end_run(self, exc: BaseException, note: str) -> None:
        """End the run with an exception that belongs to no module; a later one becomes a note on the first."""
        if self._failure is None:
            self._failure = exc
            exc.add_note(note)
            if self._on_failure is not None:
                self._on_failure(exc)
        elif exc is not self._failure and (also := f"and then {exc!r} was {note}") not in self._failure.__notes__:
            self._failure.add_note(also)

    def watched_by(self, task: trio.lowlevel.Task) -> None:
        """Mark a task as an observer: whatever it and its child tasks do or wait for, they cannot move the run."""
        self._watching[task] = None
        # Until now it counted as a task that may move the run.
        if self._rounds is not None:
            self._rounds.changed(task)

    def unwatched_by(self, task: trio.lowlevel.Task) -> None:
        """Forget an observing task."""
        self._watching.pop(task, None)

    def read_by(self, task: trio.lowlevel.Task) -> None:
        """Take note of a task outside that reads a stream of the run."""
        self._reading = task
        self.check_soon()

    def asked_by(self, lane: Any) -> None:
        """Take note of a lane that a task other than the module's own may ask."""
        if self._lanes is None:
            self._lanes = WeakSet()
        self._lanes.add(lane)
        self.check_soon()

    def clock_set(self, *, ringing: bool) -> None:
        """Take note of a clock that will wake a task of the run, or that no longer will."""
        self._clocks += 1 if ringing else -1
        if not self._clocks:
            self.check_soon()

    def enter(self, task: trio.lowlevel.Task) -> None:
        """Register a task that begins to wait for tasks of this run."""
        if self._rounds is None:
            # A run may wait for another one that has not begun.
            self._rounds = begun()
        self._unblocked.pop(task, None)
        if self._rounds is not None:
            self._rounds.waits[task] = self
            self._rounds.changed(task)

    def leave(self, task: trio.lowlevel.Task) -> None:
        """Forget the wait of a task: it has ended, or the task is cancelled."""
        if self._rounds is not None:
            self._rounds.waits.pop(task, None)
            self.unblocked(task)
            if self._check_when_woken:
                self._check_when_woken = False
                self.check_soon()

    def works(self, task: trio.lowlevel.Task) -> bool:
        """Whether a task runs the sinks, and has no child tasks but those in the run's nursery."""
        return task is self.runner and task.child_nurseries[-1] is self.nursery

    def has(self, task: trio.lowlevel.Task) -> bool:
        """Whether a task belongs to the run and does not only observe."""
        if task is self.runner:
            return True
        while (nursery := task.parent_nursery) is not None:
            if nursery is self.nursery:
                return task not in self._watching
            task = nursery.parent_task
            if task is self.runner:
                return nursery in self._nurseries(task)
        return False

    @property
    def alone(self) -> bool:
        """Whether every wait of the run is an inside one: only the program is left outside, and waits for the run."""
        if self._alone is None:
            # Only now: most runs have no wait for which it matters.
            assert self.awaiting is not None
            assert self.nursery is not None
            self._alone = is_only_task(self.awaiting, self.nursery, runs=self.runner is not None)
        return self._alone

    def run_by(self, task: trio.lowlevel.Task) -> None:
        """Note that the task which has opened the nursery runs the sinks, and that the program waits for it."""
        self.runner = task
        if self._rounds is not None:
            self._rounds.runs[task] = self
        self.awaited_by(task)

    def awaited_by(self, task: trio.lowlevel.Task | None) -> None:
        """Note that the program itself waits for the run in this task, or that it no longer waits."""
        signals = [signal.task for signal in self.outside if signal.task is not None]
        if task is None and self._alone:
            for waiting in signals:
                self.leave(waiting)
        self.awaiting, self._alone = task, None if task is not None else False
        if signals and self.alone:
            for waiting in signals:
                self.enter(waiting)
            self.check_soon()

    # ---- deadlocks

    def check_soon(self) -> None:
        """Check at the end of this scheduler round whether anything can move."""
        if self._rounds is not None and self._on_deadlock is not None:
            self._rounds.to_check[self] = None

    def check_when_woken(self) -> None:
        """Check as soon as any waiting task has been woken."""
        self._check_when_woken = True

    def deadlocked(self) -> bool:
        """Whether nothing can move."""
        return self._on_deadlock is not None and self.mover(set()) is None

    def tell(self) -> None:
        """Call the deadlock handler: nothing can move, or nothing could a moment ago.

        After this the run is not checked again until `check_soon` is called.
        """
        if self._on_deadlock is not None:
            self._on_deadlock()

    def mover(self, seen: set[Any]) -> object:
        """A task that may move this run, or a run that it waits for; None if nothing can.

        The runs that were checked are added to `seen`.
        """
        seen.add(self)
        rounds = self._rounds
        if self.ended:
            return None
        if rounds is None or self._on_deadlock is None or self.nursery is None or self._clocks:
            return SOMEBODY
        while self._unblocked:
            task = next(reversed(self._unblocked))
            if getcoroutinestate(task.coro) != CORO_CLOSED and self.has(task):
                found = self._moves(task, rounds, seen)
                if found is not None:
                    return found
            # Whatever it waits for now, for example its child tasks, is checked below.
            del self._unblocked[task]
        empty = True
        for task in self._tasks(self.nursery) if self.runner is None else self._runners(self.runner):
            empty = False
            found = self._moves(task, rounds, seen)
            if found is not None:
                return found
        # Without tasks, the run is about to end.
        return SOMEBODY if empty else self._mover_outside(rounds, seen)

    def _moves(self, task: trio.lowlevel.Task, rounds: Rounds, seen: set[Any]) -> object:
        """The task, if it may move; or what may move the run that it waits for."""
        where = rounds.waits.get(task)
        if where is None:
            return None if joined(task) else task
        if may_be_cancelled(task, self.within):
            return task
        return None if where in seen else where.mover(seen)

    def _runners(self, runner: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
        """The task that runs the sinks, and all others of the run."""
        yield runner
        for nursery in self._nurseries(runner):
            yield from self._tasks(nursery)

    def _nurseries(self, runner: trio.lowlevel.Task) -> list[trio.Nursery]:
        return [] if self.nursery is None else [self.nursery, *opened_in(runner, self.nursery)]

    def _tasks(self, nursery: trio.Nursery) -> Iterator[trio.lowlevel.Task]:
        for task in nursery.child_tasks:
            if task not in self._watching:
                yield task
                for inner in task.child_nurseries:
                    yield from self._tasks(inner)

    def _mover_outside(self, rounds: Rounds, seen: set[Any]) -> object:
        """A task outside that may move the run by asking for more."""
        readers = {} if self._reading is None else {self._reading: None}
        for lane in self._lanes or ():
            if not lane.over:
                if lane.asker is None:
                    return SOMEBODY
                readers[lane.asker] = None
        for reader in readers:
            if getcoroutinestate(reader.coro) == CORO_CLOSED or self.has(reader):
                continue
            found = self._moves(reader, rounds, seen)
            if found is None and (nursery := joined(reader)) is not None and reader not in rounds.waits:
                for task in self._tasks(nursery):
                    found = found or self._moves(task, rounds, seen)
            if found is not None:
                return found
        return None


class Signal:
    """An event that one task waits for and a task of the run sets."""

    __slots__ = ("_detector", "_event", "task")

    def __init__(self, detector: DeadlockDetector) -> None:
        self._detector = detector
        self._event = trio.Event()
        self.task: trio.lowlevel.Task | None = None
        """The task that waits inside."""

    def set(self) -> None:
        """Wake the waiting task; from now on a wait returns at once."""
        # Unregistered here, and not when the task runs: it can move from now on.
        if self.task is not None:
            self._leave(self.task)
        self._event.set()

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._event.is_set()

    async def wait(self, *, outside: bool = False) -> None:
        """Wait until it is set; `outside` if something outside the run, such as a handle, may set it as well."""
        if self._event.is_set():
            await self._event.wait()
            return
        self.task = task = trio.lowlevel.current_task()
        if outside:
            self._detector.outside[self] = None
        if not outside or self._detector.alone:
            self._detector.enter(task)
        try:
            await self._event.wait()
        finally:
            if not self._event.is_set():
                self._leave(task)

    def _leave(self, task: trio.lowlevel.Task) -> None:
        self.task = None
        detector = self._detector
        if self not in detector.outside:
            detector.leave(task)
            return
        del detector.outside[self]
        if detector.alone:
            detector.leave(task)
