"""`dynamic_merge`: merges sources that may be added during the run."""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Module, Source, checks
from pullstream.blueprint.variables import T
from pullstream.engine.interfaces import Finishing
from pullstream.engine.nested.inner_streams import forget_inner, open_inner
from pullstream.engine.nested.inner_times import Opened
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.traits import Traits
from pullstream.errors import Ended
from pullstream.modules.combining.merge import Merge
from pullstream.modules.handles.handle import Grip, Handle
from pullstream.protocol import Unanswered
from pullstream.timely import BEGINNING


@attrs.frozen(repr=False)
class DynamicMerge(Handle["Added"], Source[T]):
    """A source and the handle that adds sources to it; made by `dynamic_merge`. Any thread may use it."""

    def add(self, *sources: Source[T]) -> None:
        """Add sources, before or during the run; they are opened at the next ask.

        Raises: Ended: `cap` was called before, or the stream has ended.
        """
        self._grip.add(checks.sources(Call("add"), sources))

    def cap(self) -> None:
        """Allow no more sources: the stream ends when all of its sources have ended."""
        self._grip.cap()


class Added(Grip["_DynamicMergeSource"]):
    """The sources that were added and are not open yet."""

    capped = over = False

    def __init__(self) -> None:
        super().__init__("dynamic_merge", once=True)
        self.waiting: deque[Source[Any]] = deque()

    def add(self, sources: tuple[Source[Any], ...]) -> None:
        """Queue sources, which are opened at the next ask."""
        if self.capped or self.over:
            why = "cap() was called before" if self.capped else "its stream has ended"
            raise Ended(f"{self}, cannot add a source: {why}")
        self.waiting.extend(sources)
        self.steer(self._grow)

    def cap(self) -> None:
        """Note that no more sources will be added."""
        self.capped = True
        self.steer(self._grow)

    def _grow(self) -> None:
        kernel = self.alive()
        if kernel is not None:
            kernel.grew()

    @override
    def __repr__(self) -> str:
        return ""


class _DynamicMergeSource(Merge, Finishing):
    traits = Traits(trusted=True, reorders=True, steered=True, follows=True)

    def __init__(self, added: Added) -> None:
        super().__init__()
        self._added = added
        self._finishing = False
        added.attach(self)

    @property
    def _capped(self) -> bool:
        """Whether no more sources will be added."""
        return self._added.capped or self._finishing

    @override
    async def acquire(self) -> None:
        await super().acquire()
        # Several sources together are not in order, even if each is, so the times that may still arrive are mirrored.
        self.location.steered = not self._capped
        self._opened = Opened(self, self.mirrored)
        self.edge.mirror(self.mirrored)

    def grew(self) -> None:
        """Check again after a source was added, or when no more will be."""
        if self.edge.acquired:
            self.location.steered = not self._capped
            self.changed()
            self.scope.sidecar.activate()

    @override
    def ask_inputs(self, limit: int) -> Unanswered:
        # Remove ended inputs in bulk, because it takes a pass over all of them.
        if 2 * self.going <= len(self.all):
            over = [each for each in self.all if each.done]
            self.leave(over)
            for each in over:
                self._opened.remove(each.lane)
            forget_inner(self, [each.lane for each in over])
        while self._added.waiting and self.failure_above is None:
            lane = open_inner(self, self._added.waiting.popleft())
            self._opened.add(lane)
            self.enter(Input(lane))
        return super().ask_inputs(limit)

    @property
    @override
    def outside(self) -> bool:
        return not self._capped

    @override
    def finished(self) -> bool:
        return self._capped and not self._added.waiting and super().finished()

    @override
    def finish(self) -> None:
        # The sources that are open end by themselves.
        self._finishing = True
        self.grew()

    def mirrored(self) -> Iterable[Hashable]:
        """Return the times that may arrive: any until `cap` is called, then those of the sources."""
        if self._added.waiting or not self._capped:
            return [BEGINNING]
        return self._opened.times()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._added.over = True
        self._added.waiting.clear()
        await super().dismiss(reason)

    @override
    async def release(self) -> None:
        await super().release()
        self.edge.mirror(None)
        forget_inner(self, list(self.inputs))


def dynamic_merge() -> DynamicMerge[Any]:
    """Merge sources that are added before and during the run: a source, and a handle with `add` and `cap`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     shops: ps.types.DynamicMerge[str] = ps.dynamic_merge()
    ...     shops.add(ps.values(["tea"]))
    ...     async with ps.pipe(shops, ps.collect()).open() as running:
    ...         shops.add(ps.values(["rice", "salt"]))
    ...         shops.cap()
    ...         return sorted(await running.result())
    >>> trio.run(main)
    ['rice', 'salt', 'tea']

    Values are delivered as they arrive, as in `merge`. The stream ends after `cap()`, when all sources have ended. Each
    batch keeps its time. Before `cap()`, no time is complete, because a source with any time may be added.

    It belongs to one run, and cannot be pickled. A second run is refused with `ReuseError`.
    """
    return DynamicMerge((Module("dynamic_merge", _DynamicMergeSource, (Added(),)),))
