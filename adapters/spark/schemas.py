"""Users' schemas in Spark's and in Arrow's form, and variants as dicts, their form in Arrow."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, TypeAlias, cast

from pullstream.authoring import Site, of_extra

from ..arrow import pyarrow
from ..arrow.row_types import tuple_names
from .errors import SparkMissing
from .failures import first_line
from .refusals import distinct, refused
from .types import StructType


def spark_schema(module: str, schema: object, site: Site | None = None, *, may_be_empty: bool = False) -> "StructType":
    """Convert a schema to Spark's: from DDL ("id BIGINT, name STRING"), a StructType, or a pyarrow.Schema.

    `site` is where the module was composed, if not at this call. A schema without columns is refused, unless it
    `may_be_empty`; empty DDL is always refused.
    """
    types: Any = of_extra("spark", "pyspark.sql.types", SparkMissing)
    errors: Any = of_extra("spark", "pyspark.errors", SparkMissing)
    struct: Any
    try:
        if isinstance(schema, str):
            # Spark accepts DDL without columns only if the program has a session.
            struct = types.StructType.fromDDL(schema) if schema.strip() else None
        elif isinstance(schema, pyarrow().Schema):
            struct = _types().from_arrow_schema(schema, prefer_timestamp_ntz=True)
        else:
            struct = schema
    except errors.PySparkException as exc:
        raise refused(module, f"cannot read the schema {schema!r}: {first_line(exc)}", site) from None
    if not isinstance(struct, types.StructType) or not (struct.fields or may_be_empty):
        raise refused(
            module,
            f"needs its columns as a schema ('id BIGINT, name STRING', a StructType or a pyarrow.Schema), but got "
            f"{schema!r}",
            site,
        )
    distinct(module, struct.names, site)
    return struct


def arrow_schema(schema: "StructType", *, large: bool = False) -> Any:
    """The schema in Arrow, exactly as Spark exchanges it with Python; `large` uses 64-bit offsets."""
    convert = _types().to_arrow_schema
    # PySpark 4.1 supports no other zone.
    zone = {"timezone": "UTC"} if "timezone" in signature(convert).parameters else {}
    return convert(schema, prefers_large_types=large, **zone)


def _types() -> Any:
    return import_module("pyspark.sql.pandas.types")


Bare: TypeAlias = Callable[[Any], Any]
"""Converts a value of a type for Arrow; other values are left as they are, and Arrow refuses them."""


def variants(schema: "StructType") -> Mapping[str, Bare]:
    """Get a conversion for each column that may contain pyspark's variants."""
    found = {field.name: _of(field.dataType) for field in schema}
    return {name: bare for name, bare in found.items() if bare is not None}


def _of(kind: Any) -> Bare | None:
    match kind.typeName():
        case "variant":
            return _variant
        case "array":
            element = _of(kind.elementType)
            return element and partial(_list, element)
        case "map":
            value = _of(kind.valueType)
            return value and partial(_map, value)
        case "struct":
            fields = {field.name: _of(field.dataType) for field in kind}
            return partial(_struct, fields) if any(fields.values()) else None
        case _:
            return None


def _variant(value: Any) -> Any:
    if type(value).__name__ != "VariantVal":
        return value
    return {"value": bytes(value.value), "metadata": bytes(value.metadata)}


def _list(element: Bare, value: Any) -> Any:
    return [*map(element, cast("Any", value))] if isinstance(value, (list, tuple)) else value


def _map(item: Bare, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    items = cast("Mapping[Any, Any]", value)
    return {key: item(of) for key, of in items.items()}


def _struct(fields: Mapping[str, Bare | None], value: Any) -> Any:
    named: Any = value
    if isinstance(value, tuple):
        row = cast("tuple[Any, ...]", value)
        # Leave a named tuple with other names as it is: it is refused, and not read by position.
        if len(row) != len(fields) or tuple_names(type(row)) not in {None, tuple(fields)}:
            return row
        named = dict(zip(fields, row, strict=True))
    if not isinstance(named, Mapping):
        return named
    items = cast("Mapping[Any, Any]", named)
    return {name: bare(of) if (bare := fields.get(name)) else of for name, of in items.items()}
