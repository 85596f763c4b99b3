"""Module types as protocols, for mypy; `parts` decides which type checkers see these.

mypy solves the type variables of a call, such as `pipe(...)`, from each argument separately. It does not carry what it
learns from one argument into the next, so it has already typed `collect()` as `Sink[Never, list[Never]]`. Only a type
that is still generic when it arrives (a function with its own type variables) is solved together with its neighbours.
So here a part of a pipe is anything with a method from a source to a source, or from a source to a result. For a module
whose types are not fixed until it is in its pipe, that method is generic. `_takes` states the known input type.
"""

# pyright: reportIncompatibleMethodOverride=false
# mypy: disable-error-code=assignment

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, overload

from typing_extensions import TypeVar

from pullstream.blueprint.modules import Sink, Source, Transformer
from pullstream.blueprint.variables import A, B, D, R
from pullstream.failures import Failed

X = TypeVar("X")
B_co = TypeVar("B_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
D_co = TypeVar("D_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)


class Onward(Protocol[A_contra, B_co]):
    """A transformer."""

    def _takes(self, value: A_contra, /) -> None: ...
    def _gives(self, source: Source[A_contra], /) -> Source[B_co]: ...


class Into(Protocol[A_contra, R_co]):
    """A sink."""

    def _takes(self, value: A_contra, /) -> None: ...
    def _results(self, source: Source[A_contra], /) -> R_co: ...


class Gathering(Generic[A_contra]):
    """A sink that returns its values as a list; not a module, because mypy needs none. See `Gathers`."""


class Gathers(Generic[A_contra]):
    """A sink that returns its values as a list.

    ty first solves a call's variables from each argument separately, and then keeps its solution for a list: for
    `collect()`, a list of Any. So `pipe` sees only the values and makes the list type itself.
    """


class Function(Protocol[A_contra, B_co]):
    """A function of a value. A lambda's argument is then `Any`; in a `Callable[[A], B]`, mypy keeps A as a type."""

    def __call__(self, value: A_contra, /) -> B_co:
        """Call it."""
        ...


class Function2(Protocol[A_contra, B_contra, B_co]):
    """A function of two values."""

    def __call__(self, one: A_contra, other: B_contra, /) -> B_co:
        """Call it."""
        ...


# Each type has a descriptor, because a descriptor returns new type variables each time. A method's type variables would
# be shared by all modules of a pipe, which would then need one common type.


class _Anything:
    """A type for `Takes` of a module that accepts any values."""


class Takes(Generic[A]):
    """The input type of an otherwise generic module, so that a function of another type is refused.

    For a lambda nothing is known, and `Any` counts as `_Anything`: if mypy puts an `Any` into a pipe's type variable,
    the variable becomes `Any`, and the types of its neighbours are lost.
    """

    @overload
    def __get__(self: "Takes[_Anything]", module: object, owner: object = None, /) -> Callable[[X], None]: ...
    @overload
    def __get__(self, module: object, owner: object = None, /) -> Callable[[A], None]: ...
    def __get__(self, module: object, owner: object = None, /) -> Any: ...


class _OfSame(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[X]]: ...


class Same(Transformer[A, A]):
    """A transformer that emits the values it receives."""

    _takes: Takes[A]
    _gives: _OfSame


class _OfSameOrFailed(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[X | Failed[X]]]: ...


class SameOrFailed(Transformer[A, B], Generic[A, B]):
    """A transformer that emits the values it receives, or their failures."""

    _takes: Takes[A]
    _gives: _OfSameOrFailed


class _OfLists(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[list[X]]]: ...


class Lists(Transformer[A, list[A]]):
    """A transformer that emits values in lists."""

    _takes: Takes[_Anything]
    _gives: _OfLists


class _OfTimedValues(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[tuple[Any, X]]]: ...


class TimedValues(Transformer[A, tuple[Any, A]]):
    """A transformer that emits each value with its time."""

    _takes: Takes[_Anything]
    _gives: _OfTimedValues


class _OfWithCounts(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[tuple[X, int]]]: ...


class WithCounts(Transformer[A, tuple[A, int]]):
    """A transformer that emits each value with a number."""

    _takes: Takes[_Anything]
    _gives: _OfWithCounts


class _OfFlattened(Protocol):
    def __get__(
        self, module: object, owner: object = None, /
    ) -> Callable[[Source[Source[X] | Iterable[X]]], Source[X]]: ...


class Flattened(Transformer[Source[A] | Iterable[A], A]):
    """A transformer that emits the values of its values."""

    _takes: Takes[_Anything]
    _gives: _OfFlattened


class _OfCollected(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], list[X]]: ...


class Collected(Gathers[A], Sink[A, list[A]]):
    """A sink that collects all values."""

    _takes: Takes[_Anything]
    _results: _OfCollected


class _OfCollectedTimed(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], list[tuple[Any, X]]]: ...


class CollectedTimed(Sink[A, list[tuple[Any, A]]]):
    """A sink that collects all values, each with its time."""

    _takes: Takes[_Anything]
    _results: _OfCollectedTimed


class _OfEmptied(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], None]: ...


class Emptied(Sink[A, None]):
    """A sink that discards its values."""

    _takes: Takes[_Anything]
    _results: _OfEmptied


class _OfOneOr(Protocol[D_co]):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], X | D_co]: ...


class OneOr(Sink[A, R], Generic[A, R, D]):
    """A sink that returns one value, or something else."""

    _takes: Takes[A]
    _results: _OfOneOr[D]
