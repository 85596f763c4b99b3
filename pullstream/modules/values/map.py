"""`map`, `filter` and `tap`: stateless stages. `flat_map` and `map_batches`: several results per value or batch."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, overload

from typing_extensions import override

from pullstream.blueprint import Call, Emits, Module, Source, Sync, Transformer, checks, shown_callable
from pullstream.blueprint.checks import TRUTH
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.blueprint.variables import A, B, V
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.nested.expand import Expand
from pullstream.engine.parts.fused import Kind, Stage, result_of
from pullstream.engine.parts.per_batch import PassOn
from pullstream.failures import Failed
from pullstream.modules.values.on_error import Handled, OnError, catches, guarded_iterable
from pullstream.protocol import Batch, listed

Test: TypeAlias = Annotated[
    Callable[[Any], object], Sync("a test cannot await; use map_async first, then filter its results", TRUTH)
]


@overload
def map(function: Function[A, B], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def map(function: Function[A, B], *, on_error: Literal["result"]) -> Transformer[A, B | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def map(
    function: Annotated[Callable[[Any], Any], Sync("use map_async(function, concurrency)", generates=True)],
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a function to every value.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.map(str.upper), ps.collect()))
    ['A', 'B']

    Values keep their times. If the function raises, earlier values are delivered, the source is notified, and the
    exception is raised at the sink (R8). With `on_error="skip"`, the value is left out and counted. With "result",
    `Failed(value, error)` takes its place. With a sink as `on_error`, the sink receives the `Failed`, at its time and
    with back-pressure.

    >>> ps.run(ps.pipe(ps.values(["1", "x", "3"]), ps.map(int, on_error="skip"), ps.collect()))
    [1, 3]
    >>> report = ps.drain(lambda failed: print(f"{failed.value}: {type(failed.error).__name__}"))
    >>> ps.run(ps.pipe(ps.values(["1", "x", "3"]), ps.map(int, on_error=report), ps.collect()))
    x: ValueError
    [1, 3]

    The sink runs alongside the pipeline. If the sink fails, the run fails. If it ends early, later failures are left
    out. A sink that acts when a time is complete, such as a growing file, acts only at the very end if all values are
    at one time, and never if the run is aborted first. Use `ps.pipe(ps.stamp_epochs(1), sink)` to give each failure a
    time of its own, so that it is handled immediately.
    """
    return opens(Stage(Kind.MAP, function, catches(on_error)))


@overload
def filter(test: Function[A, object], *, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def filter(test: Function[A, object], *, on_error: Literal["result"]) -> SameOrFailed[A, A | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def filter(test: Test, *, on_error: Handled = "fail") -> Transformer[Any, Any]:
    """Keep the values for which `test` is true.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(6)), ps.filter(lambda n: n % 2), ps.collect()))
    [1, 3, 5]

    Values keep their times. Errors in `test` are handled as in `map`.
    """
    return opens(Stage(Kind.FILTER, test, catches(on_error)))


@alike(filter)
@transformer
@Emits.AT_ONCE
def filter_not(test: Test, *, on_error: Handled = "fail") -> Transformer[Any, Any]:
    """Keep the values for which `test` is false: `filter(lambda value: not test(value))`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["a", " ", "b"]), ps.filter_not(str.isspace), ps.collect()))
    ['a', 'b']
    """
    return opens(Stage(Kind.FILTER_NOT, test, catches(on_error)))


OnEnd = Callable[[BaseException | None], object]


class _Sees:
    """A check for the `on_end` of `tap`, which adds a module of its own."""

    def __call__(self, call: Call, on_end: Any) -> Any:
        return Sync("on_end is called after the stream has ended and cannot await")(call, on_end)

    def below(self, module: Module, on_end: OnEnd) -> tuple[Module, ...]:
        """Make the module that calls `on_end`."""
        return (Module("on_end", _OnEnd, (on_end,), site=module.site, follows=True),)


@overload
def tap(function: Function[V, object], on_end: OnEnd | None = None, *, on_error: OnError[V] = "fail") -> Same[V]: ...
@overload
def tap(
    function: Function[V, object], on_end: OnEnd | None = None, *, on_error: Literal["result"]
) -> SameOrFailed[V, V | Failed[V]]: ...
@transformer
@Emits.AT_ONCE
def tap(
    function: Annotated[Callable[[Any], object], Sync("use map_async(function, concurrency), and return the value")],
    on_end: Annotated[OnEnd | None, _Sees()] = None,  # noqa: ARG001 - the added module calls it
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Call a function with every value, for its effect; the values pass unchanged.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.tap(print, on_end=print), ps.collect()))
    a
    b
    None
    ['a', 'b']

    `on_end` is called once, however the stream ends, after everything upstream has released its resources. It gets the
    exception if something failed, upstream or downstream. Otherwise it gets None: at the end of the stream, and also if
    the stream was aborted, by a module that has enough, by `running.abort()`, by a cancellation or by Ctrl-C. (The sink
    `on_end` gets an `Abandoned` in the last three cases.) To see requests and answers as well, use `probe`.

    Values keep their times. Errors in `function` are handled as in `map`; an error in `on_end` counts as a failed
    release (R8).
    """
    return opens(Stage(Kind.TAP, function, catches(on_error)))


class _OnEnd(PassOn):
    def __init__(self, on_end: OnEnd) -> None:
        self._on_end = on_end

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        return batch

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # Every ending passes through here, even if the stream was never asked.
        try:
            await super().dismiss(reason)
        except BaseException as exc:
            result_of(self._on_end, self._on_end(exc))
            raise
        result_of(self._on_end, self._on_end(reason))


class _MapBatches(Expand):
    """Treats each batch, as a list, as one value."""

    @override
    def wanted(self, limit: int) -> int:
        return limit

    @override
    def batch(self, values: Sequence[Any]) -> Iterator[Any]:
        # A new list, because the function may change it.
        return iter([[*listed(values)]])

    @override
    def instead(self, got: str) -> str:
        hint = ". Methods that change a list, such as list.sort(), return None" if got == "None" else ""
        return f"calls its function with lists, but got {got}: return a list (or another iterable) for each list{hint}"


@overload
def map_batches(
    function: Callable[[list[A]], Iterable[B]], *, on_error: OnError[list[A]] = "fail"
) -> Transformer[A, B]: ...
@overload
def map_batches(
    function: Callable[[list[A]], Iterable[B]], *, on_error: Literal["result"]
) -> Transformer[A, B | Failed[list[A]]]: ...
@transformer
@Emits.AT_ONCE
def map_batches(
    function: Annotated[Callable[[list[Any]], Iterable[Any]], checks.function], *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Apply a function to whole batches: lists of values at one time, at most as long as the ask.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_batches(sorted), ps.collect()))
    [1, 2, 3]

    Each list belongs to the function, which may sort or empty it. The values in it are shared with other branches and
    with their source. The length of the lists depends on the consumer's asks. Use this for speed (a vectorised
    function), not for grouping. The result may have any length; results beyond the ask are kept for the next one. If
    the function raises, its whole list has failed: with `on_error` (see `map`), the list is the value of the `Failed`,
    and none of its values is delivered.
    """
    return opens(_MapBatches(guarded_iterable(function, whole=True) if catches(on_error) else function))


def _made_at_once(call: Call, function: Any) -> Any:
    if inspect.isasyncgenfunction(function):
        name = shown_callable(function)
        raise call.refuse(
            f"got the async generator function {name}: make a source of what it returns, with "
            f"flat_map(lambda value: from_async_iterable({name}(value)))"
        )
    return Sync("use map_async(function, concurrency), then flatten()", generates=True)(call, function)


@overload
def flat_map(function: Function[A, Iterable[B] | Source[B]], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def flat_map(
    function: Function[A, Iterable[B] | Source[B]], *, on_error: Literal["result"]
) -> Transformer[A, B | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def flat_map(
    function: Annotated[Callable[[Any], Iterable[Any] | Source[Any]], _made_at_once], *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Apply a function that returns any number of values for each value, and deliver them one after another.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["a b", "", "c"]), ps.flat_map(str.split), ps.collect()))
    ['a', 'b', 'c']

    Iterables are read only as far as the consumer asks, so they may be endless. A generator is closed if the stream
    ends before the generator does. Errors in the function or in an iterable are handled as in `map`; results that the
    iterable gave before the error are delivered.

    Upstream is asked for one value at a time, or for more while the results of each are delivered quickly.

    The function may return a source instead. It is opened and read to its end before the next value is taken:

    >>> ps.run(ps.pipe(ps.values("ab"), ps.flat_map(lambda value: ps.repeat(value, 2)), ps.collect()))
    ['a', 'a', 'b', 'b']

    Its values are at the time of the value that it was made for, and its failure fails the stream. To read several
    sources concurrently, or sources of sources, use `map` and `flatten`.
    """
    return opens(Expand(guarded_iterable(function) if catches(on_error) else function))
