"""Into Spark: a source as a DataFrame (`frame`), and a partition of a table for every time (`table`).

Spark fetches from the driver: `desk` is the server there, `offer` one source, `log` one that is read in micro-batches;
`remote` is what runs in Spark's processes. A table's times are kept and written by `partitions`, and put in their
places by `swap`.
"""

from adapters.spark.writing.frame import RegisteredSource, register_source, to_dataframe
from adapters.spark.writing.swap import TableTargetError
from adapters.spark.writing.table import write_table

__all__ = ["RegisteredSource", "TableTargetError", "register_source", "to_dataframe", "write_table"]
