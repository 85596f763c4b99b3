"""Sinks: `collect`, `drain`, `reduce`."""

import functools
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Literal, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Module, Sink, callable_argument
from pullstream.engine.context import Context
from pullstream.protocol import DONE, Reader

A = TypeVar("A")
R = TypeVar("R")


@overload
def collect() -> Sink[A, list[A]]: ...
@overload
def collect(*, timed: Literal[False]) -> Sink[A, list[A]]: ...
@overload
def collect(*, timed: Literal[True]) -> Sink[A, list[tuple[Any, A]]]: ...
def collect(*, timed: bool = False) -> Sink[Any, list[Any]]:
    """Keep every value in a list; with `timed`, every (time, value) pair.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.collect()))
    ['a', 'b', 'c']
    >>> ps.run(ps.pipe(ps.values("abc", time=ord), ps.collect(timed=True)))
    [(97, 'a'), (98, 'b'), (99, 'c')]
    """
    return Sink((Module("collect", _collect, (), (("timed", True),) if timed else ()),))


def _collect(*, timed: bool = False) -> Callable[[Reader[Any], Context], Awaitable[list[Any]]]:
    async def body(upstream: Reader[Any], ctx: Context) -> list[Any]:
        values: list[Any] = []
        while (batch := await upstream.ask(ctx.limit)) is not DONE:
            values.extend([(batch.time, value) for value in batch.values] if timed else batch.values)
            await ctx.breathe()
        return values

    return body


def drain(function: Callable[[A], object] | None = None) -> Sink[A, None]:
    """Take every value and do nothing with it, or call a function for its effect.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.drain(print)))
    a
    b
    """
    if function is None:
        return Sink((Module("drain", _drain),))
    callable_argument("drain", "function", function)
    return Sink((Module("drain", _drain, (function,)),))


def _drain(function: Callable[[Any], object] | None = None) -> Callable[[Reader[Any], Context], Awaitable[None]]:
    async def body(upstream: Reader[Any], ctx: Context) -> None:
        while (batch := await upstream.ask(ctx.limit)) is not DONE:
            if function is not None:
                began = monotonic()
                for value in batch.values:
                    function(value)
                ctx.worked(monotonic() - began)
            await ctx.breathe()

    return body


def reduce(function: Callable[[R, A], R], initial: R) -> Sink[A, R]:
    """Fold all values into one, from `initial` on.

    >>> import operator, pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.reduce(operator.add, 0)))
    6

    `initial` is used by every run of the blueprint, so it must not be changed in place.
    """
    callable_argument("reduce", "function", function)
    return Sink((Module("reduce", _reduce, (function, initial)),))


def _reduce(function: Callable[[Any, Any], Any], initial: Any) -> Callable[[Reader[Any], Context], Awaitable[Any]]:
    async def body(upstream: Reader[Any], ctx: Context) -> Any:
        result = initial
        while (batch := await upstream.ask(ctx.limit)) is not DONE:
            began = monotonic()
            result = functools.reduce(function, batch.values, result)
            ctx.worked(monotonic() - began)
            # Freed before the next batch is made, whose values then take its place in the processor's cache.
            del batch
            await ctx.breathe()
        return result

    return body
