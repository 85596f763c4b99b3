"""Arrow tables as streams: what reading from Spark and from files have in common.

Importing this loads no pyarrow; using it does (`package`). A column gives its values (`columns`), and is made of them
(`exact`); a record batch gives what a source answers (`shapes`), and is made of what a stream gives: of `rows`, by a
schema (`packing`).
"""

from .columns import by_column, in_utc, run_starts, values
from .exact import exact_array
from .package import Array, ArrowMissing, DataType, RecordBatch, Schema, pyarrow
from .packing import Packing, Portion, SchemaError
from .schemas import schema_argument
from .shapes import As, NullTimeError, Shape, shape_argument

__all__ = [
    "Array",
    "ArrowMissing",
    "As",
    "DataType",
    "NullTimeError",
    "Packing",
    "Portion",
    "RecordBatch",
    "Schema",
    "SchemaError",
    "Shape",
    "by_column",
    "exact_array",
    "in_utc",
    "pyarrow",
    "run_starts",
    "schema_argument",
    "shape_argument",
    "values",
]
