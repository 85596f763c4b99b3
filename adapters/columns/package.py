"""Polars, pyarrow and NumPy, loaded on use, and the errors of this package."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from pullstream import PullstreamError
from pullstream.authoring import of_extra

from ..arrow import pyarrow
from ..arrow.package import numpy


class ColumnsMissing(PullstreamError, ImportError):
    """Polars is not installed."""


class ColumnError(PullstreamError, ValueError):
    """Values have no columns or lack one, or an expression failed for a row."""


@cache
def _polars() -> Any:
    of_extra("columns", "polars", ColumnsMissing)
    return import_module("polars")


class _OnUse:
    """A package that is imported when one of its names is first used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self._load(), name)
        return found


np: Any = _OnUse(numpy)
pa: Any = _OnUse(pyarrow)
pl: Any = _OnUse(_polars)
