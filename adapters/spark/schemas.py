"""The columns that users say, as Spark and as Arrow have them."""

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from pullstream.authoring import Site

from ..arrow import pyarrow
from .errors import SparkMissing
from .failures import first_line
from .refusals import distinct, refused

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def spark_schema(module: str, schema: object, site: Site | None = None, *, may_be_empty: bool = False) -> "StructType":
    """A schema as Spark has it: of DDL ("id BIGINT, name STRING"), a StructType, or a pyarrow.Schema.

    `site` is where the module was composed, if that is not now. One without columns is refused, unless it
    `may_be_empty`; DDL without a column always is.

    Raises:
        CompositionError: it is none of these, Spark cannot read it, or two columns have one name.
    """
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional dependency
        from pyspark.sql.types import StructType  # noqa: PLC0415
    except ImportError as exc:
        raise SparkMissing.of("pyspark") from exc
    struct: Any
    try:
        if isinstance(schema, str):
            # Without any column Spark reads it in a program that has a session, and in others not.
            struct = StructType.fromDDL(schema) if schema.strip() else None
        elif isinstance(schema, pyarrow().Schema):
            struct = _types().from_arrow_schema(schema, prefer_timestamp_ntz=True)
        else:
            struct = schema
    except PySparkException as exc:
        raise refused(module, f"cannot read the schema {schema!r}: {first_line(exc)}", site) from None
    if not isinstance(struct, StructType) or not (struct.fields or may_be_empty):
        raise refused(
            module,
            f"needs its columns as a schema, 'id BIGINT, name STRING', a StructType or a pyarrow.Schema, and got "
            f"{schema!r}",
            site,
        )
    distinct(module, struct.names, site)
    return struct


def arrow_schema(schema: "StructType", *, large: bool = False) -> Any:
    """The same in Arrow, exactly as Spark expects it of Python, and gives it; `large` has offsets of 64 bits."""
    convert = _types().to_arrow_schema
    # PySpark 4.1 has no other zone.
    zone = {"timezone": "UTC"} if "timezone" in signature(convert).parameters else {}
    return convert(schema, prefers_large_types=large, **zone)


def _types() -> Any:
    return import_module("pyspark.sql.pandas.types")
