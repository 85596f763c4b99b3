"""Windows in event time: `tumbling` and `sliding`, whose results come when the logical time of a window is over.

A window takes in its start and not its end, and is answered at its end: then a result's time says that everything it
was made of came before. What a window may still answer is held; what may still come into one is known from the
frontier above and a summary, the least end of a window after a time.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from heapq import heappop, heappush
from math import isfinite
from typing import Any, Final, Generic, Protocol, overload

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Site, Transformer, sync_argument
from pullstream.errors import CompositionError
from pullstream.time.fold import Fold, fold_argument
from pullstream.time.notified import Notified
from timely import MapTime, SummaryError, TimeDomainError

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

NUMBERS: Final = (int, float, Fraction, Decimal)
KEYS_AT_ONCE: Final = "a key is computed at once; map_async the values to (key, value) first"


@attrs.frozen
class Window(Generic[R_co]):
    """What came of the values at the times from `start` on and before `end`."""

    start: Any
    end: Any
    value: R_co


# ---- which windows a time is in


class Grid:
    """Windows of one size that start at equal steps from an origin; the origin of numbers is 0, of dates 1970."""

    def __init__(self, module: str, size: Any, every: Any, origin: Any) -> None:
        self._module = module
        self._size = size
        self._every = every
        self._origin = origin

    def first_end(self, time: Any) -> Any:
        """The least end of a window after a time."""
        return self._end(self._first(time))

    def around(self, time: Any) -> list[tuple[Any, Any]]:
        """The start and end of every window that a time is in, the first one first."""
        number = self._first(time)
        found: list[tuple[Any, Any]] = []
        while (start := self._start(number)) <= time:
            found.append((start, self._end(number)))
            number += 1
        return found

    def _start(self, number: Any) -> Any:
        return self._origin + number * self._every

    def _end(self, number: Any) -> Any:
        # Of windows side by side one's end is the next one's start, to the last bit.
        return self._start(number + 1) if self._every == self._size else self._start(number) + self._size

    def _first(self, time: Any) -> Any:
        """The number of the first window that ends after a time."""
        try:
            if self._origin is None:
                self._origin = _origin(time)
            number = (time - self._origin - self._size) // self._every + 1
            # Division rounds, towards zero or to the next float.
            if self._end(number - 1) > time:
                number -= 1
            elif self._end(number) <= time:
                number += 1
            if self._end(number) > time:
                return number
        except (TypeError, ValueError, OverflowError) as exc:
            raise self.refusal(time) from exc
        raise self.refusal(time)

    def refusal(self, time: Any) -> TimeDomainError:
        """The error for a time that has no place on the grid."""
        return refusal(self._module, time, self._size)


def refusal(module: str, time: object, size: object) -> TimeDomainError:
    """The error for a time to which a duration cannot be added."""
    return TimeDomainError(
        f"{module} cannot tell how much later {size!r} is than the time {time!r} ({type(time).__name__}): it needs "
        f"times in one order that durations are added to, numbers for numbers, a timedelta for datetimes, or one of "
        f"whole days for dates; restamp(...) above it makes such times of others"
    )


def _origin(time: object) -> Any:
    if isinstance(time, NUMBERS):
        return 0
    if isinstance(time, datetime):
        return datetime(1970, 1, 1, tzinfo=None if time.tzinfo is None else UTC)
    if isinstance(time, date):
        return date(1970, 1, 1)
    raise TypeError("neither a number nor a date")


# ---- what is made of the values in a window


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


# ---- the kernel


class Windowed(Notified):
    """Windows that are open, each held at its end, and told when the first of them is over."""

    def __init__(self, account: Account, *, eager: bool) -> None:
        super().__init__()
        self.account = account
        self._eager = eager
        self._moments: list[Any] = []
        self._listening: Any = None

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
                self.give(window.end, [Window(window.start, window.end, value)])

    def expect(self, moment: Any) -> None:
        """Ask for `reach(moment)`, which is called once for each, when everything before it is complete."""
        heappush(self._moments, moment)

    @abstractmethod
    def reach(self, moment: Any) -> None:
        """Everything before the moment is complete."""

    @override
    def complete(self, time: Any) -> None:
        self._listening = None
        self.reach(heappop(self._moments))
        self.listen()

    def listen(self) -> None:
        """Be told of the moment that comes first; called when moments have been added."""
        first = self._moments[0] if self._moments else None
        if first != self._listening:
            if self._listening is not None:
                self.forget(self._listening)
            if first is not None:
                self.remind(first, before=True)
            self._listening = first

    def distrust(self) -> None:
        """What becomes of a time that is about to be refused cannot be tracked: nothing is complete any more."""
        self.run.progress.confuse()


class _OnGrid(Windowed):
    def __init__(
        self,
        module: str,
        size: Any,
        every: Any,
        fold: Fold[Any, Any] | None = None,
        key: Callable[[Any], Hashable] | None = None,
        *,
        origin: Any = None,
        eager: bool = False,
    ) -> None:
        super().__init__(account(fold, key), eager=eager)
        self._grid = Grid(module, size, every, origin)
        self._open: dict[Any, Open] = {}
        self._time: Any = None
        self._around: Sequence[tuple[Any, Any]] = ()
        self.summaries = (MapTime(self._tracked),)

    def _tracked(self, time: Any) -> Any:
        try:
            return self._grid.first_end(time)
        except TimeDomainError as exc:
            raise SummaryError(str(exc)) from exc

    @override
    def receive(self, time: Any, values: Sequence[Any]) -> None:
        if time is not self._time:
            try:
                self._around = self._grid.around(time)
            except TimeDomainError:
                self.distrust()
                raise
            self._time = time
        windows = [self._window(start, end) for start, end in self._around]
        if windows:
            self.add(windows, values)
        self.listen()

    def _window(self, start: Any, end: Any) -> Open:
        window = self._open.get(end)
        if window is None:
            self.seat.hold(end)
            window = self._open[end] = Open(start, end, self.account.new())
            self.expect(end)
        return window

    @override
    def reach(self, moment: Any) -> None:
        window = self._open.pop(moment)
        self.give(moment, [Window(window.start, moment, value) for value in self.account.results(window.state)])
        self.seat.drop(moment)


# ---- arguments


def duration_argument(module: str, name: str, value: Any) -> None:
    """Refuse, when composing, what is not a positive duration."""
    if isinstance(value, timedelta):
        positive = value > timedelta()
    else:
        positive = isinstance(value, NUMBERS) and not isinstance(value, bool) and isfinite(value) and value > 0
    if not positive:
        raise CompositionError(
            f"{module}() at {Site.here()} needs a positive number, or a positive timedelta, as its {name}, and got "
            f"{value!r}"
        )


def made_argument(module: str, fold: object, key: object) -> None:
    """Refuse, when composing, what cannot make results of a window's values."""
    if fold is not None:
        fold_argument(module, fold)
    if key is not None:
        sync_argument(module, "key", key, KEYS_AT_ONCE)


@overload
def tumbling(size: Any, *, origin: Any = None, eager: bool = False) -> Transformer[A, Window[list[A]]]: ...
@overload
def tumbling(
    size: Any, *, key: Callable[[A], K], origin: Any = None, eager: bool = False
) -> Transformer[A, Window[tuple[K, list[A]]]]: ...
@overload
def tumbling(size: Any, fold: Fold[A, R], *, origin: Any = None, eager: bool = False) -> Transformer[A, Window[R]]: ...
@overload
def tumbling(
    size: Any, fold: Fold[A, R], *, key: Callable[[A], K], origin: Any = None, eager: bool = False
) -> Transformer[A, Window[tuple[K, R]]]: ...
def tumbling(
    size: Any,
    fold: Fold[Any, Any] | None = None,
    *,
    key: Callable[[Any], Hashable] | None = None,
    origin: Any = None,
    eager: bool = False,
) -> Transformer[Any, Window[Any]]:
    """Windows side by side in event time: what came at the times of each, answered at its end when it is over.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 4, 12, 13], time=lambda second: second)
    >>> ps.run(ps.pipe(clicks, ps.tumbling(10), ps.collect(timed=True)))
    [(10, Window(start=0, end=10, value=[1, 4])), (20, Window(start=10, end=20, value=[12, 13]))]

    A window takes in its start and not its end, and its results are at the time of its end. They come when everything
    before that is complete, whether anything comes later or not; a window without values has none. Times are numbers,
    or dates and datetimes with a `timedelta` as the size (of whole days for dates), and come in any order. Windows
    start at multiples of the size from `origin` on: 0, or the first of January 1970 (of aware datetimes, in UTC).

    The value of a window is the list of what came, in the order in which it came; with a `fold`, its result; with a
    `key`, there is a `Window` for every key, whose value is the pair (key, result), in the order in which the keys were
    first seen:

    >>> table = ps.tumbling(10, ps.agg.count(), key=lambda n: "odd" if n % 2 else "even")
    >>> ps.run(ps.pipe(clicks, ps.restamp(lambda second: second // 2), table, ps.collect()))
    [Window(start=0, end=10, value=('odd', 2)), Window(start=0, end=10, value=('even', 2))]

    With `eager=True` the result so far comes after every value as well, at the same time, the window's end. A fold's
    `finish` is then called with states that go on: it must not give away one that `step` changes in place.

    Raises:
        TimeDomainError: a time has no place on the grid of windows: it is no number, say, or only partially ordered.
    """
    return _on_grid("tumbling", size, size, fold, key, origin, eager=eager)


def _on_grid(  # noqa: PLR0917 - what two functions have in common
    module: str,
    size: Any,
    every: Any,
    fold: Fold[Any, Any] | None,
    key: Callable[[Any], Hashable] | None,
    origin: Any,
    *,
    eager: bool,
) -> Transformer[Any, Window[Any]]:
    duration_argument(module, "size", size)
    duration_argument(module, "every", every)
    made_argument(module, fold, key)
    given = (("fold", fold), ("key", key), ("origin", origin), ("eager", eager or None))
    options = tuple((name, value) for name, value in given if value is not None)
    if module == "tumbling":
        return Transformer((Module("tumbling", _tumbling, (size,), options),))
    return Transformer((Module("sliding", _sliding, (size, every), options),))


def _tumbling(size: Any, **options: Any) -> _OnGrid:
    return _OnGrid("tumbling", size, size, **options)


def _sliding(size: Any, every: Any, **options: Any) -> _OnGrid:
    return _OnGrid("sliding", size, every, **options)


@overload
def sliding(size: Any, every: Any, *, origin: Any = None, eager: bool = False) -> Transformer[A, Window[list[A]]]: ...
@overload
def sliding(
    size: Any, every: Any, *, key: Callable[[A], K], origin: Any = None, eager: bool = False
) -> Transformer[A, Window[tuple[K, list[A]]]]: ...
@overload
def sliding(
    size: Any, every: Any, fold: Fold[A, R], *, origin: Any = None, eager: bool = False
) -> Transformer[A, Window[R]]: ...
@overload
def sliding(
    size: Any, every: Any, fold: Fold[A, R], *, key: Callable[[A], K], origin: Any = None, eager: bool = False
) -> Transformer[A, Window[tuple[K, R]]]: ...
def sliding(
    size: Any,
    every: Any,
    fold: Fold[Any, Any] | None = None,
    *,
    key: Callable[[Any], Hashable] | None = None,
    origin: Any = None,
    eager: bool = False,
) -> Transformer[Any, Window[Any]]:
    """Windows of one size in event time, of which one starts after every step; a value is in all that it falls in.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 4, 12], time=lambda second: second)
    >>> for window in ps.run(ps.pipe(clicks, ps.sliding(10, 5), ps.collect())):
    ...     print(window)
    Window(start=-5, end=5, value=[1, 4])
    Window(start=0, end=10, value=[1, 4])
    Window(start=5, end=15, value=[12])
    Window(start=10, end=20, value=[12])

    Windows start at multiples of `every` from `origin` on; where `every` is larger than `size`, values between windows
    are in none. Everything else is as with `tumbling`; a key is computed once for each value.
    """
    return _on_grid("sliding", size, every, fold, key, origin, eager=eager)
