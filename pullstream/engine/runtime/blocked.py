"""Blocked tasks and their waits, as far as trio shows them: for the tasks of a nursery, or a cancellation.

This is the only file that uses private attributes of trio: it has no public way to inspect a task other than the
current one. Where they are missing, `supported` returns False, and a stalled run hangs, as any trio program would.
"""

import threading
from math import inf
from typing import Any, Final

import trio


class _Never(float):
    """A deadline that never comes. It distinguishes the toolkit's own cancel scopes from others."""


NEVER: Final = _Never(inf)


def own_scope(*, shield: bool = False) -> trio.CancelScope:
    """Make a cancel scope that only the run cancels; the deadlock detector ignores it."""
    return trio.CancelScope(deadline=NEVER, shield=shield)


def is_cancelled(scope: trio.CancelScope) -> bool:
    """Whether the code in a scope is cancelled, by the scope or, as far as trio shows it, from outside."""
    status: Any = getattr(scope, "_cancel_status", None)
    return scope.cancel_called or bool(getattr(status, "effectively_cancelled", False))


def running_program() -> trio.lowlevel.TrioToken | None:
    """The token of the trio program in this thread, if one runs; not every trio has `in_trio_run`."""
    try:
        return trio.lowlevel.current_trio_token()
    except RuntimeError:
        return None


def supported(task: trio.lowlevel.Task, nursery: trio.Nursery) -> bool:
    """Whether this version of trio has the attributes that the functions below need; any task and nursery will do."""
    status: Any = getattr(task, "_cancel_status", None)
    return (
        isinstance(getattr(nursery, "_parent_waiting_in_aexit", None), bool)
        and isinstance(getattr(status, "effectively_cancelled", None), bool)
        and isinstance(getattr(status, "_scope", None), trio.CancelScope)
        and hasattr(status, "_parent")
        and hasattr(nursery.cancel_scope, "_cancel_status")
        and isinstance(own_scope().deadline, _Never)
    )


def joined(task: trio.lowlevel.Task) -> trio.Nursery | None:
    """The nursery whose tasks a task waits for at the end of its block, if it does."""
    for nursery in task.child_nurseries:
        waits: bool = getattr(nursery, "_parent_waiting_in_aexit")  # noqa: B009 - see above
        if waits and nursery.child_tasks:
            return nursery
    return None


def may_be_cancelled(
    task: trio.lowlevel.Task, within: trio.CancelScope | None = None, around: trio.Nursery | None = None
) -> bool:
    """Whether a cancellation is on its way to a task, or a scope that the task waits in may be cancelled at any time.

    A deadline may cancel a scope, and so may any code that has a reference to it. Exceptions are the toolkit's own
    scopes, and those of nurseries: only the tasks of a nursery affect it, and these are inspected themselves. Scopes
    outside `within` do not count. `around` is a nursery of the task: only scopes around it count.
    """
    status: Any = getattr(task if around is None else around.cancel_scope, "_cancel_status")  # noqa: B009 - see above
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
    """The cancel scopes of all nurseries that a task, or one of its parent tasks, has open."""
    scopes: set[trio.CancelScope] = set()
    above: trio.lowlevel.Task | None = task
    while above is not None:
        scopes.update(nursery.cancel_scope for nursery in above.child_nurseries)
        above = None if above.parent_nursery is None else above.parent_nursery.parent_task
    return scopes


def opened_in(task: trio.lowlevel.Task, nursery: trio.Nursery) -> list[trio.Nursery]:
    """The nurseries that a task has opened inside another one of its own."""
    nurseries = task.child_nurseries
    return nurseries[nurseries.index(nursery) + 1 :]


def is_only_task(task: trio.lowlevel.Task, nursery: trio.Nursery, *, runs: bool) -> bool:
    """Whether a task is the main one of the program, with no others but those in the nursery of a run.

    False if its wait may be cut short, or if there is another thread of the program's own: either could continue and
    use the handles of the run. If the task itself `runs` the sinks, nurseries inside that one belong to the run.
    """
    own, main = task.parent_nursery, threading.main_thread()
    if (
        own is None
        or own.parent_task is not trio.lowlevel.current_root_task()
        or own.child_tasks != frozenset({task})
        or may_be_cancelled(task, around=nursery if runs else None)
        or threading.current_thread() is not main
        or any(thread is not main and not thread.daemon for thread in threading.enumerate())
    ):
        return False
    inside = [nursery, *(opened_in(task, nursery) if runs else ())]
    return all(child in inside or not child.child_tasks for child in task.child_nurseries)
