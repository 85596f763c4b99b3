"""Users' schemas in Spark's and in Arrow's form, and variants as dicts, their form in Arrow."""

from collections.abc import Callable, Mapping
from copy import copy
from importlib import import_module
from inspect import signature
from typing import Any, cast

from ..arrow import first_line, pa
from .errors import Refusal, distinct
from .types import StructType, pyspark


def spark_schema(refusal: Refusal, schema: object, *, may_be_empty: bool = False) -> "StructType":
    """Convert a schema to Spark's: from DDL ("id BIGINT, name STRING"), a StructType, or a pyarrow.Schema.

    A schema without columns is refused, unless it `may_be_empty`; empty DDL is always refused. So are columns of types
    that Arrow lacks.
    """
    types = pyspark.sql.types
    struct: Any
    try:
        if isinstance(schema, str):
            # Spark accepts DDL without columns only if the program has a session.
            struct = types.StructType.fromDDL(schema) if schema.strip() else None
        elif isinstance(schema, pa.Schema):
            struct = _types().from_arrow_schema(schema, prefer_timestamp_ntz=True)
        else:
            struct = schema
        if isinstance(struct, types.StructType):
            # This refuses types that Arrow lacks: intervals of months.
            arrow_schema(struct)
    except pyspark.errors.PySparkException as exc:
        raise refusal(f"cannot read the schema {schema!r}: {first_line(exc)}") from None
    if not isinstance(struct, types.StructType) or not (struct.fields or may_be_empty):
        raise refusal(
            f"needs its columns as a schema ('id BIGINT, name STRING', a StructType or a pyarrow.Schema), but got "
            f"{schema!r}"
        )
    distinct(refusal, struct.names)
    return struct


def whole_arrays(table: Any) -> Any:
    """A copy of a table whose arrays are not slices of larger ones: PySpark refuses a slice with nulls among lists."""
    return table.take(pa.array(range(table.num_rows), "int64"))


def arrow_schema(schema: "StructType", *, large: bool = False) -> Any:
    """The schema in Arrow, exactly as Spark exchanges it with Python; `large` uses 64-bit offsets."""
    convert = _types().to_arrow_schema
    # PySpark 4.1 supports no other zone.
    zone = {"timezone": "UTC"} if "timezone" in signature(convert).parameters else {}
    return convert(_with_void(schema), prefers_large_types=large, **zone)


def _with_void(kind: Any) -> Any:
    """A type whose void parts are nullable, as Arrow requires: elements of Spark's `array()` are void, not nullable."""
    kind = copy(kind)
    parts = {"elementType": "containsNull", "valueType": "valueContainsNull", "dataType": "nullable"}
    for part, nullable in parts.items():
        if hasattr(kind, part):
            setattr(kind, part, _with_void(getattr(kind, part)))
            setattr(kind, nullable, getattr(kind, nullable) or getattr(kind, part).typeName() == "void")
    if hasattr(kind, "fields"):
        kind.fields = [*map(_with_void, kind.fields)]
    return kind


def _types() -> Any:
    return import_module("pyspark.sql.pandas.types")


def variants(schema: "StructType") -> Mapping[str, Callable[[Any], Any]]:
    """Get a conversion for each column that may contain pyspark's variants."""
    return {field.name: _bare for field in schema if "variant" in field.dataType.simpleString()}


def _bare(value: Any) -> Any:
    """Convert the variants in a value, at any depth; what does not fit is left as it is, and Arrow refuses it."""
    if type(value).__name__ == "VariantVal":
        return {"value": bytes(value.value), "metadata": bytes(value.metadata)}
    if isinstance(value, Mapping):
        return {key: _bare(part) for key, part in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, tuple):
        # A named tuple keeps its names, by which it is matched.
        row = cast("tuple[Any, ...]", value)
        return cast("Any", tuple).__new__(type(row), map(_bare, row))
    return [*map(_bare, cast("list[Any]", value))] if isinstance(value, list) else value
