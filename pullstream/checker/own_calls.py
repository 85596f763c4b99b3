"""Verification of a module's calls of its own methods: acquire and release (R10), and the use of times (R12)."""

from collections.abc import Callable, Hashable
from typing import Any, Final, cast

from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.permitted import may_answer
from pullstream.engine.parts.notified import Notified
from pullstream.protocol import Batch
from pullstream.timely import BEGINNING

WATCHED: Final = "__watched__"
"""The mark of the classes made here."""


def watch(module: Any) -> None:
    """Verify a module's acquisitions and releases, its holds, and the times at which a `Notified` gives results."""
    if module.location.ports and not module.traits.trusted:
        _override(module.location, hold=_hold, freeze=_freeze)
    if isinstance(module, Notified):
        _override(module, acquire=_acquire, release=_release, notify=_notify)
        _override(module.ready, put=_put)
    else:
        _override(module, acquire=_acquire, release=_release)


def _override(watched: Any, **methods: Callable[..., Any]) -> None:
    """Override methods of an object with a subclass, so that the object's own calls are seen, too.

    The object keeps all its attributes. All objects of a class share one subclass.
    """
    kind = cast("Any", type(watched))
    made = [below for below in kind.__subclasses__() if WATCHED in vars(below)]
    namespace = {"__slots__": (), "__module__": kind.__module__, WATCHED: True, **methods}
    watched.__class__ = made[0] if made else type(kind.__name__, (kind,), namespace)


def _plain(watched: Any) -> Any:
    """The object with its own methods."""
    return cast("Any", super(type(watched), watched))


async def _acquire(module: Any) -> None:
    await module.__edge__.observer.resource.acquire(_plain(module).acquire)


async def _release(module: Any) -> None:
    await module.__edge__.observer.resource.release(_plain(module).release)


def _put(ready: Backlog, batch: Batch[Any]) -> None:
    for time in dict.fromkeys(batch.times):
        how = f"in `receive`, call notify({time!r}, {time!r}), not remind({time!r}), which holds nothing"
        _verify(ready.owner, time, "gave results at", how)
    _plain(ready).put(batch)


def _notify(module: Any, time: Hashable, held: Hashable, *, before: bool = False) -> None:
    how = "call it in `receive`, while a batch at that time is in flight"
    _verify(module, held, f"called notify({time!r}, {held!r}) and so held", how)
    _plain(module).notify(time, held, before=before)


def _hold(location: Any, time: Hashable) -> None:
    if time is not BEGINNING:
        how = "call location.hold(time) while a batch at that time is in flight: before the next ask"
        _verify(location.edge.module, time, "held", how)
    _plain(location).hold(time)


def _freeze(location: Any, lost: Callable[[], object] | None = None) -> None:
    # It holds what the module might still have answered. From now on, the module's own calls have no effect.
    location.__class__ = type(location).__base__
    location.freeze(lost)


def _verify(module: Any, time: Hashable, what: str, how: str) -> None:
    """Verify the right to a time when it is used: from then on the time is held, even if it was already complete."""
    edge = module.__edge__
    if not may_answer(edge.location, [] if edge.location.cuts else edge.inputs, time):
        record = edge.observer.resource.edge
        record.violated("R12", record.above, f"it {what} {time!r} without the right to it: {how}", says_how=True)
