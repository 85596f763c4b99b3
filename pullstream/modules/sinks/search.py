"""`find`, `first` and `last`: sinks that return one value."""

from collections.abc import Callable
from typing import Annotated, Any, overload

from pullstream.blueprint import Emits, Positive, Sync
from pullstream.blueprint.checks import TRUTH
from pullstream.blueprint.parts import Function, OneOr
from pullstream.blueprint.variables import A, D, V
from pullstream.decorators import alike, sink
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.countable import before_last, countable
from pullstream.engine.parts.fused import result_of
from pullstream.modules.values.on_error import Skips
from pullstream.protocol import DONE, Reader


@overload
def find(test: Function[A, object], *, limit: int = 1, on_error: Skips = "fail") -> OneOr[A, A | None, None]: ...
@overload
def find(test: Function[A, object], default: D, *, limit: int = 1, on_error: Skips = "fail") -> OneOr[A, A | D, D]: ...
@sink
async def find(
    upstream: Reader[Any],
    ctx: Context,
    test: Annotated[Callable[[Any], object], Sync("a test cannot await; use map_async first", TRUTH)],
    default: Any = None,
    *,
    limit: Positive = 1,
    on_error: Skips = "fail",
) -> Any:
    """Return the first value for which `test` is true, and abort upstream; `default` if there is none.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.integers(), ps.find(lambda n: n * n > 50)))
    8
    >>> ps.run(ps.pipe(ps.values("abc"), ps.find(str.isdigit, default="0")))
    '0'

    `find` asks for one value at a time, so nothing past the match is produced. If that does not matter, a larger
    `limit` is faster: upstream may then be that many values ahead. With `on_error="skip"`, a value whose test raises is
    left out and counted. To send such values to a sink, use `filter` with its `on_error` before `find`.
    """
    while (batch := await upstream.ask_many(min(limit, ctx.limit) if limit > 1 else 1)) is not DONE:
        values = countable(batch)
        for value in values:
            try:
                if result_of(test, test(value)):
                    return value
            except BaseException as exc:
                if on_error == "fail" or not isinstance(exc, Exception):
                    upstream.ack_but(batch.part(before_last(batch, values)))
                    raise
                ctx.skipped()
        await ctx.breathe()
    return default


@overload
def first() -> OneOr[V, V | None, None]: ...
@overload
def first(default: D) -> OneOr[V, V | D, D]: ...
@sink
async def first(upstream: Reader[Any], ctx: Context, default: Any = None) -> Any:
    """Return the first value, and abort upstream; `default` if there is none.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.integers(7), ps.first()))
    7
    """
    del ctx
    batch = await upstream.ask(1)
    return default if batch is DONE else batch.values[0]


@alike(first)
@sink
@Emits.AT_THE_END
async def last(upstream: Reader[Any], ctx: Context, default: Any = None) -> Any:
    """Return the last value; `default` if there is none.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.last()))
    'c'
    """
    memory = ctx.memory
    value = memory.get("last", default)
    ask = upstream.ask if memory.saves else upstream.ask_many
    while (batch := await ask(ctx.limit)) is not DONE:
        value = batch.values[-1]
        if memory.saves:
            memory.at(batch.time)["last"] = value
        del batch
        await ctx.breathe()
    return value
