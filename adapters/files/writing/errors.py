"""Errors of places to write to."""

from pullstream import PullstreamError


class FileTargetError(PullstreamError):
    """A file cannot be written where it was meant to go."""


class FileBusyError(FileTargetError):
    """Another run, or another sink of this one, is writing to the same target."""
