"""`map`, `filter` and `tap`: stateless stages."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, overload

from typing_extensions import override

from pullstream.blueprint import Call, Module, Sync, Transformer
from pullstream.blueprint.checks import TRUTH
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.blueprint.variables import A, B, V
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.parts.fused import Kind, Stage, result_of
from pullstream.engine.parts.per_batch import PassOn
from pullstream.failures import Failed
from pullstream.modules.values.on_error import Handled, OnError, catches
from pullstream.protocol import Batch

Test: TypeAlias = Annotated[
    Callable[[Any], object], Sync("a test cannot await; use map_async first, then filter its results", TRUTH)
]


@overload
def map(function: Function[A, B], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def map(function: Function[A, B], *, on_error: Literal["result"]) -> Transformer[A, B | Failed[A]]: ...
@transformer
def map(
    function: Annotated[Callable[[Any], Any], Sync("use map_async(function, concurrency)")],
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a function to every value.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.map(str.upper), ps.collect()))
    ['A', 'B']

    Values keep their times. If the function raises, the values before are delivered, the source is notified, and the
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
        """Give the module that calls `on_end`."""
        return (Module("on_end", _OnEnd, (on_end,), site=module.site, follows=True),)


@overload
def tap(function: Function[V, object], on_end: OnEnd | None = None, *, on_error: OnError[V] = "fail") -> Same[V]: ...
@overload
def tap(
    function: Function[V, object], on_end: OnEnd | None = None, *, on_error: Literal["result"]
) -> SameOrFailed[V, V | Failed[V]]: ...
@transformer
def tap(
    function: Annotated[Callable[[Any], object], Sync("use map_async(function, concurrency), and return the value")],
    on_end: Annotated[OnEnd | None, _Sees()] = None,  # noqa: ARG001 - the module below calls it
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
    exception if the stream failed or an error was sent upstream, and None if the stream ended or was aborted. To see
    requests and answers as well, use `probe`.

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
