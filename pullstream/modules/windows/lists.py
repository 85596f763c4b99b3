"""Types of modules that deliver values in windows; `pullstream.blueprint.structural` explains their form."""

# pyright: reportIncompatibleMethodOverride=false

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol

from typing_extensions import TypeVar

from pullstream.blueprint import Source, Transformer
from pullstream.modules.windows.window import Window

A = TypeVar("A")
K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)
X = TypeVar("X")

if TYPE_CHECKING:
    from pullstream.blueprint.structural import Takes

    class _OfWindowLists(Protocol):
        def __get__(
            self, module: object, owner: object = None, /
        ) -> Callable[[Source[X]], Source[Window[list[X]]]]: ...

    class WindowLists(Transformer[A, Window[list[A]]]):
        """A transformer that delivers values in windows."""

        _takes: Takes[A]
        _gives: _OfWindowLists

    class _OfWindowListsByKey(Protocol[K_co]):
        def __get__(
            self, module: object, owner: object = None, /
        ) -> Callable[[Source[X]], Source[Window[tuple[K_co, list[X]]]]]: ...

    class WindowListsByKey(Transformer[A, Window[tuple[K, list[A]]]], Generic[A, K]):
        """A transformer that delivers values in windows per key."""

        _takes: Takes[A]
        _gives: _OfWindowListsByKey[K]
else:  # so that help() shows plain types
    WindowLists = Transformer[A, Window[list[A]]]
    WindowListsByKey = Transformer[A, Window[tuple[K, list[A]]]]
