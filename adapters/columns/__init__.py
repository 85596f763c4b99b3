"""Compute with columns: polars expressions, aggregates and queries over the rows of a stream, without Python rows.

>>> import polars as pl, pullstream as ps
>>> from pullstream import columns
>>> rows = [("AA", 30), ("UA", 15), ("AA", None)]
>>> flights = ps.values([{"carrier": carrier, "delay": delay} for carrier, delay in rows])
>>> late = columns.filter(pl.col("delay").is_not_null())
>>> ps.run(ps.pipe(flights, late, columns.reduce_by_key("carrier", mean=columns.mean("delay")), ps.collect()))
[{'carrier': 'AA', 'mean': 30.0}, {'carrier': 'UA', 'mean': 15.0}]

Readers of files and DataFrames give rows that stay in Arrow until someone needs them. These modules take and give such
rows, and any other module sees named tuples or dicts.
"""

from pullstream.authoring import publish

from .aggregates import Aggregate, all, any, count, count_unique, first, last, max, mean, min, quantile, sum, variance
from .join import join
from .package import ColumnError, ColumnsMissing
from .per_row import filter, select, with_columns
from .per_time import per_time, sort_by_time
from .reducing import distinct, reduce_by_key, reduce_by_time
from .stamping import stamp
from .table import collect_table
from .windows import sessions, sliding, tumbling

__all__ = [
    "Aggregate",
    "ColumnError",
    "ColumnsMissing",
    "all",
    "any",
    "collect_table",
    "count",
    "count_unique",
    "distinct",
    "filter",
    "first",
    "join",
    "last",
    "max",
    "mean",
    "min",
    "per_time",
    "quantile",
    "reduce_by_key",
    "reduce_by_time",
    "select",
    "sessions",
    "sliding",
    "sort_by_time",
    "stamp",
    "sum",
    "tumbling",
    "variance",
    "with_columns",
]
publish(__name__)
