"""Arrow tables as streams: the common part of reading and writing Spark and files.

Importing this does not load pyarrow; using it does (`package`). `columns` converts columns to Python values, and
`exact` converts back. `shapes` converts record batches to a source's values; `rows` and `packing` make record batches
of a given schema from a stream's values, and `spools` keeps them until their times are complete.
"""

from pullstream.authoring import publish

from .arrow_rows import ArrowRows, Origin, RowForm, joined_rows
from .columns import ColumnTimes, by_column, decoded, in_utc, run_starts, values
from .exact import TROUBLE, exact_array
from .inferring import Columns, derived_schema, with_decimals
from .package import Array, ArrowMissing, DataType, RecordBatch, Schema, pyarrow, schema_argument, serialized
from .packing import Packing, Portion, SchemaError
from .shapes import As, NullTimeError, Shape, shape_argument
from .spools import OpenTimes, Spool, row_count, row_place

__all__ = [
    "TROUBLE",
    "Array",
    "ArrowMissing",
    "ArrowRows",
    "As",
    "ColumnTimes",
    "Columns",
    "DataType",
    "NullTimeError",
    "OpenTimes",
    "Origin",
    "Packing",
    "Portion",
    "RecordBatch",
    "RowForm",
    "Schema",
    "SchemaError",
    "Shape",
    "Spool",
    "by_column",
    "decoded",
    "derived_schema",
    "exact_array",
    "in_utc",
    "joined_rows",
    "pyarrow",
    "row_count",
    "row_place",
    "run_starts",
    "schema_argument",
    "serialized",
    "shape_argument",
    "values",
    "with_decimals",
]
publish(__name__)
