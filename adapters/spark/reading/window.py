"""A window of jobs: some at once, a few partitions ahead of what has been taken, and handed on in order."""

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import attrs

T = TypeVar("T")

SHORT: Final = 0.25
"""Seconds below which a job is so short that its start counts, some twenty milliseconds: the next reads more."""

GROWTH: Final = 4
"""The factor by which there are then more partitions, where those that were read say nothing of the next ones."""

TELLING: Final = 64_000
"""Bytes of a partition that say something: as many are read then as may be expected to fit."""

MOST: Final = 16
"""Partitions that a job has at most, lest what they bring be known only when it is too much."""

LITTLE: Final = 32_000_000
"""Bytes that a job of several partitions may be expected to bring."""

LARGE: Final = 500_000_000
"""Bytes of a large partition, and more than most have."""

COPIES: Final = 4
"""Times that the driver's Java has a partition while it arrives."""


def ample(memory: int, width: int) -> bool:
    """Whether that many jobs may begin at once though nobody knows yet how large a partition is."""
    return memory >= width * COPIES * LARGE


@attrs.define(eq=False)
class Spans:
    """Neighbouring partitions for each job: one, or so many small ones that a job is worth its start."""

    partitions: int
    budget: int
    """The bytes that may wait to be taken, as far as can be told from what has come; one job always may."""
    least: int = 1
    """The number of partitions that a job has at least, lest executors be idle."""
    next: int = 0
    grows: bool = True
    """Whether a job may read several because they are small."""
    alone: bool = False
    """Whether the first job is alone, as it may fill the memory with what it brings."""
    _several: int = 1
    _largest: int | None = None

    def following(self) -> range | None:
        """The partitions for the next job; None if there are no more."""
        if self.next >= self.partitions:
            return None
        span = range(self.next, min(self.next + max(self._several, self.least), self.partitions))
        self.next = span.stop
        return span

    def fits(self, ahead: int) -> bool:
        """Whether one more job may run beside so many that are not taken."""
        if self._largest is None:
            return not (ahead and self.alone)
        return not ahead or (ahead + 1) * self._largest <= self.budget

    def took(self, span: range, seconds: float, size: int) -> None:
        """Note what a job has taken, and brought."""
        self._largest = max(self._largest or 0, size)
        growth = 1
        if self.grows and seconds < SHORT and len(span) >= self._several:
            growth = MOST if size >= TELLING * len(span) else GROWTH
        fitting = LITTLE * len(span) // max(1, size)
        self._several = max(1, min(growth * self._several, fitting, MOST))


@attrs.frozen(eq=False)
class _Failure:
    exception: BaseException


class Window(Generic[T]):
    """Reads spans in threads, at most `width` ahead of what has been taken.

    `take` is for one thread at a time; `close` for any.
    """

    def __init__(self, read: Callable[[range], T], spans: Spans, width: int, size: Callable[[T], int]) -> None:
        self._read = read
        self._spans = spans
        self._width = width
        self._size = size
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._results: dict[int, T | _Failure] = {}
        self._started = 0
        self._taken = 0
        self._over = False

    def take(self) -> T | None:
        """Wait for the next span's result; None at the end, or when it was closed. Raises what its reading raised."""
        with self._change:
            if not self._threads:
                self._hire()
            self._change.wait_for(lambda: self._taken in self._results or self._ended())
            if self._taken not in self._results:
                return None
            result = self._results.pop(self._taken)
            self._taken += 1
            self._change.notify_all()
        if isinstance(result, _Failure):
            raise result.exception
        return result

    def close(self) -> None:
        """Begin nothing more, and wait for what is being read. Twice is once."""
        with self._change:
            self._over = True
            self._change.notify_all()
        for thread in self._threads:
            thread.join()

    def _hire(self) -> None:
        for _ in range(min(self._width, self._spans.partitions)):
            # In a program that ends without a word there is nobody who would let it go.
            thread = threading.Thread(target=self._work, name="pullstream reading", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _ended(self) -> bool:
        return self._taken == self._started and (self._over or self._spans.next >= self._spans.partitions)

    def _work(self) -> None:
        while (following := self._begin()) is not None:
            number, span = following
            start = time.monotonic()
            result: T | _Failure
            try:
                result = self._read(span)
            except BaseException as exc:  # noqa: BLE001 - raised where it is taken
                result = _Failure(exc)
            with self._change:
                if isinstance(result, _Failure):
                    self._over = True
                else:
                    self._spans.took(span, time.monotonic() - start, self._size(result))
                self._results[number] = result
                self._change.notify_all()

    def _begin(self) -> tuple[int, range] | None:
        """Wait until one more may be read; None if none will."""
        with self._change:
            self._change.wait_for(lambda: self._over or self._may_begin())
            span = None if self._over else self._spans.following()
            if span is None:
                self._change.notify_all()
                return None
            number = self._started
            self._started += 1
            return number, span

    def _may_begin(self) -> bool:
        ahead = self._started - self._taken
        return self._spans.next >= self._spans.partitions or (ahead < self._width and self._spans.fits(ahead))
