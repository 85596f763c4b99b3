"""Polars, loaded on use, and the errors of this package."""

from functools import cache
from importlib import import_module
from typing import Any

from pullstream import PullstreamError
from pullstream.authoring import of_extra


class ColumnsMissing(PullstreamError, ImportError):
    """Polars is not installed."""


class ColumnError(PullstreamError, ValueError):
    """Values have no columns, lack a column, or an expression failed for one of them."""


@cache
def polars() -> Any:
    """Import polars.

    Raises:
        ColumnsMissing: it is not installed.
    """
    of_extra("columns", "polars", ColumnsMissing)
    return import_module("polars")
