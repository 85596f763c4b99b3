"""`batch` and `windowed`: lists of values, overlapping or not, by count or by the clock."""

from collections import deque
from collections.abc import Sequence
from math import inf, isclose
from typing import Any, ClassVar, Final, overload

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Positive, Seconds, together
from pullstream.blueprint.parts import Lists
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.logger import LOG
from pullstream.modules.flow.throttle import tick_after
from pullstream.modules.grouping.groups import Gather, Part

MOST: Final = 10_000
"""The default limit on the length of a list."""


class _Row(Part):
    delivers: ClassVar[bool] = True

    def __init__(self, count: int, seconds: float | None) -> None:
        self._count = count
        self._seconds = seconds
        self._kept: list[Any] = []

    @override
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        row, count = self._kept, self._count
        row.extend(values)
        full = len(row) - len(row) % count
        if full:
            out.extend(row[start : start + count] for start in range(0, full, count))
            self._kept = row[full:]
        # The first kept value may have arrived with this batch or with an earlier one.
        if self._seconds is not None and (full or self.deadline == inf):
            self.deadline = trio.current_time() + self._seconds

    @override
    def finish(self, out: list[Any]) -> None:
        out.append(self._kept)
        self._kept = []

    elapse = finish

    @override
    def __len__(self) -> int:
        return len(self._kept)


@transformer
@Emits.AT_ONCE
def batch(count: Positive | None = None, *, seconds: Seconds | None = None) -> Lists[V]:
    """Group values into lists of `count`, which do not overlap.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.batch(2), ps.collect()))
    [['a', 'b'], ['c', 'd'], ['e']]

    All values of a list are at one time. A list is shorter if that time completes, or if the stream ends or fails; it
    is never empty. With `seconds`, a list is emitted at most that long after its first value arrived, by trio's clock,
    even if nothing else arrives. Without `count`, a list has at most 10,000 values. For lists that overlap, use
    `windowed`.
    """
    most = MOST if count is None else count
    return opens(Gather(lambda: _Row(most, seconds), clocked=seconds is not None, sizes=(most, most)))


CAPACITY: Final = 10_000
"""The default limit on the values that windows by the clock keep."""


class _ByCount(Gather):
    """Makes lists by count, and warns at the end if no time had enough values for one."""

    def __init__(self, count: int, step: int) -> None:
        super().__init__(lambda: _LatestByCount(count, step, self), sizes=(count, step))
        self._count = count
        self.whole = False
        """Whether there was a list of `count` values."""
        self.short = 0
        """The number of times that had only a shorter list."""

    @override
    async def release(self) -> None:
        if self.short > 1 and not self.whole:
            LOG.warning(
                "%s, gave only lists of fewer than %d values, because the values of a list are at one time and no time "
                "had that many. For lists across times, put map_time(lambda _: 0) in front",
                self.location,
                self._count,
            )
        await super().release()


class _LatestByCount(Part):
    def __init__(self, count: int, step: int, lists: _ByCount) -> None:
        self._lists = lists
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
        if self._shown:
            self._lists.whole = True
        done = min(start, len(row))
        del row[:done]
        self._gap = start - done
        self._shown = max(0, self._shown - done)

    @override
    def finish(self, out: list[Any]) -> None:
        if self._shown < len(self._kept):
            out.append(self._kept)
        self._lists.short += 1

    @override
    def __len__(self) -> int:
        # Between windows with a gap, the number of values still to leave out counts as state.
        return len(self._kept) + self._gap


class _Ticks:
    """The ticks of one run, at a fixed period from the arrival of the first value."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._start: float | None = None

    def next_tick(self, now: float) -> int:
        """Return the number of the first tick after a moment."""
        if self._start is None:
            self._start = now
        return tick_after(now, self._start, self._every)

    def moment(self, tick: float) -> float:
        """Return the moment of a tick, or of a fraction of the period after one."""
        assert self._start is not None, "next_tick() is called first"
        return self._start + tick * self._every


class _LatestByClock(Part):
    def __init__(self, clock: _Ticks, periods: float) -> None:
        self._clock = clock
        self._periods = periods
        """The length of a window, in periods of the ticks."""
        self._kept: deque[tuple[float, Any]] = deque()
        self._shown = True

    @override
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        now = trio.current_time()
        # A tick may have passed while upstream worked: these values count for a later one.
        while self._kept and self.deadline <= now:
            self.elapse(out)
        if not self._kept:
            self._set_tick(self._clock.next_tick(now))
        self._kept.extend((now, value) for value in values)
        self._shown = False

    @override
    def elapse(self, out: list[Any]) -> None:
        self._show(out)
        self._set_tick(self._tick + 1)
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
        """Drop the values that arrived too early for the window of the next tick."""
        # Computed like the moments of ticks, so a rounding error cannot make one of two equal moments later.
        begin = self._clock.moment(self._tick - self._periods)
        while self._kept and self._kept[0][0] < begin:
            self._kept.popleft()

    def _set_tick(self, tick: int) -> None:
        self._tick = tick
        self.deadline = self._clock.moment(tick)

    @override
    def __len__(self) -> int:
        return len(self._kept)


def _count_or_clock(call: Call) -> None:
    if call["count"] is None:
        if call["seconds"] is None or call["step"] is not None:
            raise call.refuse("needs a count (and optionally a step), or seconds= (and optionally every=)")
    elif not (call["seconds"] is None and call["every"] is None and call["capacity"] == CAPACITY):
        raise call.refuse("got both a count and options for windows by the clock: pass either a count or seconds=")


@overload
def windowed(count: int, step: int = 1) -> Lists[V]: ...
@overload
def windowed(*, seconds: float, every: float | None = None, capacity: int = CAPACITY) -> Lists[V]: ...
@transformer
@together(_count_or_clock)
@Emits.AT_ONCE
def windowed(
    count: Positive | None = None,
    step: Positive | None = None,
    *,
    seconds: Seconds | None = None,
    every: Seconds | None = None,
    capacity: Positive = CAPACITY,
) -> Lists[V]:
    """Emit lists of the latest values, which may overlap: the last `count` after every `step` values, or by the clock.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.windowed(3), ps.collect()))
    [['a', 'b', 'c'], ['b', 'c', 'd'], ['c', 'd', 'e']]
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.windowed(2, step=3), ps.collect()))
    [['a', 'b'], ['d', 'e']]

    Without `step`, a list begins at every value. `batch(count)` makes lists that do not overlap; `tumbling` and
    `sliding` use the times of values. All values of a list are at one time. When that time is complete, values that
    were in no list are emitted in a last, shorter one.

    `windowed(seconds=60, every=10)` emits, every ten seconds, the values that arrived in the last minute. Without
    `every`, each value is in one list. The periods follow trio's clock and start when the first value arrives. A list
    is emitted when its period ends, even if nothing else arrives, or sooner if the time of its values is complete. A
    period without values emits no list. At most `capacity` values are kept; when the buffer is full, upstream waits for
    the next tick.
    """
    if count is not None:
        return opens(_ByCount(count, step or 1))
    assert seconds is not None, "the check requires count or seconds"
    clock, periods = _Ticks(every or seconds), seconds / (every or seconds)
    if isclose(periods, round(periods)):
        periods = round(periods)
    return opens(Gather(lambda: _LatestByClock(clock, periods), clocked=True, capacity=capacity))
