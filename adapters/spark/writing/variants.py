"""Convert variants to dicts, their form in Arrow, on the way into Spark."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ...arrow.row_types import tuple_names

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

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
