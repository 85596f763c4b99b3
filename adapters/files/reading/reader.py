"""Reading of files in a run's threads: their values and the times of the values."""

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from functools import partial
from threading import Lock
from typing import Any, Final

import attrs

from pullstream import Batch
from pullstream.authoring import Kernel, caught, start_in_thread
from pullstream.errors import CapabilityError
from pullstream.timely import less_equal

from ...arrow import Shape
from ..conflicts import RunFiles
from .errors import FileChangedError, FileReadError, NoColumnError
from .formats import AT_A_TIME, Agreed, Bad, Piece, Start, TablePiece
from .listing import File, Listing
from .order import FileOrder, ReadPlan
from .resuming import EarlierRun, Position, Turn, ends_of
from .streams import RawFile, Stop, explained
from .times import PathTime, Timing

_END: Final[Any] = object()


def read_ahead(pieces: Generator[Piece], raw: RawFile) -> Generator[Piece]:
    """Yield the pieces of a file, and prepare the next one meanwhile; for formats decoded outside Python."""
    following: Future[Any] | None = None
    try:
        while True:
            piece = next(pieces, _END) if following is None else following.result()
            if piece is _END:
                return
            # If the next piece is quick, starting a thread would cost more than the piece.
            following = None if piece.more or raw.small or raw.over else start_in_thread(next, pieces, _END)
            yield piece
            # This piece must not stay in memory while the next one is read.
            del piece
    finally:
        if following is not None:
            wait([following])
        pieces.close()


PLACE: Final = "place"
"""The journal's name for the position reached."""

SCHEMA: Final = ("schema",)
"""The journal key for the columns that the files agreed on."""

END: Final = ("end",)
"""The journal key for whether a run reached the end of the last file."""

MOST_TIMELESS: Final = 10_000
"""The maximum number of bad values before the first value with a time."""


Found = Batch[Any] | Callable[[], object] | None
"""Values; a change of the source's state, to be made before the next values; or None, to wait for a new file."""


class FilesReader:
    """Reads files step by step, each step in any thread; `close` may be called at any time from another thread."""

    def __init__(self, plan: ReadPlan, earlier: EarlierRun, source: Kernel[Any], *, catches: bool) -> None:
        self._plan = plan
        self._source = source
        self._run_files = RunFiles.of(source.run.common, source.run.journal)
        self.order = FileOrder(plan, earlier)
        self._journal = earlier.journal
        self._catches = catches
        self._lock = Lock()
        self._stop = Stop()
        self._steps: Generator[bool] | None = None
        self._found: list[Found] = []
        self._failure: Exception | None = None
        """A failure to raise after everything found before it."""
        self._agreed = Agreed(earlier.schema, plan.time if isinstance(plan.time, str) else None)
        self._timeless: list[Any] = []
        self._last: tuple[Hashable, ...] = ()
        """The time of the last value, if there was one."""
        self._front: tuple[Hashable, ...] = ()
        """The last time before the current file."""
        self._start: Start | None = None
        """The start of the last piece of the current file."""
        self._before: tuple[Hashable, ...] = ()
        """The last time before the first piece with that start."""
        self.ready = False
        """Whether the next step is quick enough to run without a thread."""
        self.ended = 0
        """The number of files that the last step has read to their ends."""
        self._values = self._files = 0
        """The numbers of values and of files after which a step ends."""
        self.path = ""

    def step(self, values: int, files: int) -> list[Found] | None:
        """Read the next piece, and more of small files up to these numbers; None at the end. Runs in a thread."""
        with self._lock:
            self._stop.look()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._steps is None:
                self._steps = self._read()
            self._values, self._files, self.ended, over = values, files, 0, False
            try:
                # Each step may take a thread, which costs more than a small file.
                over = all(self._steps)
            except Exception as exc:
                if not self._found:
                    raise
                # An error comes after the values before it (R8).
                self._failure = exc
            found, self._found = self._found, []
            return found if found or not over else None

    def stop(self) -> None:
        """Make a running step end soon."""
        self._stop.set()

    def close(self) -> None:
        """Close all files after the running step; runs in a thread."""
        self._stop.set()
        with self._lock:
            if self._steps is not None:
                self._steps.close()

    def _read(self) -> Generator[bool]:
        """Read files and add to `_found`; a step ends where this yields False."""
        plan = self._plan
        timing = Timing(None if isinstance(plan.time, PathTime) else plan.time, Shape(plan.shape))
        absence = "available=True reads nothing there" if plan.available else "follow=True waits for it"
        with closing(Listing(plan.paths, plan.filesystem, plan.storage_options, absence)) as listing:
            reads = listing.reads()
            try:
                for read in reads:
                    self._run_files.read(read)
                for turn in self.order.turns(listing):
                    if turn is None:
                        self.path = ""
                        self._found.append(None)
                        yield False
                        continue
                    self.path = turn.file.path
                    if self._begin(turn):
                        yield False
                    spent = yield from self._file(turn, timing)
                    self.ready = False
                    if turn.floor is not None:
                        self._advance(turn.file, (turn.floor,))
                        self._floor(turn.floor)
                    self.ended += 1
                    # A file is opened only when its values are asked for.
                    yield spent and self._values > 0 and self.ended < self._files
                    self.order.done += 1
                if self._found:
                    # The files stay registered as inputs until their values have been taken.
                    yield False
            finally:
                if self._timeless:
                    self._mark(self._last[0] if self._last else 0)
                for read in reads:
                    self._run_files.over(read)
            if plan.available and plan.time is None:
                self._floor(self.order.number)
            if self._journal and not plan.available:
                self._decide(END, value=True)

    def _begin(self, turn: Turn) -> bool:
        """Begin a file; return whether times before its own are complete."""
        new = turn.time is not None and self._last != (turn.time,)
        if turn.time is not None:
            self._advance(turn.file, (turn.time,))
        if self._journal:
            decided = (turn.number, turn.file.identity, ends_of(turn.file))
            if not self.order.is_recorded(turn.file.path, decided):
                self._decide(turn.file.path, decided)
        if new:
            self._floor(turn.time)
        if turn.last:
            self._last = turn.last
        return new

    def _floor(self, time: Hashable) -> None:
        """Record that no value before `time` follows."""
        self._found.append(partial(self._source.location.advance, time))

    def _decide(self, key: Hashable, value: Any) -> None:
        """Record a fact for all later runs with the same journal, even if they repeat values."""
        self._found.append(partial(self._source.memory.ledger.__setitem__, key, value))

    def _reached(self, times: Sequence[Hashable], place: Position) -> None:
        """Record the position reached after values with these times in order."""
        for time in dict.fromkeys(times):
            self._source.memory.at(time)[PLACE] = place

    # ---- content of a file

    def _file(self, turn: Turn, timing: Timing) -> Generator[bool, None, bool]:
        """Read a file; return whether it is small, and was read to its end."""
        raw: RawFile | None = None
        spent = False
        file, agreed = turn.file, self._agreed
        schema = agreed.schema
        self._front = self._last
        self._start = None
        form = self._plan.format
        try:
            with explained(file, None, "cannot be opened"):
                raw = RawFile(file, self._stop, form.block_size)
            # Closed explicitly, not by garbage collection: it holds the file, and other generators wrap it.
            found = form.pieces(file, raw, turn.start, agreed)
            with closing(read_ahead(found, raw) if form.decodes else found) as pieces:
                for piece in self._cut(pieces, apart=timing.by_row and self._plan.shape != "batches"):
                    self._stop.look()
                    self.ready, spent = piece.more, raw.spent
                    if self._journal and agreed.schema is not schema:
                        schema = agreed.schema
                        self._decide(SCHEMA, agreed.saved())
                    self._add(turn, piece, timing)
                    if self._found:
                        yield spent
            if self._journal and turn.time is None and self._last:
                self._found.append(partial(self._reached, self._last, Position(file.path, None, self._last)))
        except (FileChangedError, NoColumnError):
            raise
        except FileReadError as exc:
            if not self._catches:
                raise
            mark = self._failed(Bad(file.path, exc), turn.time)
            if mark is not None:
                self._found.append(mark)
        finally:
            if raw is not None:
                raw.close()
        return spent

    def _add(self, turn: Turn, piece: Piece, timing: Timing) -> None:
        # Positions are recorded if times increase within a file; one time for the whole file needs none.
        place = self._place(turn.file, piece) if self._journal and turn.time is None else None
        line = None if isinstance(piece, Bad) else piece.line
        for part in [piece] if isinstance(piece, Bad) else timing.timed(turn.file, piece, turn.time):
            at, line = line, None if line is None else line + self._rows(part)
            batch = self._failed(part, turn.time) if isinstance(part, Bad) else part
            if batch is None:
                continue
            times: Sequence[Hashable] = (batch.time,) if batch.uniform else batch.times
            self._advance(turn.file, times, at)
            if place is not None:
                self._found.append(partial(self._reached, times, place))
            if self._timeless:
                self._mark(times[0])
            self._found.append(batch)
            self._values -= len(batch.values)

    def _cut(self, pieces: Iterator[Piece], *, apart: bool) -> Iterator[Piece]:
        """With `apart`, split tables so that few rows are created at a time; many live objects would cost more each."""
        for piece in pieces:
            if isinstance(piece, TablePiece) and apart and len(piece.batch) > AT_A_TIME:
                for begin in range(0, len(piece.batch), AT_A_TIME):
                    rest = piece.rest(begin)
                    more = len(rest.batch) > AT_A_TIME
                    yield attrs.evolve(rest, batch=rest.batch.slice(0, AT_A_TIME), more=more)
            else:
                yield piece

    def _place(self, file: File, piece: Piece) -> Position:
        """The position from which a piece can be read again: its start, or else the start of the file."""
        if piece.start is None:
            return Position(file.path, Start(), self._front)
        # Several pieces of one block have the block's start, from which all of them are read again.
        if piece.start != self._start:
            self._start, self._before = piece.start, self._last
        return Position(file.path, piece.start, self._before)

    def _rows(self, part: Batch[Any] | Bad) -> int:
        """The number of lines of a part, if each line is a row."""
        if isinstance(part, Bad):
            return 1
        return sum(map(len, part.values)) if self._plan.shape == "batches" else len(part.values)

    def _advance(self, file: File, times: Sequence[Hashable], line: int | None = None) -> None:
        """Advance to times, which are in order."""
        time = times[0]
        if self._last and self._last[0] is not time and not less_equal(self._last[0], time):
            where = file.path if line is None else f"{file.path}:{line}"
            raise CapabilityError(f"{where}: goes back in time, to {time!r} after {self._last[0]!r}. {self._advice()}")
        self._last = (times[-1],)

    def _advice(self) -> str:
        if not self._plan.follow:
            stamped = "ps.stamp(..., lateness=...)"
        else:
            # Without time=, each followed file has its own time.
            stamped = "ps.map_time(lambda _: 0), ps.stamp(..., lateness=...)"
        if isinstance(self._plan.time, PathTime):
            first = "Files are read in the order of their times; if the values contain times, read them"
        else:
            first = "Sort the input, or read it"
        if self._plan.follow and self._plan.time is not None:
            first = f"If the file has arrived too late, move it away or give it later times. {first}"
        return f"{first} without time= and set times downstream, with some lateness: {stamped} (R12)"

    def _failed(self, bad: Bad, time: Hashable | None) -> Batch[Any] | None:
        """A mark that replaces a bad value, at the file's time or at the time of the value before it."""
        if not self._catches:
            if isinstance(bad.error, FileReadError):
                raise bad.error.with_policy() from bad.error.__cause__
            raise bad.error
        mark = caught(bad.value, bad.error)
        if time is not None:
            return Batch(time, [mark])
        if self._last:
            return Batch(self._last[0], [mark])
        self._timeless.append(mark)
        if len(self._timeless) > MOST_TIMELESS:
            raise CapabilityError(
                f"more than {MOST_TIMELESS:,} values cannot be read before the first one with a time, so they have no "
                f"time at which to be skipped"
            ) from bad.error
        return None

    def _mark(self, time: Hashable) -> None:
        """Give a time to the bad values that had none."""
        self._found.append(Batch(time, self._timeless))
        self._timeless = []
