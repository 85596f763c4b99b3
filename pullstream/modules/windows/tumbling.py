"""`tumbling` and `sliding`: windows in event time, whose results are emitted when the window's time is complete.

A window includes its start and excludes its end. Its result is at its end, so the time of a result says that all its
values were earlier. An open window is held at its end. For values that may still arrive, the end follows from the
frontier upstream and a summary: the earliest end of a window after a time.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Annotated, Any, TypeAlias, Unpack, cast, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Emits, Key, Transformer, together
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, K, R, V
from pullstream.decorators import opens, transformer
from pullstream.modules.folds.accumulator import Accumulator, keys_of
from pullstream.modules.folds.fold import Fold, a_fold
from pullstream.modules.values.on_error import OnError
from pullstream.modules.windows.grid import Grid, duration, of_one_kind, starting
from pullstream.modules.windows.window import (
    FoldOptions,
    OpenWindow,
    Window,
    Windowed,
    WindowLists,
    WindowListsByKey,
)
from pullstream.protocol import Batch
from pullstream.timely import BEGINNING, MapTime, SummaryError, TimeDomainError
from pullstream.timely.order import Ascending

_Cell: TypeAlias = tuple[Any, Any, Sequence[OpenWindow]]
"""A range of times (end excluded) and the open windows that contain all of it."""


class _OnGrid(Windowed):
    def __init__(
        self,
        module: str,
        size: Any,
        every: Any,
        fold: Fold[Any, Any] | None = None,
        *,
        origin: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(Accumulator(fold, **options))
        self._grid = Grid(module, size, every, origin)
        self._everywhere = every <= size
        """Whether every value is in at least one window: only then may its key be computed."""
        self._open: dict[Any, OpenWindow] = {}
        self._lows: list[Any] = []
        self._cells: list[_Cell] = []
        """Ranges of times in the same windows, in order. `_lows` has their starts."""
        self._kind: object = None
        self.traits = attrs.evolve(self.traits, summaries=[MapTime(self._tracked)], lasting=self._last_end)

    def _last_end(self, number: int, time: Any) -> list[Any]:
        del number
        if time is BEGINNING:
            return [time]
        around = self._grid.around(time)
        # A time between windows matters to none of them, and lasts until the next one ends.
        return [around[-1][1] if around else self._grid.first_end(time)]

    def _tracked(self, time: Any) -> Any:
        try:
            return self._grid.first_end(time)
        except TimeDomainError as exc:
            raise SummaryError(str(exc)) from exc

    @override
    def receive(self, batch: Batch[Any]) -> None:
        # An eager result must follow the results of the windows that have ended by then.
        whole = not (batch.uniform or self.accumulator.eager) and batch.in_one_order
        count = whole and self._everywhere and self.accumulator.counts
        for part in (batch,) if whole else self.apart(batch):
            self.note_times(part)
            self._begin(part.time if part.uniform else part.times[0])
            if count:
                self._count(part)
            else:
                self._fold(part)

    def _begin(self, time: object) -> None:
        """Forget the cells if their times are of another kind: a cell applies to all times of its kind."""
        kind = (type(time), getattr(time, "tzinfo", None) is None)
        if kind != self._kind:
            self._kind = kind
            self._lows.clear()
            self._cells.clear()

    def _fold(self, batch: Batch[Any]) -> None:
        values, uniform = batch.values, batch.uniform
        for begin, end, windows in self._ranges(batch):
            if windows:
                self.add(windows, values if uniform else values[begin:end])
            if not uniform:
                self.taken = end

    def _count(self, batch: Batch[Any]) -> None:
        """Count values by key: all of a window at once, whatever the order of the windows."""
        assert self.accumulator.key is not None, "it counts by key"
        keys, wrong = keys_of(self.accumulator.key, batch.values)
        counted: defaultdict[OpenWindow, list[Hashable]] = defaultdict(list)
        try:
            for begin, end, windows in self._ranges(batch.part(0, len(keys)) if wrong else batch) if keys else ():
                some = keys[begin:end]
                for window in windows:
                    counted[window] += some
                self.taken = end
        finally:
            for window, names in counted.items():
                cast("Counter[Hashable]", window.table).update(names)
        if wrong is not None:
            raise wrong[1]

    def _ranges(self, batch: Batch[Any]) -> Iterator[tuple[int, int, Sequence[OpenWindow]]]:
        """The ranges of a batch's values that are in the same windows; the next is found when one has been handled."""
        count = len(batch.values)
        if batch.uniform:
            yield 0, count, self._cell(batch.time)[2]
            return
        times = batch.times
        begin = 0
        if isinstance(times, Ascending):
            times = [*times]
            while begin < count:
                _, high, windows = self._cell(times[begin])
                end = bisect_left(times, high, begin)
                yield begin, end, windows
                begin = end
            return
        low, high, windows = self._cell(times[0])
        for position, time in enumerate(times):
            if not low <= time < high:
                yield begin, position, windows
                begin = position
                low, high, windows = self._cell(time)
        yield begin, count, windows

    def _cell(self, time: Any) -> _Cell:
        """Find the range of times in the same windows as `time`, and those windows."""
        number = bisect_right(self._lows, time)
        if number and time < (cell := self._cells[number - 1])[1]:
            return cell
        try:
            low, high, around = self._grid.cell(time)
        except TimeDomainError:
            self.edge.stop_tracking()
            raise
        cell = low, high, [self._window(start, end) for start, end in around]
        if around:
            # A cell without windows would never be removed.
            self._lows.insert(number, low)
            self._cells.insert(number, cell)
        return cell

    def _window(self, start: Any, end: Any) -> OpenWindow:
        window = self._open.get(end)
        if window is None:
            self.notify(end, end, before=True)
            window = self._open[end] = OpenWindow(start, end, self.accumulator.new())
        return window

    @override
    def complete(self, time: Any) -> None:
        window = self._open.pop(time)
        if self._lows:
            over = bisect_left(self._lows, time)
            del self._lows[:over], self._cells[:over]
        self.give(time, [self.result(window, value) for value in self.accumulator.results(window.table)])


class GridOptions(FoldOptions[A], total=False):
    """The options of windows on a grid, for type checkers."""

    origin: Any


@overload
def tumbling(size: Any, *, key: Function[A, K], **options: Unpack[GridOptions[A]]) -> WindowListsByKey[A, K]: ...
@overload
def tumbling(size: Any, **options: Unpack[GridOptions[V]]) -> WindowLists[V]: ...
@overload
def tumbling(
    size: Any, fold: Fold[A, R], *, key: Function[A, K], **options: Unpack[GridOptions[A]]
) -> Transformer[A, Window[tuple[K, R]]]: ...
@overload
def tumbling(size: Any, fold: Fold[A, R], **options: Unpack[GridOptions[A]]) -> Transformer[A, Window[R]]: ...
@transformer
@Emits.PER_TIME
def tumbling(
    size: Annotated[Any, duration],
    fold: Annotated[Fold[Any, Any] | None, a_fold] = None,
    *,
    key: Key[Any, Hashable] | None = None,
    eager: bool = False,
    on_error: OnError[Any] = "fail",
    origin: Annotated[Any, starting] = None,
) -> Transformer[Any, Window[Any]]:
    """Group values into adjacent windows in event time; emit each window at its end, when it is complete.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 4, 12, 13], time=lambda second: second)
    >>> ps.run(ps.pipe(clicks, ps.tumbling(10), ps.collect(timed=True)))
    [(10, Window(start=0, end=10, value=[1, 4])), (20, Window(start=10, end=20, value=[12, 13]))]

    A window includes its start and excludes its end, and its results are at the time of its end. They are emitted when
    everything before that is complete, even if nothing arrives later. A window without values has no result. Times may
    arrive in any order. They are numbers with a number as the size, or dates and datetimes with a `timedelta` (of whole
    days for dates). Windows start at multiples of the size from `origin`: 0, or 1 January 1970 (in UTC for aware
    datetimes). For zones whose clocks change, see `stamp`.

    The value of a window is the list of its values in order of arrival or, with a `fold`, its result: for
    `agg.several(n=agg.count(), total=agg.sum())`, a dict. With a `key`, there is a `Window` for each key, whose value
    is the pair (key, result), in the order in which the keys first arrived:

    >>> table = ps.tumbling(10, ps.agg.count(), key=lambda n: "odd" if n % 2 else "even")
    >>> ps.run(ps.pipe(clicks, ps.map_time(lambda second: second // 2), table, ps.collect()))
    [Window(start=0, end=10, value=('odd', 2)), Window(start=0, end=10, value=('even', 2))]

    With `eager=True`, the result so far is also emitted after every value, at the end of the window. The fold's
    `finish` is then called while the fold continues, so it must not return an object that `step` changes in place. With
    `on_error` (see `map`), a value whose key or step raises is left out and counted, or goes to a sink, at the end of
    its first window.

    Raises: TimeDomainError: a time has no place on the grid, for example because it is not a number or only partially
    ordered.
    """
    return opens(_OnGrid("tumbling", size, size, fold, key=key, eager=eager, on_error=on_error, origin=origin))


@overload
def sliding(
    size: Any, every: Any, *, key: Function[A, K], **options: Unpack[GridOptions[A]]
) -> WindowListsByKey[A, K]: ...
@overload
def sliding(size: Any, every: Any, **options: Unpack[GridOptions[V]]) -> WindowLists[V]: ...
@overload
def sliding(
    size: Any, every: Any, fold: Fold[A, R], *, key: Function[A, K], **options: Unpack[GridOptions[A]]
) -> Transformer[A, Window[tuple[K, R]]]: ...
@overload
def sliding(
    size: Any, every: Any, fold: Fold[A, R], **options: Unpack[GridOptions[A]]
) -> Transformer[A, Window[R]]: ...
@transformer
@together(of_one_kind)
@Emits.PER_TIME
def sliding(
    size: Annotated[Any, duration],
    every: Annotated[Any, duration],
    fold: Annotated[Fold[Any, Any] | None, a_fold] = None,
    *,
    key: Key[Any, Hashable] | None = None,
    eager: bool = False,
    on_error: OnError[Any] = "fail",
    origin: Annotated[Any, starting] = None,
) -> Transformer[Any, Window[Any]]:
    """Group values into overlapping windows of one size in event time; a value is in every window that contains it.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 4, 12], time=lambda second: second)
    >>> for window in ps.run(ps.pipe(clicks, ps.sliding(10, 5), ps.collect())):
    ...     print(window)
    Window(start=-5, end=5, value=[1, 4])
    Window(start=0, end=10, value=[1, 4])
    Window(start=5, end=15, value=[12])
    Window(start=10, end=20, value=[12])

    Windows start at multiples of `every` from `origin`. If `every` is larger than `size`, values between windows are in
    none. Everything else is as in `tumbling`; a key is computed once for each value.
    """
    return opens(_OnGrid("sliding", size, every, fold, key=key, eager=eager, on_error=on_error, origin=origin))
