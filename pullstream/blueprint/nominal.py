"""Types of modules as they are: the classes, and `Callable`. Which type checker is shown them, `parts` decides."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import TypeVar

from pullstream.blueprint.modules import Sink, Transformer

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

Via = Transformer
Into = Sink
Function: TypeAlias = Callable[[A], B]
Function2: TypeAlias = Callable[[A, B], C]

if not TYPE_CHECKING:  # so that help() shows plain types
    Same = Transformer[A, A]
    Lists = Transformer[A, list[A]]
    TimedValues = Transformer[A, tuple[Any, A]]
    WithCounts = Transformer[A, tuple[A, int]]
    Collected = Sink[A, list[A]]
    CollectedTimed = Sink[A, list[tuple[Any, A]]]
    OneOrNone = Sink[A, A | None]
