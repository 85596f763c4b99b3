"""`catch_up`: stored values first, then live ones."""

from collections.abc import Iterable
from typing import Annotated, Any, cast, overload

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Call, Instance, Positive, Source
from pullstream.blueprint.variables import S, T
from pullstream.decorators import opens, source
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.sidecar.location import above
from pullstream.modules.flow.prefetch import Prefetch
from pullstream.modules.sources.values import readable, values
from pullstream.protocol import WAIT, Batch, Done, Unanswered


class _CatchUp(Prefetch):
    """Asks ahead for the new values from the first ask on, and emits them after the old ones."""

    def __init__(self, new: Source[Any], old: Source[Any], capacity: int, sync: Batch[Any] | None = None) -> None:
        super().__init__(capacity)
        self.traits = attrs.evolve(self.traits, sources=(new, old))
        self._between = sync
        self._sync = Backlog(self)
        self._listening = False

    @override
    def placed(self) -> None:
        super().placed()
        old = self.inputs[1].edge.location
        for location in (old, *above(old)):
            location.superseded = True

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._old = Input(self.inputs[1])
        if self._between is not None:
            self._sync.put(self._between)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        old = self._old
        if not self._listening:
            return WAIT
        if old:
            return old.take(limit)
        if not old.done:
            old.reached()
            self.ask_input(old.lane, limit)
            return self.pending()
        return self._sync.take(limit) if self._sync else super().poll(limit)

    @override
    async def wait(self) -> None:
        if self._listening:
            await super().wait()
            return
        self._listening = True
        self.ask_ahead()
        # The subscription to new values must exist before the first old one is read. Each module on the way to it may
        # ask in tasks of its own, also in streams that it opens, and a task takes two turns of the scheduler.
        for _ in range(8 * (1 + len(above(self.inputs[0].edge.location)))):
            await trio.lowlevel.checkpoint()

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if lane is self._old.lane:
            self._old.receive(answer)
        else:
            super().arrived(lane, answer)


def _read(call: Call, old: Any) -> Source[Any]:
    if isinstance(old, Source):
        return cast("Source[Any]", old)
    readable(call, old)
    return values(old)


def _batch(call: Call, sync: Any) -> Any:
    if not (isinstance(sync, Batch) and sync.values):  # pyright: ignore[reportUnknownMemberType]
        raise call.refuse(f"needs a Batch(time, [value]) for its argument 'sync', but got {sync!r}")
    return cast("Batch[Any]", sync)


@overload
def catch_up(old: Source[T] | Iterable[T], new: Source[T], *, capacity: int = 1024, sync: None = None) -> Source[T]: ...
@overload
def catch_up(
    old: Source[T] | Iterable[T], new: Source[T], *, capacity: int = 1024, sync: Batch[S]
) -> Source[T | S]: ...
@source
def catch_up(
    old: Annotated[Source[Any] | Iterable[Any], _read],
    new: Annotated[Source[Any], Instance(Source, "needs a source of new values")],
    *,
    capacity: Positive = 1024,
    sync: Annotated[Batch[Any] | None, _batch] = None,
) -> Source[Any]:
    """Emit the stored values, `old`, first, and then the live ones, `new`, without a gap between them.

    >>> import pullstream as ps
    >>> messages = ps.catch_up(["hello", "anybody?"], ps.values(["yes"]), sync=ps.Batch(0, ["-- new --"]))
    >>> ps.run(ps.pipe(messages, ps.collect()))
    ['hello', 'anybody?', '-- new --', 'yes']

    `old` is a source or a collection. `new` is asked first, and throughout the reading of `old`, so values that arrive
    meanwhile are not missed. Its subscription must begin at the first ask, without waiting, as in `from_callback`. Up
    to `capacity` live values are kept until the stored ones have been read. When the buffer is full, `new` is not asked
    for more: a `pushable` or a channel waits, and a callback follows its `overflow=`. With `sync`, that batch comes
    between the stored values and the live ones.

    Each batch keeps its time. The time of `sync` is held from the first ask on. A time is complete when neither `old`
    nor `new` can emit any more values at it. If `new` fails, all values that arrived before the failure are delivered
    first (R8).
    """
    return opens(_CatchUp(new, cast("Source[Any]", old), capacity, sync))
