"""Writing modules of one's own: `@source`, `@transformer` and `@sink` (DESIGN 3.4).

A decorated function, or kernel class, is a factory of blueprints: it is always called, with the arguments of its own.
"""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Concatenate, ParamSpec, cast, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Module, Sink, Site, Source, Transformer, nearest
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.generator import GeneratorKernel
from pullstream.errors import CompositionError
from pullstream.protocol import Batch, Reader

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
P = ParamSpec("P")

_GIVEN = {"source": 1, "transformer": 2, "sink": 2}
"""How many arguments a run adds: (ctx) or (upstream, ctx)."""


@overload
def source(made: type[Kernel[B]], /) -> Callable[..., Source[B]]: ...
@overload
def source(made: Callable[Concatenate[Context, P], AsyncIterator[Batch[B]]], /) -> Callable[P, Source[B]]: ...
@overload
def source(made: Callable[Concatenate[Context, P], AsyncIterator[B]], /) -> Callable[P, Source[B]]: ...
def source(made: Callable[..., Any], /) -> Callable[..., Source[Any]]:
    """Make a source of an async generator `(ctx, ...)`, or of a `Kernel` class.

    It yields `Batch(time, values)` in time order, or plain values, which are at time 0. It is advanced only when it
    is asked, in a task of its own, and closed when the stream ends, however it ends.

    >>> import pullstream as ps
    >>> @ps.source
    ... async def days(ctx, month):
    ...     for day in range(1, 4):
    ...         yield ps.Batch((month, day), [f"{month}/{day}"])
    >>> ps.run(ps.pipe(days(5), ps.collect()))
    ['5/1', '5/2', '5/3']
    """
    return _factory("source", made, Source)


@overload
def transformer(made: type[Kernel[B]], /) -> Callable[..., Transformer[Any, B]]: ...
@overload
def transformer(
    made: Callable[Concatenate[Reader[A], Context, P], AsyncIterator[Batch[B]]], /
) -> Callable[P, Transformer[A, B]]: ...
def transformer(made: Callable[..., Any], /) -> Callable[..., Transformer[Any, Any]]:
    """Make a transformer of an async generator `(upstream, ctx, ...)`, or of a `Kernel` class.

    It yields `Batch(time, values)`; a batch larger than what was asked for is handed on in parts. See `Context` for
    what it may say when.

    >>> import pullstream as ps
    >>> @ps.transformer
    ... async def total(upstream, ctx):
    ...     totals = {}
    ...     async for event in ctx.events(upstream):
    ...         match event:
    ...             case ps.Batch(time, values):
    ...                 ctx.notify_at(time)
    ...                 totals[time] = totals.get(time, 0) + sum(values)
    ...             case ps.Completed(time):
    ...                 yield ps.Batch(time, [totals.pop(time)])
    >>> ps.run(ps.pipe(ps.values([1, 2, 10], time=lambda n: n // 10), total(), ps.collect()))
    [3, 10]
    """
    return _factory("transformer", made, Transformer)


def sink(made: Callable[Concatenate[Reader[A], Context, P], Awaitable[R]], /) -> Callable[P, Sink[A, R]]:
    """Make a sink of an async function `(upstream, ctx, ...)`; what it returns is the run's result.

    However it ends, its stream is ended with it: returning early aborts, raising tells the source why (R8). An
    effect that is still owed at a time is a `ctx.hold`, or a `ctx.notify_at`, of that time.

    >>> import pullstream as ps
    >>> @ps.sink
    ... async def longest(upstream, ctx):
    ...     best = ""
    ...     async for batch in ctx.batches(upstream):
    ...         best = max([best, *batch.values], key=len)
    ...     return best
    >>> ps.run(ps.pipe(ps.values(["a", "abc", "ab"]), longest()))
    'abc'
    """
    if not inspect.iscoroutinefunction(made):
        raise CompositionError(f"@sink at {Site.here()} decorates an async function (upstream, ctx, ...), not {made!r}")
    _takes("sink", made, _GIVEN["sink"])

    def factory(*args: P.args, **kwargs: P.kwargs) -> Sink[A, R]:
        _accepts(made, _GIVEN["sink"], args, kwargs)
        return Sink(
            (Module(made.__name__, partial(_body, made), args, tuple(cast("dict[str, object]", kwargs).items())),)
        )

    return _like(factory, made, _GIVEN["sink"])


def _body(made: Callable[..., Awaitable[Any]], *args: object, **kwargs: object) -> Callable[..., Awaitable[Any]]:
    def body(upstream: Reader[Any], context: Context) -> Awaitable[Any]:
        return made(upstream, context, *args, **kwargs)

    return body


def _generator(made: Callable[..., AsyncGenerator[Any, None]], *args: object, **kwargs: object) -> GeneratorKernel:
    return GeneratorKernel(made, args, kwargs)


def _factory(kind: str, made: Callable[..., Any], blueprint: type[Any]) -> Callable[..., Any]:
    given = _GIVEN[kind]
    if inspect.isclass(made) and issubclass(made, Kernel):
        make = cast("Callable[..., Kernel[Any]]", made)
        given = 0
    elif inspect.isasyncgenfunction(made):
        make = partial(_generator, made)
    else:
        raise CompositionError(
            f"@{kind} at {Site.here()} decorates an async generator function (one with a yield) or a Kernel "
            f"class, not {made!r}{_instead(kind, made)}",
        )

    function = cast("Callable[..., Any]", made)
    _takes(kind, function, given)

    def factory(*args: Any, **kwargs: Any) -> Any:
        _accepts(function, given, args, kwargs)
        return blueprint((Module(made.__name__, make, args, tuple(kwargs.items())),))

    return _like(factory, function, given)


def _instead(kind: str, made: object) -> str:
    """A hint for whoever decorated something else."""
    if inspect.isgeneratorfunction(made):
        name = made.__name__
        return f"; write async def {name}" + (f", or read what it yields with values({name}())" * (kind == "source"))
    return ""


def _takes(kind: str, made: Callable[..., Any], given: int) -> None:
    """Refuse, when decorating, a function that does not take what a run gives it."""
    parameters = inspect.signature(made).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return
    positional = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    if len(positional) < given:
        wanted = "ctx" if given == 1 else "upstream, ctx"
        raise CompositionError(
            f"@{kind} at {Site.here()} decorates a function that is called with ({wanted}), and maybe more, and "
            f"{made.__name__}{inspect.signature(made)} does not take these",
        )
    if given > 1 and (positional[0].name in {"ctx", "context"} or positional[1].name == "upstream"):
        raise CompositionError(
            f"@{kind} at {Site.here()} decorates a function that is called with (upstream, ctx), in this order, and "
            f"{made.__name__}{inspect.signature(made)} has them the other way round",
        )


def _accepts(made: Callable[..., Any], given: int, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Refuse, when composing, arguments that the decorated function would refuse when it is first asked."""
    signature = inspect.signature(made)
    try:
        signature.bind(*[None] * given, *args, **kwargs)
    except TypeError as exc:
        names = list(signature.parameters)
        hint = next((nearest(name, names[given:]) for name in kwargs if name not in names), "")
        first = ("ctx",) if given == 1 else ("upstream", "ctx")[:given]
        if not hint and given and "ctx" not in names and "context" not in names:
            hint = (
                f"; a run calls it with {' and '.join(first)} in front of its own arguments, and so it must take them: "
                f"async def {made.__name__}({', '.join([*first, *names])})"
            )
        raise CompositionError(f"{made.__name__}() at {Site.here()}: {exc}{hint}") from None


def _like(factory: Callable[P, R], made: Callable[..., Any], given: int) -> Callable[P, R]:
    """Give the factory the name, the text and the source of what was decorated, and the arguments it takes itself."""
    signature = inspect.signature(made)
    own = signature.replace(parameters=list(signature.parameters.values())[given:])
    vars(factory).update(__wrapped__=made, __signature__=own)
    factory.__name__ = made.__name__
    factory.__qualname__ = made.__qualname__
    factory.__doc__ = made.__doc__
    factory.__module__ = made.__module__
    return factory
