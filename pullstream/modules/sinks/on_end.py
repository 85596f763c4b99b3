"""`on_end`: a sink that calls a function at the end, however the stream ends."""

from collections.abc import Callable
from typing import Annotated, Any

import trio

from pullstream.blueprint import Sync
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.fused import result_of
from pullstream.errors import Abandoned, without_cancelled
from pullstream.protocol import DONE, Reader


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
    at the end of the stream, the failure if the stream fails, and an `Abandoned` if the run is aborted or cancelled.
    The exception is then raised from the run as usual. If the function raises, its exception is raised instead, with
    the first one as its context.
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
    function(Abandoned("the run was aborted before its end"))
