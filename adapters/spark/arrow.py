"""pyarrow, loaded when it is used; it has no types of its own, so here it is given names to read by."""

from importlib import import_module
from typing import Any, TypeAlias

Array: TypeAlias = Any
RecordBatch: TypeAlias = Any


def pyarrow() -> Any:
    """The package, with its functions on columns."""
    import_module("pyarrow.compute")
    return import_module("pyarrow")
