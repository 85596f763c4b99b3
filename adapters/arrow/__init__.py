"""Arrow tables as streams: what reading from Spark and from files have in common.

Importing this loads no pyarrow; using it does (`package`). A column gives its values (`columns`), a record batch
what a source answers (`shapes`).
"""

from adapters.arrow.columns import in_utc, run_starts, values
from adapters.arrow.package import Array, ArrowMissing, DataType, RecordBatch, pyarrow
from adapters.arrow.shapes import As, NullTimeError, Shape, shape_argument

__all__ = [
    "Array",
    "ArrowMissing",
    "As",
    "DataType",
    "NullTimeError",
    "RecordBatch",
    "Shape",
    "in_utc",
    "pyarrow",
    "run_starts",
    "shape_argument",
    "values",
]
