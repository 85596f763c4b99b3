"""Resources of modules: acquisitions and releases, counted (R10)."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

from pullstream.checker.edge import WatchedEdge
from pullstream.errors import ReleaseTimeout

Call = Callable[[], Awaitable[None]]

WATCHED: Final = "__watched__"
"""Marks the classes made here."""


class Resource:
    """The resources of the module upstream of an edge."""

    def __init__(self, edge: WatchedEdge) -> None:
        self._edge = edge
        self._trouble: BaseException | None = None
        self.acquired = 0
        self.released = 0

    async def acquire(self, acquire: Call) -> None:
        """Let the module acquire its resources."""
        if not self._edge.asked:
            self._violated("acquired its resources before it was asked for a value")
        if self.acquired:
            self._violated("acquired its resources a second time")
        await acquire()
        self.acquired += 1

    async def release(self, release: Call) -> None:
        """Let the module release them."""
        self.released += 1
        if self.released > self.acquired:
            self._violated("released resources it does not have")
        try:
            await release()
        except BaseException as exc:
            self._trouble = exc
            raise

    def failed(self, failure: object) -> bool:
        """Whether a failure is the failure of the module's release."""
        return isinstance(failure, ReleaseTimeout) or (failure is not None and failure is self._trouble)

    def ended(self) -> None:
        """Verify, when the edge is over, that everything is released."""
        if self.acquired > self.released:
            self._violated("ended before releasing the resources it had acquired")

    def _violated(self, what: str) -> None:
        self._edge.violated("R10", self._edge.above, f"it {what}")


def watch(module: Any) -> None:
    """Let the observer of a module's edge count its acquisitions and releases.

    By a subclass, so that the module's own calls are counted too, and none of its attributes is replaced. There is one
    for all modules of a class.
    """
    kind = cast("Any", type(module))
    made = [below for below in kind.__subclasses__() if WATCHED in vars(below)]
    module.__class__ = made[0] if made else _watched(kind)


def _watched(kind: Any) -> Any:
    async def acquire(module: Any) -> None:
        await module.__edge__.observer.resource.acquire(partial(kind.acquire, module))

    async def release(module: Any) -> None:
        await module.__edge__.observer.resource.release(partial(kind.release, module))

    namespace = {
        "__slots__": (),
        "__module__": kind.__module__,
        WATCHED: True,
        "acquire": acquire,
        "release": release,
    }
    return type(kind.__name__, (kind,), namespace)
