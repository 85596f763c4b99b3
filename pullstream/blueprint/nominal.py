"""Module types as classes and `Callable`. `parts` decides which type checkers see these."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from pullstream.blueprint.modules import Sink, Source, Transformer
from pullstream.blueprint.variables import A, B, C

Onward = Transformer
Into = Sink
Function: TypeAlias = Callable[[A], B]
Function2: TypeAlias = Callable[[A, B], C]
if TYPE_CHECKING:
    from pullstream.blueprint.structural import Gathers

    Gathering = Gathers
else:  # so that help() shows plain types
    Gathering = Sink[A, list[A]]
    Same = Transformer[A, A]
    Lists = Transformer[A, list[A]]
    TimedValues = Transformer[A, tuple[Any, A]]
    WithCounts = Transformer[A, tuple[A, int]]
    Flattened = Transformer[Source[A] | Iterable[A], A]
    Collected = Sink[A, list[A]]
    CollectedTimed = Sink[A, list[tuple[Any, A]]]
    SameOrFailed = Transformer[A, B]
    Emptied = Sink[A, None]
    OneOr = Sink[A, B | C]
