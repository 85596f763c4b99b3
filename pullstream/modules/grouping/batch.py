"""`batch`: lists of values, by count or by the clock."""

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar, Final

import trio
from typing_extensions import override

from pullstream.blueprint import Positive, Seconds
from pullstream.blueprint.parts import Lists
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
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
def batch(count: Positive | None = None, *, seconds: Seconds | None = None) -> Lists[V]:
    """Group values into lists of `count`, which do not overlap.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.batch(2), ps.collect()))
    [['a', 'b'], ['c', 'd'], ['e']]

    All values of a list are at one time. A list is shorter if that time completes, or if the stream ends or fails; it
    is never empty. With `seconds`, a list is given at most that long after its first value arrived, by trio's clock,
    even if nothing else arrives. Without `count`, a list has at most 10,000 values. For lists that overlap, use
    `windowed`.
    """
    most = MOST if count is None else count
    return opens(Gather(lambda: _Row(most, seconds), clocked=seconds is not None, sizes=(most, most)))
