"""`collect`, `concat_values`, `drain` and `reduce`: basic sinks."""

import functools
from collections.abc import Awaitable, Callable, Iterable
from itertools import chain
from typing import Annotated, Any, Final, Literal, cast, get_origin, overload

from pullstream.blueprint import Call, Emits, Module, Sink, Sync, checked
from pullstream.blueprint.parts import Collected, CollectedTimed, Emptied, Function, Function2
from pullstream.blueprint.variables import A, R, V
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.countable import before_last, countable
from pullstream.engine.parts.fused import Kind, Stage, result_of
from pullstream.engine.sidecar.location import NOTHING
from pullstream.frames import shown
from pullstream.modules.folds.fold import Fold, fold_instead, fresh, step_or_fold
from pullstream.modules.values.on_error import OnError, Skips, catches, with_policy
from pullstream.protocol import DONE, Reader, listed
from pullstream.timely.order import is_total


@overload
def collect(*, timed: Literal[False] = False) -> Collected[V]: ...
@overload
def collect(*, timed: Literal[True]) -> CollectedTimed[V]: ...
@sink
@Emits.AT_THE_END
async def collect(upstream: Reader[Any], ctx: Context, *, timed: bool = False) -> list[Any]:
    """Collect every value in a list; with `timed`, `(time, value)` pairs.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abc"), ps.collect()))
    ['a', 'b', 'c']
    >>> ps.run(ps.pipe(ps.values("abc", time=ord), ps.collect(timed=True)))
    [(97, 'a'), (98, 'b'), (99, 'c')]

    The list is in the order of arrival or, in a run with a journal, in the order of the times.
    """
    if ctx.memory.saves:
        return [value for kept in await _kept_by_time(upstream, ctx, timed=timed) for value in kept]
    values: list[Any] = []
    while (batch := await upstream.ask_many(ctx.limit)) is not DONE:
        values += zip(batch.times, batch.values, strict=True) if timed else listed(batch.values)
        await ctx.breathe()
    return values


async def _kept_by_time(upstream: Reader[Any], ctx: Context, *, timed: bool = False) -> Iterable[list[Any]]:
    """Collect everything, including values of earlier runs, by time. Needs a journal."""
    memory = ctx.memory
    while (batch := await upstream.ask(ctx.limit)) is not DONE:
        kept = memory.at(batch.time, ordered=False).get(batch.time, [])
        kept.extend(zip(batch.times, batch.values, strict=True) if timed else batch.values)
        memory[batch.time] = kept
        await ctx.breathe()
    if all(map(is_total, memory)):
        # The order in which times arrived is lost if some of them arrived in an earlier run.
        return [memory[time] for time in sorted(memory)]
    return memory.values()


@overload
def drain() -> Emptied[V]: ...
@overload
def drain(function: Function[A, object] | None, *, on_error: OnError[A] = "fail") -> Sink[A, None]: ...
@checked
def drain(
    function: Annotated[Callable[[Any], object] | None, Sync("use map_async first, then drain its results")] = None,
    *,
    on_error: OnError[Any] = "fail",
) -> Sink[Any, None]:
    """Consume every value and discard it, or call a function for its effect.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.drain(print)))
    a
    b

    With an `on_error` (see `map`), a value whose call raises is left out and counted.
    """
    if function is None:
        return Sink((Module("drain", _drain),))
    if on_error == "fail":
        return Sink((Module("drain", _drain, (function,)),))
    module = Module("drain", _drain_guarded, (function,))
    return Sink((*with_policy(module, on_error, among=("fail", "skip")), Module("drain", _drain)))


def _drain_guarded(function: Callable[[Any], object], on_error: object) -> Stage:
    return Stage(Kind.TAP, function, catches(on_error))


def _tried(function: Callable[[Any], object], value: Any) -> object:
    return result_of(function, function(value))


def _drain(function: Callable[[Any], object] | None = None) -> Callable[[Reader[Any], Context], Awaitable[None]]:
    async def body(upstream: Reader[Any], ctx: Context) -> None:
        call: Callable[[Any], object] | None = function and functools.partial(_tried, function)
        while (batch := await upstream.ask_many(ctx.limit)) is not DONE:
            if call is not None:
                values = countable(batch)
                try:
                    for value in values:
                        call(value)
                except BaseException:
                    upstream.ack_but(batch.part(before_last(batch, values)))
                    raise
                call = function
            await ctx.breathe()

    return body


def _fold_or_step_from(call: Call, function: Any) -> Any:
    if not isinstance(function, Fold) and call["initial"] is NOTHING:
        instead = fold_instead(function) or ". Or pass a Fold, such as agg.sum()"
        raise call.refuse(f"needs an initial value: reduce(function, initial){instead}")
    return step_or_fold(call, function)


# Overloads, because not every type checker keeps the type variables of a decorated function.
@overload
def reduce(function: Fold[A, R], *, on_error: Skips = "fail") -> Sink[A, R]: ...
@overload
def reduce(function: Function2[R, A, R], initial: R, *, on_error: Skips = "fail") -> Sink[A, R]: ...
@sink
@Emits.AT_THE_END
async def reduce(
    upstream: Reader[Any],
    ctx: Context,
    function: Annotated[Any, _fold_or_step_from],
    initial: Any = NOTHING,
    *,
    on_error: Skips = "fail",
) -> Any:
    """Fold all values of the stream into one result, with `function(state, value)` and `initial`, or with a `Fold`.

    >>> import operator, pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.reduce(operator.add, 0)))
    6
    >>> ps.run(ps.pipe(ps.values("abc"), ps.reduce(ps.agg.count())))
    3

    `ps.agg` has ready-made folds: `count`, `sum`, `mean`, `min_by` and others. `reduce_by_time` and `reduce_by_key`
    give a result for each time.

    Every run starts with `initial`, of which a list, dict, set, deque or bytearray is copied; another object must not
    be changed in place. With `on_error="skip"`, a value whose call raises is left out and counted. To send such values
    to a sink, use `map` or `filter` with its `on_error` before `reduce`.
    """
    memory = ctx.memory
    fold = cast("Fold[Any, Any]", function) if initial is NOTHING else Fold(lambda: fresh(initial), function)
    result = memory["result"] if "result" in memory else fold.initial()
    function = fold.step
    # A journal saves time by time.
    ask = upstream.ask if memory.saves else upstream.ask_many
    while (batch := await ask(ctx.limit)) is not DONE:
        values = countable(batch)
        if memory.saves:
            # Before the state is changed in place, because it was saved as of the earlier times.
            memory.at(batch.time)
        try:
            if on_error == "fail":
                result = functools.reduce(function, values, result)
            else:
                result = _reduced(function, values, result, ctx)
        except BaseException:
            upstream.ack_but(batch.part(before_last(batch, values)))
            raise
        if memory.saves:
            memory["result"] = result
        # Free it before the next batch is made, whose values can then reuse its place in the processor's cache.
        del batch, values
        await ctx.breathe()
    return result_of(fold.finish, fold.finish(result_of(function, result)))


def _reduced(function: Callable[[Any, Any], Any], values: Iterable[Any], result: Any, ctx: Context) -> Any:
    for value in values:
        try:
            result = function(result, value)
        except Exception:  # noqa: BLE001 - handled by the policy
            ctx.skipped()
    return result


_PARTS: Final[dict[type[Any], Any]] = {str: str, bytes: (bytes, bytearray, memoryview), list: Iterable}
"""The classes of values that can be joined, by the kind of the result."""


def _joined(kind: type[Any], parts: Iterable[Any]) -> Any:
    parts = list(parts)
    try:
        return list(chain.from_iterable(parts)) if kind is list else kind().join(parts)
    except TypeError:
        for part in parts:
            if not isinstance(part, _PARTS[kind]):
                name = kind.__name__
                raise TypeError(
                    f"concat_values({name}) joins {name} values, but got {shown(part)}: map each value to one"
                ) from None
        raise


def _kind(call: Call, kind: Any) -> Any:
    kind = get_origin(kind) or kind
    if kind not in _PARTS:
        raise call.refuse(f"needs str, bytes or list, but got {kind!r}")
    return kind


@overload
def concat_values() -> Sink[str, str]: ...
@overload
def concat_values(kind: type[str], /) -> Sink[str, str]: ...
@overload
def concat_values(kind: type[bytes], /) -> Sink[bytes | bytearray | memoryview, bytes]: ...
@overload
def concat_values(kind: type[list[A]], /) -> Sink[Iterable[A], list[A]]: ...
@sink
@Emits.AT_THE_END
async def concat_values(upstream: Reader[Any], ctx: Context, kind: Annotated[type[Any], _kind] = str, /) -> Any:
    """Join all values into one: strings, bytes or, with `list`, the elements of lists and other iterables.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["pull", "stream"]), ps.concat_values()))
    'pullstream'
    >>> ps.run(ps.pipe(ps.values([b"ab", b"c"]), ps.concat_values(bytes)))
    b'abc'
    >>> ps.run(ps.pipe(ps.values([[1, 2], [], [3]]), ps.concat_values(list)))
    [1, 2, 3]

    The cost is linear in the length of the result. An empty stream gives an empty `kind`.

    Raises: TypeError: a value is not of that kind.
    """
    join = functools.partial(_joined, kind)
    if ctx.memory.saves:
        return join(join(kept) for kept in await _kept_by_time(upstream, ctx))
    parts: list[Any] = []
    while (batch := await upstream.ask_many(ctx.limit)) is not DONE:
        handled = 0
        try:
            for run in batch.runs():
                parts.append(join(run.values))
                handled += len(run.values)
        except BaseException:
            upstream.ack_but(batch.part(handled))
            raise
        await ctx.breathe()
    return join(parts)
