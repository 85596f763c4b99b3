"""`on_end` and `at_completion`: functions called at the end of a stream, or for each complete time."""

from collections.abc import Awaitable, Callable, Hashable
from inspect import isawaitable
from typing import Annotated, Any

import trio

from pullstream.blueprint import Sync, checks
from pullstream.blueprint.variables import A
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.fused import result_of
from pullstream.errors import Abandoned, without_cancelled
from pullstream.protocol import DONE, Batch, Reader


@sink
async def on_end(
    upstream: Reader[Any],
    ctx: Context,
    function: Annotated[Callable[[BaseException | None], object], Sync("await it after the run instead")],
) -> None:
    """Consume every value, and call a function once at the end: with None, or with the exception that ended the stream.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.on_end(lambda exc: print("ended with", exc))))
    ended with None

    The function is called exactly once for each run, after everything upstream has released its resources. It gets None
    at the end of the stream, the failure if the stream fails, and an `Abandoned` if the run is aborted or cancelled,
    including by Ctrl-C. The run then raises the failure, the cancellation or KeyboardInterrupt as usual. If the
    function raises, its exception is raised instead, with the first one as its context.
    """
    try:
        while await upstream.ask_many(ctx.limit) is not DONE:
            await ctx.breathe()
    except BaseException as exc:
        reason = without_cancelled(exc)
        if reason is not None:
            result_of(function, function(reason))
            raise
        await _abandon(upstream, function)
        raise
    result_of(function, function(None))


async def _abandon(upstream: Reader[Any], function: Callable[[BaseException | None], object]) -> None:
    with trio.CancelScope(shield=True):
        try:
            await upstream.abort()
        except BaseException as exc:
            result_of(function, function(exc))
            raise
    function(Abandoned())


@sink
async def at_completion(
    upstream: Reader[A],
    ctx: Context,
    function: Annotated[Callable[[Any, list[A]], object | Awaitable[object]], checks.function, checks.runs],
) -> None:
    """Call a function with each time and the list of its values when the time is complete; it may be async.

    >>> import pullstream as ps
    >>> def store(day, sales):
    ...     print(f"day {day}: {sales}")
    >>> ps.run(ps.pipe(ps.values([11, 12, 20], time=lambda n: n // 10), ps.at_completion(store)))
    day 1: [11, 12]
    day 2: [20]

    A time counts as complete at the output (`progress.completed`) once the call has returned. Calls are made one at a
    time, earliest time first. A time without values gets no call. Values are kept until their time is complete. A call
    that raises fails the stream, and its time is never complete (R8). There is no `on_error`, because the call concerns
    a time, not a single value.
    """
    kept: dict[Hashable, list[A]] = {}
    async for event in ctx.events(upstream, many=True):
        if isinstance(event, Batch):
            for run in event.runs():
                if run.time not in kept:
                    ctx.notify_at(run.time)
                    kept[run.time] = []
                kept[run.time].extend(run.values)
            continue
        result = function(event.time, kept.pop(event.time))
        if isawaitable(result):
            await result
