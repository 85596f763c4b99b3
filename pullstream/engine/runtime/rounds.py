"""A trio instrument that checks, between the steps of tasks, whether the program's runs can still move.

A run may stall when one of its tasks begins to wait, but also when a task ends, leaves or is cancelled, which calls no
code of the run. So for each run one task that may move it is remembered, and another one is sought only when something
happens to that task. A run without such a task is stalled.
"""

from contextlib import suppress
from functools import cache
from typing import Any, Protocol

import trio
from typing_extensions import override

from pullstream.engine.runtime import blocked
from pullstream.engine.runtime.busy import BusyClock
from pullstream.logger import LOG

_PROGRAM: trio.lowlevel.RunVar[BusyClock | None] = trio.lowlevel.RunVar("pullstream's instrument", None)


class Checked(Protocol):
    """A run that is checked for a stall."""

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        ...

    def mover(self, seen: set[Any]) -> object:
        """A task or run that may move this run, or None; the runs that were checked are added to `seen`."""

    def works(self, task: trio.lowlevel.Task) -> bool:
        """Whether a task runs the sinks, and has no child tasks but the run's."""
        ...

    def unblocked(self, task: trio.lowlevel.Task) -> None:
        """Take note that one of its tasks has begun."""

    def tell(self) -> None:
        """Take note that nothing can move the run."""


class Rounds(BusyClock):
    """The scheduler rounds of one trio program; in each round, every task that can take a step takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: dict[trio.lowlevel.Task, Checked] = {}
        """The tasks that wait for the tasks of a run, each with that run."""
        self.runs: dict[trio.Nursery | trio.lowlevel.Task, Checked] = {}
        """The runs, by the nursery of their tasks, and by the task that runs the sinks outside of it."""
        self.to_check: dict[Checked, None]
        """The runs to check before the next round."""
        self._movers: dict[object, list[Checked]] = {}
        """The runs that need no check, by the task that may move them."""

    def changed(self, mover: object) -> None:
        """Check the runs that a task could move, because something has happened to the task."""
        runs = self._movers.pop(mover, None)
        if runs is not None:
            self.to_check.update(dict.fromkeys(runs))

    # ---- for trio

    @override
    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "task_exited", "task_spawned"]

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
        still: list[tuple[int, Checked]] = []
        for run in runs:
            if run.ended:
                continue
            seen: set[Checked] = set()
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
    if blocked.supported(task, task.parent_nursery):
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
