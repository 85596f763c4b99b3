"""Types of modules by what they make of a source, for type checkers alone; which one is shown them, `parts` decides.

mypy solves the type variables of one call, such as a `pipe(...)`, from each argument by itself: what is known from one
is not carried into the call that is the next, and `collect()` is a `Sink[Never, list[Never]]` by then. Only a type that
is generic when it arrives, a function with type variables of its own, is solved together with its neighbours. So a part
of a pipe is here anything with a method from a source to a source, or from a source to a result; and that of a module
whose types nothing fixes before it stands in its pipe is generic. What it is known to take, `_takes` says.
"""

# pyright: reportIncompatibleMethodOverride=false
# mypy: disable-error-code=assignment

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, overload

from typing_extensions import TypeVar

from pullstream.blueprint.modules import Sink, Source, Transformer
from pullstream.failures import Failed

A = TypeVar("A")
B = TypeVar("B")
D = TypeVar("D")
R = TypeVar("R")
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
    """A sink that gives a list of what it takes; no module, for mypy needs none. See `Gathers`."""


class Gathers(Generic[A_contra]):
    """A sink that gives a list of what it takes.

    ty solves the variables of a call from each argument by itself first, and keeps to what it has of a list: that of
    `collect()`, of Any. So `pipe` is shown the values alone, and makes the list.
    """


class Function(Protocol[A_contra, B_co]):
    """A function of a value. A lambda is then one of `Any`: in a `Callable[[A], B]` mypy takes A for a type."""

    def __call__(self, value: A_contra, /) -> B_co:
        """Call it."""
        ...


class Function2(Protocol[A_contra, B_contra, B_co]):
    """A function of two values."""

    def __call__(self, one: A_contra, other: B_contra, /) -> B_co:
        """Call it."""
        ...


# Each has a descriptor, because what that gives has new type variables each time: a method's are the same ones for all
# the modules of a pipe, which would then have to be of one type.


class _Anything:
    """A type for `Takes`, of a module that takes whatever comes."""


class Takes(Generic[A]):
    """The type of what a module takes that is generic otherwise: whose function is of something else is refused.

    Of a lambda nothing is known, and `Any` is `_Anything` as well: a pipe's type variable that something of `Any` is
    put into is `Any` itself, to mypy, and all that its neighbours say is lost.
    """

    @overload
    def __get__(self: "Takes[_Anything]", module: object, owner: object = None, /) -> Callable[[X], None]: ...
    @overload
    def __get__(self, module: object, owner: object = None, /) -> Callable[[A], None]: ...
    def __get__(self, module: object, owner: object = None, /) -> Any: ...


class _OfSame(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[X]]: ...


class Same(Transformer[A, A]):
    """A transformer that gives the values that it takes."""

    _takes: Takes[A]
    _gives: _OfSame


class _OfSameOrFailed(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[X | Failed[X]]]: ...


class SameOrFailed(Transformer[A, B], Generic[A, B]):
    """A transformer that gives the values that it takes, or their failures."""

    _takes: Takes[A]
    _gives: _OfSameOrFailed


class _OfLists(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[list[X]]]: ...


class Lists(Transformer[A, list[A]]):
    """A transformer that gives values in lists."""

    _takes: Takes[_Anything]
    _gives: _OfLists


class _OfTimedValues(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[tuple[Any, X]]]: ...


class TimedValues(Transformer[A, tuple[Any, A]]):
    """A transformer that gives each value with its time."""

    _takes: Takes[_Anything]
    _gives: _OfTimedValues


class _OfWithCounts(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], Source[tuple[X, int]]]: ...


class WithCounts(Transformer[A, tuple[A, int]]):
    """A transformer that gives each value with a number."""

    _takes: Takes[_Anything]
    _gives: _OfWithCounts


class _OfFlattened(Protocol):
    def __get__(
        self, module: object, owner: object = None, /
    ) -> Callable[[Source[Source[X] | Iterable[X]]], Source[X]]: ...


class Flattened(Transformer[Source[A] | Iterable[A], A]):
    """A transformer that gives the values of its values."""

    _takes: Takes[_Anything]
    _gives: _OfFlattened


class _OfCollected(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], list[X]]: ...


class Collected(Gathers[A], Sink[A, list[A]]):
    """A sink that keeps all values."""

    _takes: Takes[_Anything]
    _results: _OfCollected


class _OfCollectedTimed(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], list[tuple[Any, X]]]: ...


class CollectedTimed(Sink[A, list[tuple[Any, A]]]):
    """A sink that keeps all values, each with its time."""

    _takes: Takes[_Anything]
    _results: _OfCollectedTimed


class _OfEmptied(Protocol):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], None]: ...


class Emptied(Sink[A, None]):
    """A sink that keeps nothing."""

    _takes: Takes[_Anything]
    _results: _OfEmptied


class _OfOneOr(Protocol[D_co]):
    def __get__(self, module: object, owner: object = None, /) -> Callable[[Source[X]], X | D_co]: ...


class OneOr(Sink[A, R], Generic[A, R, D]):
    """A sink that gives one value, or something else."""

    _takes: Takes[A]
    _results: _OfOneOr[D]
