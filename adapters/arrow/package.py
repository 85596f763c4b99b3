"""pyarrow and NumPy, loaded when they are used; pyarrow has no types of its own, so here are names to read by."""

from importlib import import_module
from typing import Any, TypeAlias

from pullstream import PullstreamError
from pullstream.authoring import of_extra

Array: TypeAlias = Any
DataType: TypeAlias = Any
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any


class ArrowMissing(PullstreamError, ImportError):
    """pyarrow is not installed, or NumPy, which it makes Python's values with."""


def pyarrow() -> Any:
    """The package, with its functions on columns.

    Raises:
        ArrowMissing: it is not installed.
    """
    of_extra("files", "pyarrow.compute", ArrowMissing)
    return import_module("pyarrow")


def numpy() -> Any:
    """The package; pyarrow comes without it, and without it cannot give a column's values by the thousand.

    Raises:
        ArrowMissing: it is not installed.
    """
    return of_extra("files", "numpy", ArrowMissing, named="NumPy")
