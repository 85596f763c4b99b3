"""Users' schemas in Spark's and in Arrow's form."""

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from pullstream.authoring import Site, of_extra

from ..arrow import pyarrow
from .errors import SparkMissing
from .failures import first_line
from .refusals import distinct, refused

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


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
