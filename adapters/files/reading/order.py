"""The files of a source, in the order in which they are read."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from typing import Any

import attrs

from pullstream.timely import less_equal

from .errors import GROWING, FileChangedError, NoFilesError
from .formats import ReadFormat
from .listing import File, Listing, again
from .resuming import EarlierRun, Identity, Known, Turn
from .times import PathTime


class FolderWatch:
    """Looks for new files repeatedly.

    A file counts as complete when two looks in a row find it unchanged. After that it must not change. It may be
    removed after it was read.
    """

    def __init__(self, listing: Listing, given: dict[str, Identity]) -> None:
        self._listing = listing
        self._given = given
        self._growing: dict[str, Identity] = {}

    def fresh(self) -> list[File]:
        """The files that are new and complete, sorted by name."""
        there = {file.path: file for file in self._listing.look(follow=True)}
        for path, identity in list(self._given.items()):
            if path not in there:
                del self._given[path]
            elif there[path].identity != identity:
                raise _changed(there[path], identity)
        new = {path: file for path, file in there.items() if path not in self._given}
        whole = [file for path, file in new.items() if self._growing.get(path) == file.identity]
        self._growing = {path: file.identity for path, file in new.items()}
        for file in whole:
            del self._growing[file.path]
            self._given[file.path] = file.identity
        return whole

    def check(self, file: File) -> None:
        """Check that a file did not change while it was read."""
        now = again(file)
        if now is not None and now.identity != file.identity:
            raise _changed(now, file.identity)


def _changed(file: File, before: Identity) -> FileChangedError:
    size, tail = before[0], ""
    if size is None or file.size is None or size == file.size:
        problem = "was written again after it was found complete"
    else:
        problem = f"had {size:,} bytes when it was found complete, and has {file.size:,} now"
        if file.size > size:
            tail = f". {GROWING}"
    return FileChangedError(
        file.path,
        f"{problem}. Files in a followed folder must not change: write them elsewhere (or as .NAME.part) and "
        f"rename them into it, or set every= to more than the longest pause of a writer{tail}",
    )


@attrs.frozen
class ReadPlan:
    """The arguments of a file source; immutable."""

    paths: tuple[str, ...]
    format: ReadFormat
    shape: Any
    time: Any = None
    filesystem: Any = None
    storage_options: Any = attrs.field(factory=dict[str, Any])
    follow: bool = False
    every: float = 1.0
    available: bool = False
    """Whether to follow only the files that exist at the start."""


class FileOrder:
    """Chooses the file to read next: from the files that exist at the start, or from a followed folder."""

    def __init__(self, plan: ReadPlan, earlier: EarlierRun) -> None:
        self._plan = plan
        self._earlier = earlier
        self._mended: set[str] = set()
        self.count: int | None = None
        """The number of files; None while a folder is followed."""
        self.done = 0
        """The number of files that are not read again."""
        self.absent: Sequence[str] = ()
        """The missing paths that the source waits for."""
        self.number = 0
        """The number of the next file in a followed folder."""

    def is_recorded(self, path: str, known: Known) -> bool:
        """Whether the journal knows a file in this state."""
        # The path is not enough: another file may now be there.
        return path not in self._mended and self._earlier.files.get(path) == known

    def turns(self, listing: Listing) -> Iterator[Turn | None]:
        """Iterate over the files in order; None if there is currently no new one."""
        files = listing.look(follow=self._plan.follow)
        self.absent = listing.absent
        self._mended = self._earlier.mended(files, self._plan.time, numbered=self._plan.follow)
        self._earlier = self._earlier.as_now(files, self._mended)
        self._earlier.check(files)
        if self._plan.follow:
            yield from self._followed(listing, files)
            return
        self.count = len(files)
        time = self._plan.time
        if isinstance(time, PathTime):
            turns = self._dated(files, self._earlier)
        elif time is None:
            turns = [Turn(file, number, 0) for number, file in enumerate(files)]
        else:
            turns = self._earlier.placed([file.path for file in files], {file.path: file for file in files})
        self.done = self.count - len(turns)
        yield from turns

    def _dated(self, files: list[File], earlier: EarlierRun | None = None) -> list[Turn]:
        """The files that have one time each, from their paths, in the order of these times."""
        dated = [(self._plan.time.of(file.path), file) for file in files]
        times = [time for time, _ in dated]
        if not all(less_equal(first, second) for first, second in pairwise(times)):
            dated.sort(key=lambda pair: pair[0])
        left = (earlier or attrs.evolve(self._earlier, files={})).by_path(dated, self._plan.time)
        floors = [time for time, _ in left[1:]]
        return [Turn(file, 0, time, after) for (time, file), after in zip(left, [*floors, None], strict=False)]

    def _followed(self, listing: Listing, first: list[File]) -> Iterator[Turn | None]:
        earlier, time = self._earlier, self._plan.time
        watch = FolderWatch(listing, {path: identity for path, (_, identity, _) in earlier.files.items()})
        there = {file.path: file for file in first}
        self.number = earlier.count
        looked = False
        if isinstance(time, PathTime):
            again = self._dated([there[path] for path in earlier.order if path in there], earlier)
        else:
            again = earlier.numbered(there) if time is None else earlier.placed(earlier.order, there)
        while True:
            fresh = watch.fresh()
            self.absent = listing.absent
            if isinstance(time, PathTime):
                turns = [*again, *self._dated(fresh)]
            else:
                turns = [*again, *(Turn(file, self.number + count) for count, file in enumerate(fresh))]
            self.number += len(fresh)
            again = []
            for turn in turns:
                if time is None:
                    turn = attrs.evolve(turn, time=turn.number, floor=turn.number + 1)  # noqa: PLW2901 - its own time
                yield turn
                watch.check(turn.file)
            if looked and self._plan.available:
                return
            looked = True
            yield None


def check_over(plan: ReadPlan, earlier: EarlierRun) -> None:
    """Refuse files that changed since an earlier run read them to the end; runs in a thread."""
    there: list[File] = []
    for path in plan.paths if earlier.files else ():
        # A missing path counts as an empty one.
        with suppress(NoFilesError), closing(Listing([path], plan.filesystem, plan.storage_options)) as listing:
            there += listing.look(follow=True)
    earlier.check_over(there)
