"""`on_end`: a sink that waits for the end, however it comes."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from pullstream.blueprint import Module, Sink, sync_argument
from pullstream.engine.parts.context import Context
from pullstream.errors import Abandoned, without_cancelled
from pullstream.protocol import DONE, Reader


def on_end(function: Callable[[BaseException | None], object]) -> Sink[Any, None]:
    """Take every value, and call a function once at the end: with None, or with the exception that ended it.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.on_end(lambda exc: print("ended with", exc))))
    ended with None

    It is called exactly once for each run, after everything upstream has let go: with None at the end of the stream,
    with its failure if it fails, and with an `Abandoned` when the run is aborted or cancelled. What ended the stream
    goes on to whoever runs it; if the function raises, what it raised goes on instead, with the first as its context.
    """
    sync_argument("on_end", "function", function, "await after the run instead")
    return Sink((Module("on_end", _on_end, (function,)),))


def _on_end(function: Callable[[BaseException | None], object]) -> Callable[[Reader[Any], Context], Awaitable[None]]:
    async def body(upstream: Reader[Any], ctx: Context) -> None:
        try:
            while await upstream.ask(ctx.limit) is not DONE:
                await ctx.breathe()
        except BaseException as exc:
            reason = without_cancelled(exc)
            if reason is not None:
                function(reason)
                raise
            await _abandon(upstream, function)
            raise
        function(None)

    return body


async def _abandon(upstream: Reader[Any], function: Callable[[BaseException | None], object]) -> None:
    with trio.CancelScope(shield=True):
        try:
            await upstream.abort()
        except BaseException as exc:
            function(exc)
            raise
    function(Abandoned("the run was aborted before its end"))
