"""Polars, pyarrow and NumPy, loaded on use, and the errors of this package."""

from typing import Any

from pullstream import PullstreamError

from ..arrow.package import np as np, pa as pa
from ..packages import OnUse


class ColumnsMissing(PullstreamError, ImportError):
    """Polars is not installed."""


class ColumnError(PullstreamError, ValueError):
    """Values have no columns or lack one, or an expression failed for a row."""


pl: Any = OnUse("columns", "polars", ColumnsMissing)
