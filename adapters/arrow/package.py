"""pyarrow and NumPy, loaded on use; pyarrow has no type hints, so its types have aliases here."""

from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from pullstream import PullstreamError
from pullstream.authoring import of_extra

Array: TypeAlias = Any
DataType: TypeAlias = Any
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any


class ArrowMissing(PullstreamError, ImportError):
    """pyarrow is not installed, or NumPy, which it needs to convert columns to values."""


@cache
def pyarrow() -> Any:
    """Import pyarrow with its compute functions.

    Raises:
        ArrowMissing: it is not installed.
    """
    of_extra("files", "pyarrow.compute", ArrowMissing)
    return import_module("pyarrow")


def serialized(*batches: RecordBatch) -> Any:
    """Write record batches of one schema as an IPC stream; returns a pyarrow buffer."""
    pa = pyarrow()
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return out.getvalue()


@cache
def numpy() -> Any:
    """Import NumPy, which pyarrow does not install, but needs to convert columns quickly.

    Raises:
        ArrowMissing: it is not installed.
    """
    return of_extra("files", "numpy", ArrowMissing, named="NumPy")
