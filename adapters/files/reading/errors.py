"""Errors of reading files: each names the file, the line if there is one, and what to do."""

from pathlib import PurePath
from typing import Final

from typing_extensions import override

from pullstream import PullstreamError

GROWING: Final = "To read a file that grows, write a source of its lines (the guide 'Files')"
"""A hint for a file that has grown."""


class FileReadError(PullstreamError):
    """A file or a line of it cannot be read: `path`, and `line` (from 1; None if the error is not about one line)."""

    def __init__(self, path: str, problem: str, line: int | None = None) -> None:
        super().__init__(path, problem, line)
        self.path = path
        self.problem = problem
        self.line = line

    @override
    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f':{self.line}'}: {self.problem}"

    def with_policy(self) -> "FileReadError":
        """The same error with a hint about `on_error=`, for sources where it was not given."""
        return FileReadError(self.path, f"{self.problem} (or set on_error=)", self.line)


def by_name(path: str, reader: str) -> str:
    """Return a hint on another reader, if a file that `reader` cannot read has the name of another format."""
    suffix = PurePath(path).suffix
    other = _READERS.get(suffix, reader)
    return "" if other == reader else f"; its name ends in {suffix}: use {other}, or a pattern that leaves it out"


def as_packed(data: bytes) -> str:
    """Return a hint on `compression=`, if data that cannot be read begins as gzip files do."""
    return "; it begins like a gzip file: set compression='gzip'" if data.startswith(b"\x1f\x8b") else ""


_READERS: Final = {
    ".csv": "read_csv",
    ".tsv": "read_csv with delimiter=",
    ".jsonl": "read_jsonl",
    ".ndjson": "read_jsonl",
    ".parquet": "read_parquet",
    ".arrow": "read_arrow",
}


class NoFilesError(FileReadError):
    """No file exists at a given path."""


class NoColumnError(FileReadError):
    """A file lacks a column that the source needs; `on_error=` does not apply to this error."""


class FileChangedError(FileReadError):
    """A file was truncated, overwritten or removed while it was needed."""


class Stopped(BaseException):
    """Raised in a reading thread to end it after its stream has ended."""
