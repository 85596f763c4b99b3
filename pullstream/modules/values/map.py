"""Stateless stages: `map`, `filter`."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Sync, Transformer
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import Handled, OnError, catches
from pullstream.engine.parts.fused import Kind, Stage
from pullstream.failures import Failed

A = TypeVar("A")
B = TypeVar("B")

Test: TypeAlias = Annotated[
    Callable[[Any], object], Sync("a test answers at once; map_async the values first, and filter the results")
]


@overload
def map(function: Function[A, B], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def map(function: Function[A, B], *, on_error: Literal["result"]) -> Transformer[A, B | Failed[A]]: ...
@transformer
def map(
    function: Annotated[Callable[[Any], Any], Sync("map_async(function, concurrency) awaits its results")],
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a function to every value.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.map(str.upper), ps.collect()))
    ['A', 'B']

    Times are kept. If the function raises, the values before are delivered, the source is told, and the exception
    arrives at the sink (R8). With `on_error="skip"` the value is left out instead, and counted; with "result" it
    comes as `Failed(value, error)`; and with a sink, that is given the `Failed`, at its time and with back-pressure.

    >>> ps.run(ps.pipe(ps.values(["1", "x", "3"]), ps.map(int, on_error="skip"), ps.collect()))
    [1, 3]
    >>> told = ps.drain(lambda failed: print(f"{failed.value}: {type(failed.error).__name__}"))
    >>> ps.run(ps.pipe(ps.values(["1", "x", "3"]), ps.map(int, on_error=told), ps.collect()))
    x: ValueError
    [1, 3]

    Such a sink runs beside: when it fails, the run does; when it ends early, what fails afterwards is left out. If it
    acts when a time is complete, as a file does that grows, it acts at the very end where all is at one time, and not
    at all if the run is aborted before: with `ps.pipe(ps.epochs(1), sink)` each failure is at a time of its own, and is
    dealt with as it happens.
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

    Times are kept. If the test raises, see `map`.
    """
    return opens(Stage(Kind.FILTER, test, catches(on_error)))
