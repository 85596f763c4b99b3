"""pyarrow and NumPy, loaded on use, and users' schemas. pyarrow has no type hints, so its types have aliases here."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pullstream import PullstreamError
from pullstream.authoring import Call

from ..packages import OnUse

Array: TypeAlias = Any
DataType: TypeAlias = Any
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any


class ArrowMissing(PullstreamError, ImportError):
    """pyarrow is not installed, or NumPy is not, which pyarrow needs to convert columns to values."""


pa: Any = OnUse("files", "pyarrow", ArrowMissing)
types: Any = OnUse("files", "pyarrow.types", ArrowMissing)
np: Any = OnUse("files", "numpy", ArrowMissing, named="NumPy")
"""NumPy, which pyarrow does not install, but needs to convert columns quickly."""


def serialized(*batches: RecordBatch) -> Any:
    """Write record batches of one schema as an IPC stream; returns a pyarrow buffer."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return out.getvalue()


def schema_argument(module: str, schema: "Schema | Mapping[str, Any] | None") -> Schema | None:
    """Convert a user's schema: pyarrow's own, or a mapping of names to types or type names.

    Raises:
        CompositionError: it is not a schema.

    >>> schema_argument("write_csv", {"item": "string", "sold": "int64"})
    item: string
    sold: int64
    """
    if schema is None:
        return None
    why = ""
    arrow_schema: Schema = schema
    if isinstance(schema, Mapping):
        try:
            arrow_schema = pa.schema(schema)
        except (TypeError, ValueError) as exc:
            why = f": {exc}"
    if isinstance(arrow_schema, pa.Schema):
        if len(set(arrow_schema.names)) == len(arrow_schema.names):
            return arrow_schema
        why = ", in which a column occurs twice"
    raise Call(module).refuse(
        f"got schema={schema!r}{why}; use a mapping of column names to Arrow types or their names, such as "
        f"{{'item': 'string', 'sold': 'int64', 'day': 'date32', 'at': pa.timestamp('us', 'UTC'), "
        f"'price': pa.decimal128(9, 2)}}, or a pyarrow.Schema"
    )
