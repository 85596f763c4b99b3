"""`pausable` and `abortable`: handles that pause or end a stream from outside."""

from collections.abc import Awaitable
from functools import partial
from typing import Any, Generic

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Module, Transformer, checks
from pullstream.blueprint.variables import V
from pullstream.engine.parts.pass_through import Passing
from pullstream.modules.handles.handle import Grip, Handle
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered


class _Pause(Grip):
    paused = False

    def pause(self, *, paused: bool) -> None:
        self.paused = paused
        self.wake()


class _Pausing(Passing):
    def __init__(self, grip: _Pause) -> None:
        self._grip = grip
        grip.attach(self)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        # A value that was asked for earlier waits; an end or a failure passes.
        self._paused = self._grip.paused and bool(self.next or not self.next.known)
        if self._paused:
            self.ask_due()
            return WAIT
        return super().poll(limit)

    @override
    def wait(self) -> Awaitable[None]:
        return self.change(outside=self._paused)


@attrs.frozen(repr=False)
class Pausable(Handle[_Pause], Transformer[V, V], Generic[V]):
    """A transformer and the handle that pauses it; made by `pausable`."""

    def pause(self) -> None:
        """Let nothing pass from now on. If called before the run opens, the run begins paused."""
        self._grip.pause(paused=True)

    def resume(self) -> None:
        """Let values pass again."""
        self._grip.pause(paused=False)

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._grip.paused


def pausable() -> Pausable[V]:
    """Make a handle that pauses a stream: `pause()` and `resume()`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     tap: ps.types.Pausable[int] = ps.pausable()
    ...     tap.pause()
    ...     async with ps.pipe(ps.integers(), tap, ps.take(3), ps.collect()).open() as running:
    ...         print(running.counters()[0].values_out, "values")
    ...         tap.resume()
    ...         return await running.result()
    >>> trio.run(main)
    0 values
    [0, 1, 2]

    While it is paused, upstream is not asked, and a value that was already asked for waits here, in flight, so its time
    is not complete. An abort is confirmed. An end or a failure passes if it answers an ask that was sent before;
    otherwise it is noticed after `resume()`, by the next ask.

    It belongs to one run at a time, and cannot be pickled. A second run is refused with `ReuseError`. Any thread may
    use it.
    """
    return Pausable((Module("pausable", _Pausing, (_Pause("pausable"),)),))


# ---- abortable


class _Switch(Grip["_Switched"]):
    def __init__(self) -> None:
        super().__init__("abortable")
        self.early: list[BaseException | None] = []

    def abort(self, reason: BaseException | None) -> None:
        self.steer(partial(self._abort, reason))

    def _abort(self, reason: BaseException | None) -> None:
        kernel = self.alive()
        if kernel is not None:
            kernel.edge.end_here(reason)
        elif not self.used:
            self.early.append(reason)


class _Switched(Passing):
    """Lets its handle end the stream, even without an ask."""

    def __init__(self, grip: _Switch) -> None:
        grip.attach(self)
        self._early = grip.early[:1]
        grip.early.clear()

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if not self._early:
            return super().poll(limit)
        if self._early[0] is not None:
            raise self._early[0]
        return DONE

    @override
    def wait(self) -> Awaitable[None]:
        return self.change(outside=True)


@attrs.frozen(repr=False)
class Abortable(Handle[_Switch], Transformer[V, V], Generic[V]):
    """A transformer and the handle that ends its stream; made by `abortable`."""

    def abort(self, reason: BaseException | None = None) -> None:
        """End the stream in both directions: upstream is aborted, and downstream gets the end.

        With a reason, upstream is notified of it, and downstream fails with it. The first call counts. Before the run
        opens, it makes the stream end at its first ask; after the stream has ended, it has no effect. Returns
        immediately.
        """
        self._grip.abort(None if reason is None else checks.FAILURE(Call("abort"), reason))


def abortable() -> Abortable[V]:
    """Make a handle that ends a stream from outside: `abort(reason=None)`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     stop: ps.types.Abortable[int] = ps.abortable()
    ...     ticks = ps.pipe(ps.interval(0.001), stop, ps.collect())
    ...     async with ticks.open() as running:
    ...         await trio.sleep(0.1)
    ...         stop.abort()
    ...         return await running.result()
    >>> trio.run(main)[:3]
    [0, 1, 2]

    Downstream, the stream ends as with `take`: the sinks finish, and the run succeeds (`running.abort()` would abandon
    them). Upstream is released immediately, even without an ask, and before downstream gets the end (R7). A value in
    flight is dropped. An abort from downstream passes through.

    It belongs to one run at a time, and cannot be pickled. A second run is refused with `ReuseError`. Any thread may
    use it.
    """
    return Abortable((Module("abortable", _Switched, (_Switch(),)),))
