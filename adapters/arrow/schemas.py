"""Schemas as users give them."""

from collections.abc import Mapping
from typing import Any

from pullstream.authoring import Call

from .package import Schema, pyarrow


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
    pa = pyarrow()
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
        f"got schema={schema!r}{why}; use a mapping of column names to Arrow types or "
        f"their names, such as {{'item': 'string', 'sold': 'int64', 'price': pa.decimal128(9, 2)}}, or a "
        f"pyarrow.Schema"
    )
