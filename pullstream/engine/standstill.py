"""Noticing that nothing in a run can move any more (DESIGN 4.2).

A wait for something that another task of the same run must do is an inside wait, and is made with a `Signal`. Every
other wait (users' code, a clock, a disk, a handle) is outside: something may come from there at any time. When every
task of the run waits inside, none will ever be woken: the run is stalled, and is told so at once instead of hanging.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from pullstream.engine.progress import Progress
    from pullstream.engine.waiting import Waiter

LOOKS_ON: ContextVar[bool] = ContextVar("LOOKS_ON", default=False)
"""Whether this task only looks on: that it waits, or hears of a failure, means nothing for the run or its user."""


class Standstill:
    """Which tasks of a run wait inside."""

    def __init__(self) -> None:
        self.nursery: trio.Nursery | None = None
        self.on_stall: Callable[[], None] | None = None
        """Called when nothing can move any more."""
        self.waiting: dict[Waiter, Progress] = {}
        """Who waits for a completion, and where to have it explained."""
        self._inside: set[trio.lowlevel.Task] = set()
        self._watching: set[trio.lowlevel.Task] = set()

    def watched_by(self, task: trio.lowlevel.Task) -> None:
        """A task that only looks on: whatever it and its own tasks do or wait for, they move nothing."""
        self._watching.add(task)
        # While it was about to start, it looked like one that may move something.
        self._check()

    def unwatched_by(self, task: trio.lowlevel.Task) -> None:
        """It looks on no more."""
        self._watching.discard(task)

    def enter(self, task: trio.lowlevel.Task) -> None:
        """A task begins to wait inside."""
        self._inside.add(task)
        self._check()

    def leave(self, task: trio.lowlevel.Task) -> None:
        """What a task waited for has come, or it is cancelled."""
        self._inside.discard(task)

    def _check(self) -> None:
        nursery = self.nursery
        if (
            nursery is None
            or self.on_stall is None
            or (len(self._inside) + len(self._watching) < len(nursery.child_tasks))
        ):
            return
        if self._nothing_moves(nursery):
            self.on_stall()

    def _nothing_moves(self, nursery: trio.Nursery) -> bool:
        tasks = list(self._tasks(nursery))
        waiting = all(task in self._inside or _waits_for_its_own(task) for task in tasks)
        return bool(tasks) and waiting and not any(_is_or_will_be_cancelled(task) for task in tasks)

    def _tasks(self, nursery: trio.Nursery) -> Iterator[trio.lowlevel.Task]:
        for task in nursery.child_tasks:
            if task not in self._watching:
                yield task
                for inner in task.child_nurseries:
                    yield from self._tasks(inner)


def _waits_for_its_own(task: trio.lowlevel.Task) -> bool:
    """Whether a task waits, at the end of a nursery block, for the tasks in it, which are looked at as well."""
    # Not a public attribute of trio's; were it gone, such a task would count as outside, and no stall be noticed.
    return any(
        getattr(nursery, "_parent_waiting_in_aexit", False) and bool(nursery.child_tasks)
        for nursery in task.child_nurseries
    )


def _is_or_will_be_cancelled(task: trio.lowlevel.Task) -> bool:
    """Whether a cancellation is on its way to a task, or a deadline, of a user's perhaps, will send one."""
    # For another task than the current one trio has no public way to ask; nor is its own fit for deep pipelines.
    status: Any = getattr(task, "_cancel_status", None)
    if status is not None and status.effectively_cancelled:
        return True
    while status is not None:
        scope: trio.CancelScope = status._scope  # noqa: SLF001 - see above
        if scope.deadline < inf:
            return True
        status = None if scope.shield else status._parent  # noqa: SLF001 - see above
    return False


class Signal:
    """An event that one task of a run waits for, and that another one of the same run sets."""

    __slots__ = ("_event", "_standstill", "_task")

    def __init__(self, standstill: Standstill) -> None:
        self._standstill = standstill
        self._event = trio.Event()
        self._task: trio.lowlevel.Task | None = None

    def set(self) -> None:
        """Wake the one who waits; from now on nobody waits."""
        if self._task is not None:
            # At once, not when it runs: it can move from now on.
            self._standstill.leave(self._task)
        self._event.set()

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._event.is_set()

    async def wait(self, *, outside: bool = False) -> None:
        """Wait until it is set; a wait that something else may end too, such as a deadline, is an `outside` one."""
        if outside or self._event.is_set():
            await self._event.wait()
            return
        self._task = task = trio.lowlevel.current_task()
        self._standstill.enter(task)
        try:
            await self._event.wait()
        finally:
            self._standstill.leave(task)
            self._task = None
