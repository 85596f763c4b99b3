"""What can be wrong with the changes of collections, and is known only when a time is complete."""

from pullstream.errors import PullstreamError


class DivergenceError(PullstreamError):
    """An iteration still changes after as many rounds as it may have."""


class MultiplicityError(PullstreamError):
    """At a complete time a record has gone more often than it has come."""
