"""Errors of the writing sinks about their targets."""

from pullstream import PullstreamError


class FileTargetError(PullstreamError):
    """A file cannot be written to its target."""


class FileBusyError(FileTargetError):
    """Another run, or another sink of this run, is writing to the same target."""
