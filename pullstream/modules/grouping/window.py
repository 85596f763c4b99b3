"""`window`: the latest values, by count or by the clock."""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final, overload

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Positive, Seconds, together
from pullstream.blueprint.parts import Lists
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.groups import Gather, Part

A = TypeVar("A", default=Any)

CAPACITY: Final = 10_000
"""The most values that windows by the clock keep when nothing is said."""


class _LatestByCount(Part):
    def __init__(self, count: int, step: int) -> None:
        self._count = count
        self._step = step
        self._kept: list[Any] = []
        self._shown = 0
        self._gap = 0

    @override
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        row, count = self._kept, self._count
        row.extend(values)
        start = self._gap
        while start + count <= len(row):
            out.append(row[start : start + count])
            self._shown = start + count
            start += self._step
        done = min(start, len(row))
        del row[:done]
        self._gap = start - done
        self._shown = max(0, self._shown - done)

    @override
    def finish(self, out: list[Any]) -> None:
        if self._shown < len(self._kept):
            out.append(self._kept)

    @override
    def __len__(self) -> int:
        # Even between windows that leave values out something is kept: how many are still to be left out.
        return len(self._kept) + self._gap


class _Ticks:
    """The ticks of one run: every so many seconds from the arrival of the first value on."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._start: float | None = None

    def next_tick(self) -> int:
        """The number of the tick to come."""
        now = trio.current_time()
        if self._start is None:
            self._start = now
        return int((now - self._start) // self._every) + 1

    def moment(self, tick: int) -> float:
        """The moment at which a tick is due."""
        assert self._start is not None, "ticks are asked for first"
        return self._start + tick * self._every


class _LatestByClock(Part):
    def __init__(self, clock: _Ticks, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._kept: deque[tuple[float, Any]] = deque()
        self._shown = True
        self._tick = clock.next_tick()
        self.deadline = clock.moment(self._tick)

    @override
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        now = trio.current_time()
        self._kept.extend((now, value) for value in values)
        self._shown = False

    @override
    def elapse(self, out: list[Any]) -> None:
        self._show(out)
        self._tick += 1
        self.deadline = self._clock.moment(self._tick)
        self._forget()

    @override
    def finish(self, out: list[Any]) -> None:
        if not self._shown:
            self._show(out)

    def _show(self, out: list[Any]) -> None:
        self._forget()
        if self._kept:
            out.append([value for _, value in self._kept])
        self._shown = True

    def _forget(self) -> None:
        """Drop what arrived too early for the window of the next tick."""
        begin = self.deadline - self._seconds
        while self._kept and self._kept[0][0] < begin:
            self._kept.popleft()

    @override
    def __len__(self) -> int:
        return len(self._kept)


def _count_or_clock(call: Call) -> None:
    if call["count"] is None:
        if call["seconds"] is None or call["step"] is not None:
            raise call.refuse("needs a count, and maybe a step, or seconds=, and maybe every=")
    elif not (call["seconds"] is None and call["every"] is None and call["capacity"] == CAPACITY):
        raise call.refuse("got both a count and seconds: it goes by one of them")


@overload
def window(count: int, step: int | None = None) -> Lists[A]: ...
@overload
def window(*, seconds: float, every: float | None = None, capacity: int = CAPACITY) -> Lists[A]: ...
@transformer
@together(_count_or_clock)
def window(
    count: Positive | None = None,
    step: Positive | None = None,
    *,
    seconds: Seconds | None = None,
    every: Seconds | None = None,
    capacity: Positive = CAPACITY,
) -> Lists[A]:
    """Give lists of the latest values: the last `count`, after every `step` values, or by the clock.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.window(3, 1), ps.collect()))
    [['a', 'b', 'c'], ['b', 'c', 'd'], ['c', 'd', 'e']]
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.window(2), ps.collect()))
    [['a', 'b'], ['c', 'd'], ['e']]

    Without `step` each value is in one window; with one larger than `count` some are in none. All values of a window
    are at one time. When that is complete, values that have been in no window come in a last one, which is shorter.

    `window(seconds=60, every=10)` gives, every ten seconds, the values that arrived in the last minute; without
    `every`, each value once. The clock is trio's, and starts when the first value arrives. A window comes when its
    time is up, whether anything else arrives or not, and sooner when the time of its values is complete; one without
    values does not come. Windows keep `capacity` values at most: when there are more, upstream waits for the next tick.
    """
    if count is not None:
        return opens(Gather(lambda: _LatestByCount(count, step or count)))
    assert seconds is not None, "one of both is given"
    clock = _Ticks(every or seconds)
    return opens(Gather(lambda: _LatestByClock(clock, seconds), clocked=True, capacity=capacity))
