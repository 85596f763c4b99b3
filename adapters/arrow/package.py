"""pyarrow, loaded when it is used; it has no types of its own, so here it is given names to read by."""

from importlib import import_module
from typing import Any, TypeAlias

from pullstream import PullstreamError
from pullstream.authoring import of_extra

Array: TypeAlias = Any
DataType: TypeAlias = Any
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any


class ArrowMissing(PullstreamError, ImportError):
    """pyarrow is not installed."""


def pyarrow() -> Any:
    """The package, with its functions on columns.

    Raises:
        ArrowMissing: it is not installed.
    """
    of_extra("files", "pyarrow.compute", ArrowMissing)
    return import_module("pyarrow")
