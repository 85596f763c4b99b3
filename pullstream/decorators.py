"""Writing modules: `@source`, `@transformer` and `@sink`.

A decorated function or kernel class is a factory of blueprints: call it with its own arguments to compose a module. All
modules of this toolkit are made this way.
"""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec, cast, get_args, get_origin, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Blueprint, Sink, Site, Source, Transformer
from pullstream.blueprint.factory import factory, read_annotation
from pullstream.blueprint.variables import A, B, R
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.generator import GeneratorKernel
from pullstream.errors import CompositionError
from pullstream.protocol import Batch, Reader

P = ParamSpec("P")
Factory = TypeVar("Factory", bound=Callable[..., Any])
SourceFactory = TypeVar("SourceFactory", bound=Callable[..., Source[Any]])
TransformerFactory = TypeVar("TransformerFactory", bound=Callable[..., Transformer[Any, Any]])
SinkFactory = TypeVar("SinkFactory", bound=Callable[..., Sink[Any, Any]])

_SUPPLIED: Final = {"source": 1, "transformer": 2, "sink": 2}
"""The number of arguments a run passes before the module's own: (ctx), or (upstream, ctx)."""


def _nothing() -> None:
    """The argument of a decorator that was written with parentheses."""


def opens(work: Any) -> Any:
    """Return a run's work from a decorated function that is not async.

    It exists for type checkers: to them, the function returns the blueprint that calling it composes.

    >>> import pullstream as ps
    >>> @ps.transformer
    ... def doubled() -> ps.Transformer[int, int]:
    ...     return opens(Doubled())
    >>> class Doubled(ps.authoring.Kernel[int]):
    ...     async def produce(self, limit):
    ...         batch = await self.upstream.ask(limit)
    ...         return batch if batch is ps.DONE else ps.Batch(batch.time, [2 * value for value in batch.values])
    >>> ps.run(ps.pipe(ps.values([1, 2]), doubled(), ps.collect()))
    [2, 4]
    """
    return work


def alike(model: Factory, /) -> Callable[[Callable[..., Any]], Factory]:  # noqa: ARG001 - its type is what matters
    """Give a module the type of another one that is called in the same way. For type checkers only."""
    return lambda made: cast("Factory", made)


@overload
def source(made: Callable[Concatenate[Context, P], AsyncIterator[Batch[B]]], /) -> Callable[P, Source[B]]: ...
@overload
def source(made: Callable[Concatenate[Context, P], AsyncIterator[B]], /) -> Callable[P, Source[B]]: ...
@overload
def source(made: SourceFactory, /) -> SourceFactory: ...
@overload
def source(made: type[Kernel[B]], /) -> Callable[..., Source[B]]: ...
def source(made: Callable[..., Any] = _nothing, /) -> Callable[..., Source[Any]]:
    """Make a source from an async generator `(ctx, ...)`, a `Kernel` class, or a function that opens a kernel.

    A generator yields `Batch(time, values)` in time order, or plain values, which are at time 0. It runs in its own
    task, only when it is asked, and is closed when the stream ends for any reason. Yielding values one by one is cheap:
    one ask collects what the generator yields, until it waits, the limit is reached or a few milliseconds have passed.
    Values it has yielded belong to the consumer: do not change them afterwards. If the generator waits while its values
    are being delivered, it keeps waiting, and the end of the stream cancels it there. For functions that open a kernel,
    see `pullstream.authoring`.

    >>> import pullstream as ps
    >>> @ps.source
    ... async def days(ctx, month):
    ...     for day in range(1, 4):
    ...         yield ps.Batch((month, day), [f"{month}/{day}"])
    >>> ps.run(ps.pipe(days(5), ps.collect()))
    ['5/1', '5/2', '5/3']
    """
    return _factory(made, Source)


@overload
def transformer(
    made: Callable[Concatenate[Reader[A], Context, P], AsyncIterator[Batch[B]]], /
) -> Callable[P, Transformer[A, B]]: ...
@overload
def transformer(made: TransformerFactory, /) -> TransformerFactory: ...
@overload
def transformer(made: type[Kernel[B]], /) -> Callable[..., Transformer[Any, B]]: ...
def transformer(made: Callable[..., Any] = _nothing, /) -> Callable[..., Transformer[Any, Any]]:
    """Make a transformer from an async generator `(upstream, ctx, ...)`, a `Kernel` class, or a function opening one.

    A generator yields `Batch(time, values)`. A batch larger than what was asked for is passed on in parts; small ones
    are collected, as for `source`. `Context` says which times it may use, and when. For functions that open a
    kernel, see `pullstream.authoring`.

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
    return _factory(made, Transformer)


@overload
def sink(made: Callable[Concatenate[Reader[A], Context, P], Awaitable[R]], /) -> Callable[P, Sink[A, R]]: ...
@overload
def sink(made: SinkFactory, /) -> SinkFactory: ...
def sink(made: Callable[..., Any] = _nothing, /) -> Callable[..., Sink[Any, Any]]:
    """Make a sink from an async function `(upstream, ctx, ...)`; its return value is the run's result.

    The stream ends with the function: returning early aborts the stream, and raising reports the error to the source
    (R8). If an effect at a time is not done when you ask again, keep the time open with `ctx.hold` or `ctx.notify_at`.

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
    return _factory(made, Sink)


def _factory(made: Any, blueprint: type[Blueprint]) -> Any:
    kind, supplied = blueprint.kind, _SUPPLIED[blueprint.kind]
    if made is _nothing:
        raise CompositionError(f"@{kind} at {Site.here()} takes no arguments: write @ps.{kind} without parentheses")
    if blueprint is not Sink and _is_class(made, Kernel):
        return factory(made, blueprint)
    composes = _composes(made)
    if _is_class(composes, blueprint):
        return factory(made, composes)
    wanted = inspect.iscoroutinefunction if blueprint is Sink else inspect.isasyncgenfunction
    if wanted(made) and (inspect.isfunction(made) or inspect.ismethod(made)):
        _takes(kind, made, supplied)
        opening = partial(_Body if blueprint is Sink else _generator, made)
        return factory(made, blueprint, opening, supplied, gives=_given_by(made, kind, blueprint))
    what = (
        "an async function (upstream, ctx, ...)"
        if blueprint is Sink
        else "an async generator function (one with a yield) or a Kernel class"
    )
    raise CompositionError(f"@{kind} at {Site.here()} decorates {what}, not {made!r}{_instead(kind, made)}")


def _given_by(made: Any, kind: str, blueprint: Any) -> Any:
    """Return the blueprint type of an annotated function, from what its `upstream` reads and what it returns."""
    annotations: dict[str, Any] = made.__annotations__
    if "return" not in annotations:
        return None
    taken = get_args(annotations.get(made.__code__.co_varnames[0])) or (Any,)
    given = annotations["return"]
    if kind != "sink":
        given = (get_args(given) or (Any,))[0]
        given = get_args(given)[0] if get_origin(given) is Batch else given
    return blueprint[given] if kind == "source" else blueprint[taken[0], given]


def _is_class(made: object, kind: type[object]) -> bool:
    return isinstance(made, type) and issubclass(made, kind)


def _composes(made: Any) -> Any:
    """Return the type that a function is annotated to return."""
    annotation = read_annotation(getattr(made, "__annotations__", {}).get("return"), made)
    return get_origin(annotation) or annotation


def _generator(made: Callable[..., AsyncGenerator[Any, None]], *args: object, **kwargs: object) -> GeneratorKernel:
    return GeneratorKernel(made, args, kwargs)


class _Body:
    """A sink's function with its arguments."""

    __slots__ = ("_args", "_kwargs", "_made")

    def __init__(self, made: Callable[..., Awaitable[Any]], /, *args: object, **kwargs: object) -> None:
        self._made, self._args, self._kwargs = made, args, kwargs

    def __call__(self, upstream: Reader[Any], context: Context) -> Awaitable[Any]:
        return self._made(upstream, context, *self._args, **self._kwargs)


def _instead(kind: str, made: object) -> str:
    """Return a hint for what to decorate instead."""
    if isinstance(made, partial):
        return "; decorate the function itself, and give its arguments when you compose the module"
    if inspect.isgeneratorfunction(made):
        name = made.__name__
        return f"; write async def {name}" + (f", or read what it yields with values({name}())" * (kind == "source"))
    if inspect.isfunction(made) and not inspect.iscoroutinefunction(made) and not inspect.isasyncgenfunction(made):
        return f"; to open a kernel, annotate the function with what it composes: -> ps.{kind.title()}[...]"
    if kind == "sink" and inspect.isclass(made) and hasattr(made, "run"):
        return f"; write such a function around it, with `return await {made.__name__}(...).run(upstream, ctx)`"
    if kind == "sink" and inspect.isasyncgenfunction(made):
        return "; a sink returns its result and has no yield"
    if inspect.iscoroutinefunction(made):
        return f"; it has no yield{', and a function that reads and returns is a sink' * (kind == 'transformer')}"
    return ""


def _takes(kind: str, made: Callable[..., Any], given: int) -> None:
    """Refuse, when decorating, a function that does not accept the arguments of a run."""
    parameters = inspect.signature(made).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return
    positional = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    names = [parameter.name for parameter in positional]
    wanted = ["upstream", "ctx"][-given:]
    if len(positional) < given:
        written = ", ".join([*wanted, *(name for name in names if name not in wanted)])
        wrong = f"which a run calls with ({', '.join(wanted)}, ...): write async def {made.__name__}({written})"
    elif given == 1 and names[0] == "upstream":
        wrong = (
            f"but a source has no upstream: write async def {made.__name__}(ctx), or decorate it with @ps.transformer"
        )
    elif given > 1 and (names[0] in {"ctx", "context"} or names[1] == "upstream"):
        wrong = "which a run calls with (upstream, ctx, ...): swap its first two arguments"
    else:
        return
    what = f"{made.__name__}{inspect.signature(made)}"
    raise CompositionError(f"@{kind} at {Site.here()} decorates {what}, {wrong}")
