"""Errors in the changes of collections that are found only when a time is complete."""

from pullstream.errors import PullstreamError


class DivergenceError(PullstreamError):
    """An iteration still changes after its maximum number of rounds."""


class MultiplicityError(PullstreamError):
    """At a complete time, a record was removed more often than it was added."""
