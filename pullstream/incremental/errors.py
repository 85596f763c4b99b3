"""Errors in the changes of collections, which are known only when a time is complete."""

from pullstream.errors import PullstreamError


class DivergenceError(PullstreamError):
    """An iteration still changes after as many rounds as it may have."""


class MultiplicityError(PullstreamError):
    """At a complete time a record has gone more often than it has come."""
