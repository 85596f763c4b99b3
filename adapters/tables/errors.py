"""Errors of the modules for tables."""

from pullstream import PullstreamError


class TableError(PullstreamError):
    """A database refused something; the message names the table, and the time and the row if they are known."""


class TableBusyError(TableError):
    """Another run, or another sink of this run, is writing to the same table."""
