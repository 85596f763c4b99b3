"""Windows in event time: their results, their state, and the base and the types of the modules that deliver them."""

# pyright: reportIncompatibleMethodOverride=false
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, Transformer
from pullstream.blueprint.variables import A, K
from pullstream.engine.parts.notified import Notified
from pullstream.engine.traits import Traits
from pullstream.failures import Caught
from pullstream.logger import LOG
from pullstream.modules.folds.accumulator import Accumulator, EarlyResults, KeyStates
from pullstream.modules.values.on_error import OnError
from pullstream.modules.windows.grid import TIMELESS, timeless
from pullstream.protocol import Batch

R_co = TypeVar("R_co", covariant=True)


@attrs.frozen
class Window(Generic[R_co]):
    """A result of the values at times from `start` up to, but not including, `end`."""

    start: Any
    end: Any
    value: R_co


@attrs.define(eq=False, slots=True)
class OpenWindow:
    """An open window, with the states of its values."""

    start: Any
    end: Any
    table: KeyStates


class Windowed(Notified):
    """Keeps open windows, each held at its end, and is notified when they are complete."""

    traits = Traits(trusted=True, later=True)

    def __init__(self, accumulator: Accumulator) -> None:
        super().__init__()
        self.accumulator = accumulator
        self._times: set[Any] = set()
        """The least and the greatest time of the first batches; none are added once there are two."""

    def note_times(self, batch: Batch[Any]) -> None:
        """Note the times of a batch, which are totally ordered, for the warning in `release`."""
        if len(self._times) < 2:
            self._times |= {batch.time} if batch.uniform else {min(batch.times), max(batch.times)}

    @override
    async def release(self) -> None:
        if timeless(self.location.ports[0].values, self._times):
            LOG.warning(
                "%s, got every value at the time 0, so all of them fell into one window. %s", self.location, TIMELESS
            )
        await super().release()

    def add(self, windows: Sequence[OpenWindow], values: Sequence[Any]) -> None:
        """Add values to open windows."""
        early: EarlyResults = []
        try:
            self.accumulator.add([window.table for window in windows], values, early)
        finally:
            for number, value in early:
                self.give(windows[number].end, [self.result(windows[number], value)])

    def result(self, window: OpenWindow, value: Any) -> Any:
        """Return a result with its window; the mark of a failure stays as it is."""
        return value if value.__class__ is Caught else Window(window.start, window.end, value)


class FoldOptions(TypedDict, Generic[A], total=False):
    """The options of all windows, for type checkers."""

    eager: bool
    on_error: OnError[A]


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
