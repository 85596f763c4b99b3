"""`pausable`, `abortable`: handles that hold a stream up, or end it, from outside."""

from functools import partial
from typing import Any, ClassVar, Generic, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Site, Transformer
from pullstream.engine.parts.handle import Grip
from pullstream.engine.parts.pass_through import Passing
from pullstream.protocol import DONE, Batch, Done

V = TypeVar("V", default=Any)


class _Pause(Grip):
    def __init__(self, site: Site) -> None:
        super().__init__("pausable", site)
        self.paused = False

    def pause(self, *, paused: bool) -> None:
        self.paused = paused
        self.steer(self._look)

    def _look(self) -> None:
        kernel = self.alive()
        if isinstance(kernel, _Pausing):
            kernel.look()


class _Pausing(Passing):
    def __init__(self, grip: _Pause) -> None:
        self._grip = grip
        grip.attach(self)

    @override
    async def taken(self, limit: int) -> Batch[Any] | Done:
        while self._grip.paused:
            await self.change(outside=True)
        answer = await super().taken(limit)
        while self._grip.paused and answer is not DONE:
            await self.change(outside=True)
        return answer


@attrs.frozen(repr=False)
class Pausable(Transformer[V, V], Generic[V]):
    """A transformer and the handle that pauses it; made by `pausable`."""

    def pause(self) -> None:
        """Let nothing pass from now on; before the run opens, from its beginning on."""
        self._grip.pause(paused=True)

    def resume(self) -> None:
        """Let everything pass again."""
        self._grip.pause(paused=False)

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._grip.paused

    @property
    def _grip(self) -> _Pause:
        return cast("_Pause", self.modules[-1].args[0])


def pausable() -> Pausable[V]:
    """A handle to hold a stream up for a while: `pause()` and `resume()`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     tap: ps.Pausable[int] = ps.pausable()
    ...     tap.pause()
    ...     async with ps.pipe(ps.count(), tap, ps.take(3), ps.collect()).open() as running:
    ...         print(running.counters()[0].values_out, "values")
    ...         tap.resume()
    ...         return await running.result()
    >>> trio.run(main)
    0 values
    [0, 1, 2]

    While it is paused nothing is asked for, and a value that was asked for before waits here, in flight, so that its
    time is not complete. Terminations pass in both directions: an abort is confirmed, the end and a failure arrive.

    It belongs to one run at a time: a second is refused with `ReuseError`, and so is pickling. To be used from whatever
    thread.
    """
    return Pausable((Module("pausable", _Pausing, (_Pause(Site.here()),)),))


# ---- abortable


class _Switch(Grip):
    def __init__(self, site: Site) -> None:
        super().__init__("abortable", site)
        self.early: list[BaseException | None] = []

    def abort(self, reason: BaseException | None) -> None:
        self.steer(partial(self._abort, reason))

    def _abort(self, reason: BaseException | None) -> None:
        kernel = self.alive()
        if isinstance(kernel, _Switched):
            kernel.switch(reason)
        elif not self.used:
            self.early.append(reason)


class _Switched(Passing):
    """Ends by itself when it is told to, whether anybody asks or not."""

    outside: ClassVar[bool] = True
    takes_many = True

    def __init__(self, grip: _Switch) -> None:
        grip.attach(self)
        self._early = grip.early[:1]
        grip.early.clear()

    def switch(self, reason: BaseException | None) -> None:
        self.edge.end_here(reason)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if not self._early:
            return await super().produce(limit)
        if self._early[0] is not None:
            raise self._early[0]
        return DONE


@attrs.frozen(repr=False)
class Abortable(Transformer[V, V], Generic[V]):
    """A transformer and the handle that ends its stream; made by `abortable`."""

    def abort(self, reason: BaseException | None = None) -> None:
        """End the stream, in both directions: what is above is aborted, and what is below gets the end.

        With a reason, what is above is told, and what is below fails with it. The first call counts; before the run
        opens, it ends at its first ask; once the stream has ended, nothing changes. Returns at once.
        """
        if reason is not None and not isinstance(reason, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the reason of an abort is an exception, and not {reason!r}")
        cast("_Switch", self.modules[-1].args[0]).abort(reason)


def abortable() -> Abortable[V]:
    """A handle to end a stream from outside: `abort(reason=None)`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     stop: ps.Abortable[int] = ps.abortable()
    ...     ticks = ps.pipe(ps.interval(0.001), stop, ps.collect())
    ...     async with ticks.open() as running:
    ...         await trio.sleep(0.1)
    ...         stop.abort()
    ...         return await running.result()
    >>> trio.run(main)[:3]
    [0, 1, 2]

    Below, the stream ends as below `take`: the sinks finish, and the run succeeds, where `running.abort()` abandons
    them. What is above is let go at once, whether anybody asks or not, and before the end is answered (R7). A value
    under way is dropped. An abort from below passes.

    It belongs to one run at a time: a second is refused with `ReuseError`, and so is pickling. To be used from whatever
    thread.
    """
    return Abortable((Module("abortable", _Switched, (_Switch(Site.here()),)),))
