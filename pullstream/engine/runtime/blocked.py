"""Blocked tasks, and what they wait for as far as trio tells: the tasks of a nursery, or a cancellation.

Only here attributes of trio are used that are not public: for another task than the current one it has no other way to
ask. Where they are missing, `told` says so, and a run in which nothing can move hangs, as any trio program would.
"""

from math import inf
from typing import Any, Final

import trio


class _Never(float):
    """A deadline that never comes, by which the scopes of the toolkit's own are told from others."""


NEVER: Final = _Never(inf)


def own_scope(*, shield: bool = False) -> trio.CancelScope:
    """A cancel scope that nobody but the run itself cancels: to be waited in, it is none."""
    return trio.CancelScope(deadline=NEVER, shield=shield)


def running_program() -> trio.lowlevel.TrioToken | None:
    """The trio program that runs in this thread, if one does; not every trio has `in_trio_run`."""
    try:
        return trio.lowlevel.current_trio_token()
    except RuntimeError:
        return None


def told(task: trio.lowlevel.Task, nursery: trio.Nursery) -> bool:
    """Whether this trio tells what the functions below need to know; looked for in any task and any nursery."""
    status: Any = getattr(task, "_cancel_status", None)
    return (
        isinstance(getattr(nursery, "_parent_waiting_in_aexit", None), bool)
        and isinstance(getattr(status, "effectively_cancelled", None), bool)
        and isinstance(getattr(status, "_scope", None), trio.CancelScope)
        and hasattr(status, "_parent")
        and isinstance(own_scope().deadline, _Never)
    )


def joined(task: trio.lowlevel.Task) -> trio.Nursery | None:
    """The nursery at whose end a task waits for the tasks in it, if it does."""
    for nursery in task.child_nurseries:
        waits: bool = getattr(nursery, "_parent_waiting_in_aexit")  # noqa: B009 - see above
        if waits and nursery.child_tasks:
            return nursery
    return None


def may_be_cancelled(task: trio.lowlevel.Task, within: trio.CancelScope | None = None) -> bool:
    """Whether a cancellation is on its way to a task, or a scope that it waits in may be cancelled at any time.

    A scope may be, by a deadline or by whoever has it, unless it is an own one, or that of a nursery: what happens in a
    nursery is up to the tasks in it, which can be looked at. Scopes around the one that is given do not count.
    """
    status: Any = getattr(task, "_cancel_status")  # noqa: B009 - see above
    if status.effectively_cancelled:
        return True
    of_nurseries: set[trio.CancelScope] | None = None
    while status is not None:
        scope: trio.CancelScope = status._scope  # noqa: SLF001 - see above
        if scope is within:
            break
        if not isinstance(scope.deadline, _Never):
            if of_nurseries is None:
                of_nurseries = _scopes_of_nurseries(task)
            if scope.deadline < inf or scope not in of_nurseries:
                return True
        status = None if scope.shield else status._parent  # noqa: SLF001 - see above
    return False


def _scopes_of_nurseries(task: trio.lowlevel.Task) -> set[trio.CancelScope]:
    """The scopes of all nurseries that a task, or a task that it belongs to, has open."""
    scopes: set[trio.CancelScope] = set()
    above: trio.lowlevel.Task | None = task
    while above is not None:
        scopes.update(nursery.cancel_scope for nursery in above.child_nurseries)
        above = None if above.parent_nursery is None else above.parent_nursery.parent_task
    return scopes
