"""What windows in event time have in common: their results, what is kept for them, and when they are over."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from heapq import heappop, heappush
from typing import Any, Final, Generic, Protocol

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import sync_argument
from pullstream.engine.parts.notified import Notified
from pullstream.engine.traits import Traits
from pullstream.logger import LOG
from pullstream.modules.folds.fold import Fold, fold_argument
from timely import less_than

R_co = TypeVar("R_co", covariant=True)


KEYS_AT_ONCE: Final = "a key is computed at once; map_async the values to (key, value) first"


@attrs.frozen
class Window(Generic[R_co]):
    """What came of the values at the times from `start` on and before `end`."""

    start: Any
    end: Any
    value: R_co


@attrs.define(eq=False, slots=True)
class Open:
    """A window that is not over, and what is kept of its values."""

    start: Any
    end: Any
    state: Any


class Account(Protocol):
    """What is kept of a window's values, and what comes of it."""

    def new(self) -> Any:
        """What is kept before the first value."""
        ...

    def add(self, windows: Sequence[Open], values: Sequence[Any], out: list[tuple[Open, Any]] | None) -> None:
        """Take values into windows, value by value; results so far go into `out`, if there is one."""
        ...

    def results(self, state: Any) -> Sequence[Any]:
        """What comes of a window in the end."""
        ...


class _Whole:
    """One result for a window; without a fold, the list of its values."""

    def __init__(self, fold: Fold[Any, Any] | None) -> None:
        self._fold = fold
        self.new: Callable[[], Any] = list if fold is None else fold.initial

    def add(self, windows: Sequence[Open], values: Sequence[Any], out: list[tuple[Open, Any]] | None) -> None:
        fold = self._fold
        if out is None and fold is None:
            for window in windows:
                window.state.extend(values)
        elif out is None and fold is not None and len(windows) == 1:
            windows[0].state = reduce(fold.step, values, windows[0].state)
        else:
            step = _listed if fold is None else fold.step
            finish = list[Any] if fold is None else fold.finish
            for value in values:
                for window in windows:
                    window.state = step(window.state, value)
                    if out is not None:
                        out.append((window, finish(window.state)))

    def results(self, state: Any) -> Sequence[Any]:
        return [state if self._fold is None else self._fold.finish(state)]


class _Keyed:
    """A result for every key in a window, in the order in which they were first seen."""

    def __init__(self, key: Callable[[Any], Hashable], fold: Fold[Any, Any] | None) -> None:
        self._key = key
        self._fold = fold
        self._fresh: Callable[[], Any] = list if fold is None else fold.initial

    def new(self) -> dict[Hashable, Any]:
        # What is made for a missing key stays there even if the step then raises, which a failed stream never shows.
        return defaultdict(self._fresh)

    def add(self, windows: Sequence[Open], values: Sequence[Any], out: list[tuple[Open, Any]] | None) -> None:
        key, fold = self._key, self._fold
        step = _listed if fold is None else fold.step
        if out is None and len(windows) == 1:
            table = windows[0].state
            for value in values:
                name = key(value)
                table[name] = step(table[name], value)
            return
        finish = list[Any] if fold is None else fold.finish
        for value in values:
            name = key(value)
            for window in windows:
                held = window.state[name] = step(window.state[name], value)
                if out is not None:
                    out.append((window, (name, finish(held))))

    def results(self, state: dict[Hashable, Any]) -> Sequence[Any]:
        if self._fold is None:
            return list(state.items())
        finish = self._fold.finish
        return [(name, finish(held)) for name, held in state.items()]


def _listed(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def account(fold: Fold[Any, Any] | None, key: Callable[[Any], Hashable] | None) -> Account:
    """How the values of a window are kept."""
    return _Whole(fold) if key is None else _Keyed(key, fold)


class Windowed(Notified):
    """Windows that are open, each held at its end, and told when the first of them is over."""

    traits = Traits(trusted=True, later=True)

    def __init__(self, account: Account, *, eager: bool) -> None:
        super().__init__()
        self.account = account
        self._eager = eager
        self._met: list[Any] = []
        self.moments: list[Any] = []
        """A heap of what is expected; one that has been reached for nothing does no harm."""
        self._listening: Any = None

    def met(self, time: Any) -> None:
        """Values have come at a time, other than those just before."""
        if len(self._met) < 2:
            self._met.append(time)

    @override
    async def release(self) -> None:
        if len(self._met) == 1 and type(self._met[0]) is int and self._met[0] == 0:
            LOG.warning(
                "%s, got everything at the time 0, which is that of a source that says nothing of time, and so all of "
                "it fell into one window: give the values times, with time= in the source or stamp(...) below it",
                self.location,
            )
        await super().release()

    def add(self, windows: Sequence[Open], values: Sequence[Any]) -> None:
        """Take values into windows that are open."""
        if not self._eager:
            self.account.add(windows, values, None)
            return
        out: list[tuple[Open, Any]] = []
        try:
            self.account.add(windows, values, out)
        finally:
            for window, value in out:
                self.give(window.end, [self.result(window, value)])

    def result(self, window: Open, value: Any) -> Window[Any]:
        """What is answered of a window."""
        return Window(window.start, window.end, value)

    def expect(self, moment: Any) -> None:
        """Ask for `reach(moment)`, which is called, once, when everything before it is complete; then `listen`."""
        heappush(self.moments, moment)

    def reached(self, moment: Any) -> bool:
        """Whether everything before it is complete."""
        progress = self.run.progress
        progress.look()
        return not any(less_than(front, moment) for place in self._places for front in progress.tracker.frontier(place))

    @abstractmethod
    def reach(self, moment: Any) -> None:
        """Everything before the moment is complete."""

    @override
    def complete(self, time: Any) -> None:
        self._listening = None
        while self.moments and self.moments[0] == time:
            heappop(self.moments)
        self.reach(time)
        self.listen()

    def listen(self) -> None:
        """Be told of the moment that comes first."""
        first = self.moments[0] if self.moments else None
        if first != self._listening:
            if self._listening is not None:
                self.forget(self._listening)
            if first is not None:
                self.remind(first, before=True)
            self._listening = first

    def distrust(self) -> None:
        """What becomes of a time that is about to be refused cannot be tracked: nothing is complete any more."""
        self.run.progress.confuse()


def made_argument(module: str, fold: object, key: object) -> None:
    """Refuse, when composing, what cannot make results of a window's values."""
    if fold is not None:
        fold_argument(module, fold)
    if key is not None:
        sync_argument(module, "key", key, KEYS_AT_ONCE)
