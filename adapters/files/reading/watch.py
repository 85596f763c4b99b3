"""Watched folders: which files are new, and whether they are complete."""

from collections.abc import Mapping

from .errors import FileChangedError
from .listing import File, Listing, again

Identity = tuple[int | None, str | None]


class FolderWatch:
    """Looks for new files repeatedly.

    A file counts as complete when two looks in a row find it unchanged. After that it must not change. It may be
    removed after it was read.
    """

    def __init__(self, listing: Listing, given: Mapping[str, Identity]) -> None:
        self._listing = listing
        self._given = dict(given)
        self._growing: dict[str, Identity] = {}

    def fresh(self) -> list[File]:
        """The files that are new and complete, sorted by name.

        Raises:
            FileChangedError: a file from an earlier call has changed.
        """
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
        """Check that a file did not change while it was read.

        Raises:
            FileChangedError: it did.
        """
        now = again(file)
        if now is not None and now.identity != file.identity:
            raise _changed(now, file.identity)


def _changed(file: File, before: Identity) -> FileChangedError:
    size = before[0]
    if size is None or file.size is None or size == file.size:
        problem = "was written again after it was found complete"
    else:
        problem = f"had {size:,} bytes when it was found complete, and has {file.size:,} now"
    return FileChangedError(
        file.path,
        f"{problem}. Files in a followed folder must not change: write them elsewhere (or as .NAME.part) and "
        f"rename them into it, or set every= to more than the longest pause of a writer",
    )
