"""`live`: what was, and then what comes."""

from collections.abc import Iterable
from typing import Annotated, Any, cast, overload

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Instance, Positive, Source
from pullstream.decorators import opens, source
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.outbox import Outbox
from pullstream.modules.flow.prefetch import Prefetch
from pullstream.modules.sources.values import values
from pullstream.protocol import Batch, Done

S = TypeVar("S")
T = TypeVar("T")


class _Live(Prefetch):
    """Asks ahead for the new values from the first ask on, and gives them after the old ones."""

    def __init__(self, new: Source[Any], old: Source[Any], capacity: int, sync: Batch[Any] | None = None) -> None:
        super().__init__(capacity)
        self.traits = attrs.evolve(self.traits, sources=(new, old))
        self._between = sync
        self._sync = Outbox(self)
        self._listening = False

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._old = Input(self.inputs[1])
        if self._between is not None:
            for run in self._between.runs():
                self._sync.put(run.time, run.values)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if not self._listening:
            self._listening = True
            self.ask_ahead()
            # Two turns of the scheduler, so that the new values are subscribed to before an old one is looked for.
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
        old = self._old
        while not old.done:
            if old.left:
                return old.part(limit)
            old.reached()
            self.ask_beside(old.lane, limit)
            await self.change()
        return self._sync.take(limit) if self._sync else await super().produce(limit)

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if lane is self._old.lane:
            self._old.came(answer)
        else:
            super().arrived(lane, answer)


def _read(call: Call, old: Any) -> Source[Any]:  # noqa: ARG001 - what every check is given
    return cast("Source[Any]", old) if isinstance(old, Source) else values(old)


def _batch(call: Call, sync: Any) -> Any:
    if not (isinstance(sync, Batch) and sync.values):  # pyright: ignore[reportUnknownMemberType]
        raise call.refuse(f"needs a Batch(time, [value]) as its sync, and got {sync!r}")
    return cast("Batch[Any]", sync)


@overload
def live(old: Source[T] | Iterable[T], new: Source[T], *, capacity: int = 1024, sync: None = None) -> Source[T]: ...
@overload
def live(old: Source[T] | Iterable[T], new: Source[T], *, capacity: int = 1024, sync: Batch[S]) -> Source[T | S]: ...
@source
def live(
    old: Annotated[Source[Any] | Iterable[Any], _read],
    new: Annotated[Source[Any], Instance(Source, "needs a source of what is new")],
    *,
    capacity: Positive = 1024,
    sync: Annotated[Batch[Any] | None, _batch] = None,
) -> Source[Any]:
    """Give the values of `old`, a source or a collection, and then those of `new`, without a gap between them.

    >>> import pullstream as ps
    >>> messages = ps.live(["hello", "anybody?"], ps.values(["yes"]), sync=ps.Batch(0, ["-- new --"]))
    >>> ps.run(ps.pipe(messages, ps.collect()))
    ['hello', 'anybody?', '-- new --', 'yes']

    `new` is asked first, and while `old` is being read: a subscription that is made without waiting, as that of
    `from_callback`, misses nothing that came after `old` was looked at. Up to `capacity` of its values are kept. When
    so many are, it is not asked for more, so a `pushable` or a channel waits, and a callback's `overflow=` says what
    happens. With `sync`, that batch comes between the old values and the new ones.

    Each batch keeps its time. `sync`'s is held from the first ask on; a time is complete when neither `old` nor `new`
    can give anything at it. If `new` fails, what came before of both is delivered first (R8).
    """
    return opens(_Live(new, cast("Source[Any]", old), capacity, sync))
