"""Sinks that look for one value: `find`, `first`, `last`."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Module, Sink, count_argument, sync_argument
from pullstream.engine.nested.on_error import skip_option
from pullstream.engine.parts.context import Context
from pullstream.protocol import DONE, Reader

A = TypeVar("A")
D = TypeVar("D")

Skip = Literal["fail", "skip"]

Body = Callable[[Reader[Any], Context], Awaitable[Any]]


@overload
def find(test: Callable[[A], object], *, limit: int = 1, on_error: Skip = "fail") -> Sink[A, A | None]: ...
@overload
def find(test: Callable[[A], object], default: A, *, limit: int = 1, on_error: Skip = "fail") -> Sink[A, A]: ...
@overload
def find(test: Callable[[A], object], default: D, *, limit: int = 1, on_error: Skip = "fail") -> Sink[A, A | D]: ...
def find(
    test: Callable[[Any], object], default: Any = None, *, limit: int = 1, on_error: Skip = "fail"
) -> Sink[Any, Any]:
    """Give the first value for which `test` is true, and abort what is upstream; `default` if there is none.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(), ps.find(lambda n: n * n > 50)))
    8
    >>> ps.run(ps.pipe(ps.values("abc"), ps.find(str.isdigit, default="0")))
    '0'

    It asks for one value at a time, so that nothing past the match is produced. Where that does not matter, a larger
    `limit` is faster: what is upstream may then be up to so many values ahead. With `on_error="skip"` a value whose
    test raises is left out, and counted.
    """
    sync_argument("find", "test", test, "a test answers at once; map_async the values first")
    count_argument("find", "limit", limit, least=1)
    args = (test,) if default is None else (test, default)
    options = () if limit == 1 else (("limit", limit),)
    return Sink((Module("find", _find, args, (*options, *skip_option("find", on_error))),))


def _find(test: Callable[[Any], object], default: Any = None, limit: int = 1, on_error: str = "fail") -> Body:
    async def body(upstream: Reader[Any], ctx: Context) -> Any:
        while (batch := await upstream.ask(min(limit, ctx.limit) if limit > 1 else 1)) is not DONE:
            for value in batch.values:
                try:
                    if test(value):
                        return value
                except Exception:
                    if on_error == "fail":
                        raise
                    ctx.skipped()
            await ctx.breathe()
        return default

    return body


@overload
def first() -> Sink[A, A | None]: ...
@overload
def first(default: D) -> Sink[A, A | D]: ...
def first(default: Any = None) -> Sink[Any, Any]:
    """Give the first value, and abort what is upstream; `default` if there is none.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(7), ps.first()))
    7
    """
    return Sink((Module("first", _first, () if default is None else (default,)),))


def _first(default: Any = None) -> Body:
    async def body(upstream: Reader[Any], ctx: Context) -> Any:  # noqa: ARG001 - what every body is given
        batch = await upstream.ask(1)
        return default if batch is DONE else batch.values[0]

    return body


@overload
def last() -> Sink[A, A | None]: ...
@overload
def last(default: D) -> Sink[A, A | D]: ...
def last(default: Any = None) -> Sink[Any, Any]:
    """Give the last value; `default` if there is none.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.last()))
    'c'
    """
    return Sink((Module("last", _last, () if default is None else (default,)),))


def _last(default: Any = None) -> Body:
    async def body(upstream: Reader[Any], ctx: Context) -> Any:
        memory = ctx.memory
        value = memory.get("last", default)
        while (batch := await upstream.ask(ctx.limit)) is not DONE:
            value = batch.values[-1]
            if memory.saves:
                memory.at(batch.time)["last"] = value
            del batch
            await ctx.breathe()
        return value

    return body
