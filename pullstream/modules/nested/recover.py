"""`catch` and `retry`: recover from a failure upstream."""

from collections.abc import Callable, Hashable, Iterable
from math import inf
from typing import Annotated, Any, cast

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Natural, Seconds, Source, Sync, Transformer, checks
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import B, V
from pullstream.decorators import opens, source, transformer
from pullstream.engine.edge.backlog import at_times
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.interfaces import Finishing
from pullstream.engine.nested.inner_streams import forget_inner, open_inner
from pullstream.engine.nested.inner_times import follow_inner, inner_frontier
from pullstream.engine.parts.waking import Waking
from pullstream.engine.traits import Traits
from pullstream.errors import CapabilityError, ReuseError, raised_when_cancelled
from pullstream.frames import shown
from pullstream.logger import LOG
from pullstream.modules.sources.values import values
from pullstream.protocol import DONE, NOT_YET, WAIT, Batch, Done, Unanswered
from pullstream.timely import BEGINNING, Antichain, TimeDomainError, less_equal

Failures = type[BaseException] | tuple[type[BaseException], ...]


class Recovering(PolledKernel[Any]):
    """Reads a replacement for a failed stream; times that were open at the failure stay open until it passes them."""

    _on: Failures
    frozen: Antichain[Any] | None = None
    """The times that were open when a stream failed; None if none has failed."""
    current: Lane[Any] | None = None

    def begin(self, source: Source[Any]) -> None:
        """Open the stream to read from now on."""
        self.current = open_inner(self, source)
        follow_inner(self, self.current, self.mirrored)

    @override
    async def wait(self) -> None:
        """Wait for the answer of the current stream; raise a failure here that must not be replaced.

        That is the failure of a release while the ask is being cancelled. Any other failure in the same step as the
        cancellation is too late: the cancellation is raised instead.
        """
        lane = self.current or self.upstream
        await lane.ready()
        failure = lane.slot
        if isinstance(failure, self._on) and trio.current_effective_deadline() == -inf:
            if not raised_when_cancelled(failure):
                await trio.lowlevel.checkpoint_if_cancelled()
            raise failure

    def mirrored(self) -> Iterable[Hashable]:
        """Return the times that may still leave this module, none earlier than the frozen ones."""
        if self.current is None:
            return () if self.frozen is None else self.frozen
        front = inner_frontier(self.current)
        return front if self.frozen is None else after(self.frozen, front)


def after(frozen: Antichain[Any], front: Antichain[Any]) -> Antichain[Any]:
    """Return the part of `front` at or after `frozen`, and the part of `frozen` that it has not passed."""
    try:
        left = [time for time in frozen if any(not less_equal(time, other) for other in front)]
        return Antichain([*left, *(time for time in front if frozen.less_equal(time))])
    except TimeDomainError:
        # The stream fails with this error at its next batch; reading the frontier must not.
        return frozen


class Catch(Recovering):
    """Passes everything on until upstream fails."""

    traits = Traits(waits=False, trusted=True)

    def __init__(self, handler: Callable[[Any], Any] | None, on: Failures) -> None:
        self._handler = handler
        self._on = on
        self._over = False
        self._at: Hashable = None
        self._last: Hashable = BEGINNING

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self.frozen is None:
            try:
                batch = self.upstream.poll(limit)
            except self._on as failure:
                if failure is not self.upstream.edge.failure:
                    raise
                self._handle(failure)
            else:
                if isinstance(batch, Batch):
                    self._last = batch.time if batch.uniform else batch.times[-1]
                    self.upstream.settle()
                return batch
        if self.current is None:
            return DONE
        batch = self.current.poll(limit, many=False)
        if not isinstance(batch, Batch):
            return batch
        if self._at is not None:
            self.current.settle()
            return Batch(self._at, batch.values)
        if not self.frozen:
            raise CapabilityError(
                f"{self.location}, cannot continue with {shown(batch.values[0])}, because every time was complete when "
                f"the stream failed. Return None from the handler to end the stream"
            )
        if not self.frozen.less_equal(batch.time):
            raise CapabilityError(
                f"{self.location}, continues with a source that emitted at {batch.time!r}, but that time is already "
                f"complete. Emit at {' or '.join(map(repr, self.frozen))} or later, or return a collection, whose "
                f"values are delivered there"
            )
        self.current.settle()
        return batch

    def _handle(self, failure: BaseException) -> None:
        location = self.upstream.edge.location
        self.frozen = location.frontier
        self.location.mirror(self.frozen)
        location.withdraw_frozen()
        if self._handler is None:
            LOG.warning("%s, ended the stream, because it had failed with %r", self.location, failure)
            return
        instead = self._handler(failure)
        if isinstance(instead, Source):
            self.begin(cast("Source[Any]", instead))
        elif instead is not None:
            if not isinstance(instead, Iterable) or isinstance(instead, (str, bytes, Blueprint)):
                raise TypeError(
                    f"the handler of catch returned {instead!r}. It must return None (to end the stream), a source or "
                    f"a collection of values, or raise"
                )
            self._at = self._time_of_failure()
            self.begin(values(cast("Iterable[Any]", instead)))

    def _time_of_failure(self) -> Hashable:
        """Return the time at which a collection is delivered; None if every time was complete."""
        frozen = self.frozen
        if not frozen:
            return None
        if frozen.less_equal(self._last) and self._last is not BEGINNING:
            return self._last
        first = frozen.elements[0]
        return 0 if first is BEGINNING else first

    @override
    def mirrored(self) -> Iterable[Hashable]:
        return super().mirrored() if self._at is None else (self._at,)


def _failures(call: Call, on: Any) -> Any:
    kinds: tuple[Any, ...] = cast("Any", on) if isinstance(on, tuple) else (on,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            hint = f": write on={type(kind).__name__}" if isinstance(kind, BaseException) else ""
            raise call.refuse(f"needs exception types for its argument 'on', but got {kind!r}{hint}")
        if issubclass(trio.Cancelled, kind):
            raise call.refuse(
                f"got {kind.__name__}, which would also catch trio's cancellations. Use Exception, or name the types "
                f"to catch"
            )
    return cast("object", on)


def _handler(call: Call, handler: Any) -> Any:
    if not callable(handler):
        raise call.refuse(
            f"needs a function for its argument 'handler', but got {handler!r}: write lambda error: {handler!r}"
        )
    if isinstance(handler, type) and issubclass(handler, BaseException):
        raise call.refuse(
            f"needs a function for its argument 'handler', but got an exception type: write on={handler.__name__}"
        )
    return cast("object", handler)


@transformer
def catch(
    handler: Annotated[
        Callable[[Any], Source[B] | Iterable[B] | None] | None,
        _handler,
        Sync("return a source, which may await anything", generates=True),
    ] = None,
    *,
    on: Annotated[Failures, _failures] = Exception,
) -> Transformer[V, V | B]:
    """Handle a failure upstream: end the stream, continue with something else, or raise.

    >>> import pullstream as ps
    >>> broken = ps.concat(ps.values([1, 2]), ps.fail(OSError("line is dead")))
    >>> ps.run(ps.pipe(broken, ps.catch(), ps.collect()))
    [1, 2]
    >>> ps.run(ps.pipe(broken, ps.catch(lambda failure: [str(failure)]), ps.collect()))
    [1, 2, 'line is dead']

    Without a handler the stream ends, and a warning is logged. The handler is called with the failure. If it returns
    None, the stream ends. If it returns a collection, its values are delivered at the time of the failure. If it
    returns a source, that source is read, at its own times, none of which may be complete. If every time was
    complete at the failure, neither may have values. If it raises, that failure goes downstream. Failures of types
    other than `on` (a type, or a tuple of types; by default `Exception`) pass, and so do later failures.

    To open a source again each time it fails, use `retry`. A handler that returns a source with another `catch` opens
    each one inside the one before, which costs more each time and ends at Python's recursion limit.

    A time that was open at the failure stays open until the replacement has passed it or ended.

    A sink upstream that an option has added, as in `map(f, on_error=sink)`, gets the failure as well, and fails the run
    with it. Handle it there, too: `on_error=pipe(catch(), sink)`.

    Raises: CapabilityError: the replacement emitted at a time that was complete (raised by the stream).
    """
    return opens(Catch(handler, on))


@attrs.define(eq=False, slots=False)
class Retry(Waking[Any], Recovering, Finishing):
    """Opens a source, and opens it again when it fails."""

    traits = Traits(trusted=True, follows=True)

    _source: Source[Any]
    _times: int | None
    _delay: float
    _backoff: float
    _on: Failures
    _resume: Callable[[Any], Source[Any]] | None
    _skips: bool
    _reset_after: float
    _next_attempt = -inf
    """The moment at which the source may be opened again."""
    _failures = 0
    """The number of failures since the beginning, or since an attempt that lasted for `reset_after`."""
    _next_delay: float = attrs.field(init=False)
    """The seconds to wait after the next failure."""
    _failure: BaseException | None = attrs.field(init=False, default=None)
    """The failure of the last attempt, until the next one is opened."""
    _skip = 0
    _given = 0
    _last = None

    def __attrs_post_init__(self) -> None:
        self._next_delay = self._delay

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self.current is None:
            if self._next_attempt > trio.current_time():
                return WAIT
            self._open()
        lane = self.current
        assert lane is not None
        try:
            batch = lane.poll(limit)
        except self._on as failure:
            if trio.current_time() - self._opened >= self._reset_after:
                self._failures, self._next_delay = 0, self._delay
            if self._failures == self._times:
                failure.add_note(f"retry gave up after {self._failures + 1} attempt{'s' * (self._failures > 0)}")
                raise
            self._failure = failure
            self._again(lane)
            return NOT_YET
        if not isinstance(batch, Batch):
            return batch
        new = self._new(batch)
        if new is None:
            return NOT_YET
        self._given += len(new.values)
        self._last = new.values[-1]
        lane.settle()
        return new

    @override
    async def wait(self) -> None:
        if self.current is None:
            await self.sleep_until(self._next_attempt)
        else:
            await super().wait()

    @override
    def finish(self) -> None:
        # The open attempt ends by itself, and the next one is empty.
        self._delay = self._next_delay = 0.0
        self._next_attempt = -inf
        self.changed()

    def _open(self) -> None:
        failed, self._failure = self._failure, None
        self._opened = trio.current_time()
        try:
            self.begin(self._next())
        except ReuseError as refused:
            if failed is None:
                raise
            refused.add_note(
                "retry opens its source again after a failure: make the source with a function decorated with "
                "@ps.source, which runs anew each time, or pass resume="
            )
            raise refused from failed

    def _again(self, lane: Lane[Any]) -> None:
        """Freeze the open times of the failed stream, until the next attempt."""
        self._failures += 1
        self.frozen = Antichain(self.mirrored())
        self.location.mirror(self.frozen)
        self.current = None
        forget_inner(self, [lane])
        self._next_attempt = trio.current_time() + self._next_delay
        self._next_delay *= self._backoff

    def _next(self) -> Source[Any]:
        if self._resume is None or self.frozen is None or not self._given:
            self._skip = self._given if self._skips else 0
            return self._source
        source = self._resume(self._last)
        if not isinstance(source, Source):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's function
            raise TypeError(f"the resume= of retry must return a source, but returned {source!r}")
        return source

    def _new(self, batch: Batch[Any]) -> Batch[Any] | None:
        """Leave out the values to skip, and those at times that are complete; None if no others are left."""
        skipped = min(self._skip, len(batch.values))
        self._skip -= skipped
        if skipped == len(batch.values):
            return None
        new = batch.part(skipped) if skipped else batch
        return new if self.frozen is None else at_times(new, self.frozen.less_equal)


def _source(call: Call, given: Any) -> Any:
    if not isinstance(given, Source):
        raise call.refuse(
            f"needs a source, but got {given!r}. Use retry(pipe(source, transformer, ...)) to open all of it again. To "
            f"repeat a single call, do it in the function"
        )
    return cast("Source[Any]", given)


def _delay(call: Call, delay: Any) -> Any:
    return delay if delay == 0 else checks.seconds(call, delay)


def _backoff(call: Call, backoff: Any) -> Any:
    if not (isinstance(backoff, (int, float)) and backoff > 0):
        raise call.refuse(f"needs a positive number for its argument 'backoff', but got {backoff!r}")
    return backoff


def _resume(call: Call, resume: Any) -> Any:
    if call["skip_delivered"]:
        raise call.refuse("got both resume= and skip_delivered=: pass only one of them")
    return Sync("return a source, which may await anything")(call, resume)


@source
def retry(
    source: Annotated[Source[V], _source],
    times: Natural | None = 3,
    *,
    delay: Annotated[float, _delay] = 0.0,
    backoff: Annotated[float, _backoff] = 2.0,
    reset_after: Seconds | None = None,
    on: Annotated[Failures, _failures] = Exception,
    resume: Annotated[Function[V, Source[V]] | None, _resume] = None,
    skip_delivered: bool = False,
) -> Source[V]:
    """Read a source, and reopen it when it fails: at most `times` times (None: no limit), then pass the failure on.

    >>> import pullstream as ps
    >>> calls = []
    >>> @ps.source
    ... async def flaky(ctx):
    ...     calls.append("open")
    ...     yield 1
    ...     if len(calls) < 3:
    ...         raise OSError("line is dead")
    ...     yield 2
    >>> ps.run(ps.pipe(ps.retry(flaky()), ps.collect()))
    [1, 1, 1, 2]
    >>> calls.clear()
    >>> ps.run(ps.pipe(ps.retry(flaky(), skip_delivered=True), ps.collect()))
    [1, 2]

    Before the first new attempt it waits `delay` seconds, and before each later one `backoff` times as long. Both
    `times` and the wait count all failures of the run. Delivered values do not reset them: those may be the same values
    again, and a source that always fails at the same place would be opened forever. For a source that runs for weeks
    and fails now and then, pass `reset_after`: if an attempt has lasted that many seconds, by trio's clock, when it
    fails, both start again. So `retry(feed(), 5, delay=1, reset_after=60)` gives up after six failures in a row. Only
    failures of type `on` (a type, or a tuple of types) are retried; by default every `Exception`.

    A new attempt starts from the beginning. Values delivered before are delivered again, except at times that were
    already complete: nothing is repeated there. So a sum over an open time counts them twice; `skip_delivered`
    and `resume` avoid this. With `skip_delivered`, as many values are left out as were delivered, so the source must
    give the same values again. With `resume`, `resume(last)` gets the last delivered value and returns a source that
    continues from there (an offset, a cursor); if nothing was delivered, the source itself is opened again.

    A time that was open at the failure stays open until the new attempt has passed it or ended.

    Raises: ReuseError: the source reads an iterator or another one-shot argument, so it cannot be opened again; the
    failure is its cause.
    """
    reset = inf if reset_after is None else reset_after
    return opens(Retry(source, times, delay, backoff, on, resume, skip_delivered, reset))
