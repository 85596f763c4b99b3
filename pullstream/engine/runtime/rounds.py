"""Looking at the runs of a trio program between the steps of its tasks: an instrument of trio's.

Whether a run can move changes when a task begins to wait, but also when one ends, leaves or is cancelled, and no code
of the run's own is called then. So of each run one task is kept in mind that may move it, and only when something has
happened to that one another is looked for. A run in which none is found stands still.
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
    """A run, as it is looked at."""

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        ...

    def mover(self, seen: set[Any]) -> object:
        """A task or run that may move it, or None; the runs that were looked at for that are added to `seen`."""

    def unblocked(self, task: trio.lowlevel.Task) -> None:
        """Hear that a task of it has begun."""

    def tell(self) -> None:
        """Hear that nothing can move it."""


class Rounds(BusyClock):
    """The rounds of one trio program: in each all tasks that can take a step take one."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: dict[trio.lowlevel.Task, Checked] = {}
        """The tasks that wait for the tasks of a run, and that run."""
        self.runs: dict[trio.Nursery, Checked] = {}
        """The runs, by the nurseries that their tasks are in."""
        self.to_check: dict[Checked, None] = {}
        """The runs to be looked at before the next round."""
        self._movers: dict[object, list[Checked]] = {}
        """The runs that need no look, by what may move them."""

    def changed(self, mover: object) -> None:
        """Look again at the runs that a task could move, as something has happened to it."""
        runs = self._movers.pop(mover, None)
        if runs is not None:
            self.to_check.update(dict.fromkeys(runs))

    # ---- for trio

    @override
    def task_exited(self, task: trio.lowlevel.Task) -> None:
        if task in self._movers:
            self.changed(task)

    @override
    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        # A task that has others may wait for them, and nothing is called when it begins to.
        nursery = task.parent_nursery
        if nursery is not None and nursery.parent_task in self._movers:
            self.changed(nursery.parent_task)
        while nursery is not None:
            run = self.runs.get(nursery)
            if run is not None:
                run.unblocked(task)
                break
            nursery = nursery.parent_task.parent_nursery

    @override
    def before_io_wait(self, timeout: float) -> None:
        if self.to_check:
            self._look()
        super().before_io_wait(timeout)

    def _look(self) -> None:
        runs, self.to_check = self.to_check, {}
        still: list[tuple[int, Checked]] = []
        for run in runs:
            if run.ended:
                continue
            seen: set[Checked] = set()
            mover = run.mover(seen)
            if mover is None:
                still.append((len(seen), run))
            elif len(seen) == 1 and isinstance(mover, trio.lowlevel.Task) and not mover.child_nurseries:
                self._movers.setdefault(mover, []).append(run)
            else:
                # Nothing is called when it begins to wait for its tasks, or when a run on the way to it is left.
                self.to_check[run] = None
        if still:
            # One that waits for no other comes first: with its end the others may go on.
            _, first = min(still, key=lambda found: found[0])
            self.to_check.update((run, None) for _, run in still if run is not first)
            # In the next round, which so begins at once: how long is waited for it was settled before.
            # A program that is at its end takes no more, and what stands still then has ended with it.
            with suppress(trio.RunFinishedError):
                trio.lowlevel.current_trio_token().run_sync_soon(first.tell)


def instrument() -> BusyClock:
    """The instrument of the trio program that runs: one for all its runs, since each costs at every step of a program.

    It is no `Rounds` where this trio does not tell what has to be known.
    """
    clock = _PROGRAM.get()
    if clock is not None:
        return clock
    task = trio.lowlevel.current_task()
    assert task.parent_nursery is not None, "only trio's own first task has none"
    if blocked.told(task, task.parent_nursery):
        clock = Rounds()
    else:
        clock = BusyClock()
        _warn()
    _PROGRAM.set(clock)
    trio.lowlevel.add_instrument(clock)
    return clock


def begun() -> Rounds | None:
    """The rounds of the trio program that runs, if a run has begun in it, and trio tells what has to be known."""
    clock = _PROGRAM.get()
    return clock if isinstance(clock, Rounds) else None


@cache
def _warn() -> None:
    LOG.warning(
        "trio %s does not tell what its tasks wait for in the way that is known here: a run in which nothing can move "
        "any more will hang, and not fail with StalledError",
        trio.__version__,
    )
