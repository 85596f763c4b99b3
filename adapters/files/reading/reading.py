"""What a run reads of files, in its threads: which file is next, what is in it, and at which times."""

from collections.abc import Generator, Hashable, Iterator
from contextlib import closing
from itertools import pairwise
from threading import Lock
from typing import Any, Final

import attrs

from adapters.arrow import Shape
from adapters.files.reading.errors import FileChangedError, FileReadError
from adapters.files.reading.pieces import Agreed, Bad, Format, Piece, Start
from adapters.files.reading.places import File, Places
from adapters.files.reading.streams import Raw, Stop, explained
from adapters.files.reading.times import PathTime, Stretch, Timing
from adapters.files.reading.watch import Watch
from pullstream.errors import CapabilityError
from pullstream.failures import caught
from timely import less_equal

MOST_TIMELESS: Final = 10_000
"""So much may be bad before the first value that has a time."""


@attrs.frozen
class Plan:
    """What a source of files was told; immutable."""

    paths: tuple[str, ...]
    format: Format
    shape: Any
    time: Any = None
    filesystem: Any = None
    storage_options: Any = attrs.field(factory=dict[str, Any])
    follow: bool = False
    every: float = 1.0


@attrs.frozen
class Floor:
    """Nothing before `time` will come any more."""

    time: Hashable


@attrs.frozen
class Wait:
    """There is no new file at the moment."""


Found = Stretch | Floor | Wait


class Reading:
    """Reads files, a step at a time, each step in whatever thread; `close` may come at any time, from another."""

    def __init__(self, plan: Plan, *, catches: bool) -> None:
        self._plan = plan
        self._catches = catches
        self._lock = Lock()
        self._stop = Stop()
        self._steps: Generator[list[Found]] | None = None
        self._timeless: list[Any] = []
        self._last: list[Hashable] = []
        """The time of the last stretch, if there was one."""
        self.path = ""
        self.done = 0
        self.of: int | None = None

    def step(self) -> list[Found] | None:
        """What is found next, None at the end; in a thread."""
        with self._lock:
            self._stop.look()
            if self._steps is None:
                self._steps = self._read()
            return next(self._steps, None)

    def stop(self) -> None:
        """Have a step that is under way come to its end soon."""
        self._stop.set()

    def close(self) -> None:
        """Let go of all files, when the step under way has ended; in a thread."""
        self._stop.set()
        with self._lock:
            if self._steps is not None:
                self._steps.close()

    def _read(self) -> Generator[list[Found]]:
        plan = self._plan
        agreed = Agreed()
        timing = Timing(None if isinstance(plan.time, PathTime) else plan.time, Shape(plan.shape))
        with closing(Places(plan.paths, plan.filesystem, plan.storage_options)) as places:
            try:
                for file, time, floor in self._files(places):
                    if file is None:
                        yield [Wait()]
                        continue
                    self.path = file.path
                    if time is not None:
                        self._advance(file, time)
                        yield [Floor(time)]
                    yield from self._file(file, time, timing, agreed)
                    self.done += 1
                    if floor is not None:
                        self._advance(file, floor)
                        yield [Floor(floor)]
            except Exception:
                if self._timeless:
                    yield [self._pending()]
                raise
            if self._timeless:
                yield [self._pending()]

    # ---- which file

    def _files(self, places: Places) -> Iterator[tuple[File | None, Hashable | None, Hashable | None]]:
        """Files with the time of all that is in each, if it is one, and the least time that may come behind it."""
        plan = self._plan
        if plan.follow:
            yield from self._followed(Watch(places))
            return
        files = places.look(follow=False)
        self.of = len(files)
        if not isinstance(plan.time, PathTime):
            yield from ((file, 0 if plan.time is None else None, None) for file in files)
            return
        dated = _in_order([(plan.time.of(file), file) for file in files])
        following = [time for time, _ in dated[1:]]
        for (time, file), floor in zip(dated, [*following, None], strict=True):
            yield file, time, floor

    def _followed(self, watch: Watch) -> Iterator[tuple[File | None, Hashable | None, Hashable | None]]:
        time_of = self._plan.time
        number = 0
        while True:
            files = watch.fresh()
            if isinstance(time_of, PathTime):
                for time, file in _in_order([(time_of.of(file), file) for file in files]):
                    yield file, time, None
                    watch.check(file)
            else:
                for file in files:
                    yield file, number if time_of is None else None, number + 1 if time_of is None else None
                    watch.check(file)
                    number += 1
            yield None, None, None

    # ---- what is in it

    def _file(self, file: File, time: Hashable | None, timing: Timing, agreed: Agreed) -> Generator[list[Found]]:
        raw: Raw | None = None
        try:
            with explained(file, None, "cannot be opened"):
                raw = Raw(file, self._stop)
            # Not left to be closed when it is collected: it has the file, and layers above it.
            with closing(self._plan.format.pieces(file, raw, Start(), agreed)) as pieces:
                for piece in pieces:
                    self._stop.look()
                    yield from self._told(file, piece, time, timing)
        except FileChangedError:
            raise
        except FileReadError as exc:
            if not self._catches:
                raise
            stretch = self._marked(Bad(file.path, exc), time)
            if stretch is not None:
                yield [stretch]
        finally:
            if raw is not None:
                raw.close()

    def _told(self, file: File, piece: Piece, time: Hashable | None, timing: Timing) -> Generator[list[Found]]:
        """The stretches of a piece, all at once; what is wrong comes after those before it (R8)."""
        found: list[Found] = []
        try:
            for part in [piece] if isinstance(piece, Bad) else timing.stretches(file, piece, time):
                stretch = self._marked(part, time) if isinstance(part, Bad) else part
                if stretch is None:
                    continue
                self._advance(file, stretch[0])
                if self._timeless:
                    found.append((stretch[0], self._pending()[1]))
                found.append(stretch)
        except Exception:
            if found:
                yield found
            raise
        if found:
            yield found

    def _advance(self, file: File, time: Hashable) -> None:
        if self._last and self._last[0] is not time and not less_equal(self._last[0], time):
            raise CapabilityError(
                f"{file.path} goes back in time, to {time!r} after {self._last[0]!r}. Sort what is read, or read it "
                f"without time= and give times below, with some lateness: ps.stamp(..., lateness=...) (R12)"
            )
        self._last = [time]

    def _marked(self, bad: Bad, time: Hashable | None) -> Stretch | None:
        """A mark in the place of what is bad, at the file's time or at that of the value before it."""
        if not self._catches:
            raise bad.error
        mark = caught(bad.value, bad.error)
        if time is not None:
            return time, [mark]
        if self._last:
            return self._last[0], [mark]
        self._timeless.append(mark)
        if len(self._timeless) > MOST_TIMELESS:
            raise CapabilityError(
                f"more than {MOST_TIMELESS:,} values cannot be read before the first that has a time to leave "
                "them out at"
            ) from bad.error
        return None

    def _pending(self) -> Stretch:
        marks, self._timeless = self._timeless, []
        return (self._last[0] if self._last else 0), marks


def _in_order(dated: list[tuple[Any, File]]) -> list[tuple[Any, File]]:
    times = [time for time, _ in dated]
    if all(less_equal(first, second) for first, second in pairwise(times)):
        return dated
    return sorted(dated, key=lambda pair: pair[0])
