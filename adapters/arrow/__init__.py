"""Arrow tables as streams: the common part of reading and writing Spark and files.

Importing this does not load pyarrow; using it does (`package`). `columns` converts columns to Python values, and
`exact` converts back. `shapes` converts record batches to a source's values; `rows` and `packing` make record batches
of a given schema from a stream's values, and `spools` keeps them until their times are complete.
"""

from pullstream.authoring import publish

from .arrow_rows import ArrowRows as ArrowRows, Origin as Origin, RowForm as RowForm, joined_rows as joined_rows
from .columns import (
    ColumnTimes as ColumnTimes,
    by_column as by_column,
    decoded as decoded,
    in_utc as in_utc,
    run_starts as run_starts,
    values as values,
)
from .exact import TROUBLE as TROUBLE, exact_array as exact_array, first_failure as first_failure
from .inferring import Columns as Columns, derived_schema as derived_schema, with_decimals as with_decimals
from .package import (
    Array as Array,
    ArrowMissing as ArrowMissing,
    DataType as DataType,
    RecordBatch as RecordBatch,
    Schema as Schema,
    pa as pa,
    schema_argument as schema_argument,
    serialized as serialized,
)
from .packing import Packing as Packing, Portion as Portion, SchemaError as SchemaError, first_line as first_line
from .shapes import As as As, NullTimeError as NullTimeError, Shape as Shape, shape_argument as shape_argument
from .spools import OpenTimes as OpenTimes, Spool as Spool, row_count as row_count, row_place as row_place

publish(__name__)
