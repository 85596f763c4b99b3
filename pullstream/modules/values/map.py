"""`map` and `filter`: stateless stages."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Sync, Transformer
from pullstream.blueprint.checks import TRUTH
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import Kind, Stage
from pullstream.failures import Failed
from pullstream.modules.values.on_error import Handled, OnError, catches

A = TypeVar("A")
B = TypeVar("B")

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
