"""Errors of reading files: each names the file, the line where there is one, and what to do."""

from typing_extensions import override

from pullstream import PullstreamError


class FileReadError(PullstreamError):
    """A file, or a line of one, cannot be read: `path`, and `line` (the first is 1; None if it is not one line)."""

    def __init__(self, path: str, problem: str, line: int | None = None) -> None:
        super().__init__(path, problem, line)
        self.path = path
        self.problem = problem
        self.line = line

    @override
    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f':{self.line}'}: {self.problem}"

    def with_policy(self) -> "FileReadError":
        """The same for those who have not said what becomes of what cannot be read."""
        return FileReadError(self.path, f"{self.problem} (or say on_error=)", self.line)


class NoFilesError(FileReadError):
    """No file is where one was said to be."""


class NoColumnError(FileReadError):
    """A file has no column of a name that its source was told; `on_error=` does not leave it out."""


class FileChangedError(FileReadError):
    """A file was shortened, overwritten or taken away while it was needed."""


class Stopped(BaseException):
    """The end of a reading thread whose stream has ended: nobody waits for what it does."""
